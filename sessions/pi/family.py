"""A process with all its descendants: find them, end them, and never a stranger.

A descendant may leave its parent's group and session and outlive it, so the parent's id is not
enough to find it. Every member carries one environment variable with a random value, and that is
what is looked for. A pid alone names nobody for long: it is always compared with the start time.

All functions here block for some milliseconds; a host calls them in a thread.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil

FAMILY_VARIABLE: Final = "INGLENOOK_FAMILY"
_SAME_START_SECONDS: Final = 0.05
"""The kernel counts start times in hundredths of a second."""
_LOOK_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRecord:
    """What finds a process again: its id, when it started (seconds since 1970), its mark."""

    pid: int
    create_time: float
    family: str


def record_of(pid: int, family: str) -> FamilyRecord:
    """Describe a process that was just started; one that is gone already gets start time 0."""
    try:
        created = psutil.Process(pid).create_time()
    except psutil.Error:
        created = 0.0
    return FamilyRecord(pid=pid, create_time=created, family=family)


def write_record(file: Path, record: FamilyRecord) -> None:
    """Keep the record beside the run, owner-only and whole or not at all."""
    draft = file.with_name(file.name + ".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(asdict(record), stream)
    draft.replace(file)


def read_record(file: Path) -> FamilyRecord | None:
    """Read a record back; None if there is none that can be read."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return FamilyRecord(
            pid=int(found["pid"]),
            create_time=float(found["create_time"]),
            family=str(found["family"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget_record(file: Path) -> None:
    """Remove a record whose process has ended."""
    with contextlib.suppress(OSError):
        file.unlink()


def members(record: FamilyRecord) -> list[psutil.Process]:
    """Find the members: the process itself, if still the same, and all with its mark."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if _is_first(process, record) or _is_marked(process, record):
                found.append(process)
    return found


def _is_first(process: psutil.Process, record: FamilyRecord) -> bool:
    if process.pid != record.pid:
        return False
    return bool(abs(process.create_time() - record.create_time) < _SAME_START_SECONDS)


def _is_marked(process: psutil.Process, record: FamilyRecord) -> bool:
    return bool(record.family and process.environ().get(FAMILY_VARIABLE) == record.family)


def end_family(record: FamilyRecord, patience_seconds: float) -> int:
    """Terminate, wait, kill every living member; say how many there were."""
    living = [each for each in members(record) if _is_running(each)]
    if not living:
        return 0
    for process in living:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _wait_for_end(living, patience_seconds)
    stubborn = [each for each in members(record) if _is_running(each)]
    for process in stubborn:
        with contextlib.suppress(psutil.Error):
            process.kill()
    _wait_for_end(stubborn, patience_seconds)
    return len(living)


def _is_running(process: psutil.Process) -> bool:
    """Tell a living process from one that is gone, replaced, or only waits to be collected."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _wait_for_end(processes: list[psutil.Process], patience_seconds: float) -> None:
    """Look again and again: a wait in the kernel would take a child's end from the event loop."""
    until = time.monotonic() + patience_seconds
    while any(map(_is_running, processes)) and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)


def end_leftover(file: Path, *, patience_seconds: float = 2.0) -> bool:
    """End what a killed host left behind, by the record in ``file``; say whether anything was.

    A pid that was given to another process meanwhile is left alone.
    """
    record = read_record(file)
    ended = record is not None and end_family(record, patience_seconds) > 0
    forget_record(file)
    return ended
