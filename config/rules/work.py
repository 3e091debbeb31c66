"""What the imp does beside talking, and its bounds: ``[tasks]``, ``[gates]``, ``[box]``. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from config.findings import Finding
from config.rules import bounds
from sessions.boxes.settings import BoxKind, BoxSettings
from sessions.limits import GateSettings
from sessions.task_settings import TaskSettings

MAX_EXPIRY_HOURS: Final = 30 * 24
MAX_EARNED_DAYS: Final = 365
MAX_EARNED: Final = 500
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_BOX_LEAST: Final = MappingProxyType(
    {
        "processes": 32,
        "open_files": 64,
        "memory_mb": 256,
        "address_space_mb": 2048,
        "command_address_space_mb": 16,
        "file_mb": 1,
        "workspace_mb": 1,
        "workspace_files": 10,
        "scratch_mb": 1,
        "cpu_seconds": 1,
        "command_seconds": 1,
    }
)
"""Below these pi itself does not start or work."""


def check_tasks(tasks: TaskSettings) -> Iterator[Finding]:
    """Find what no task could run by, and repositories that cannot be found."""
    for key in ("max_running", "max_open", "per_person", "least_minutes", "attempts", "keep_days"):
        yield from bounds.at_least(("tasks", key), getattr(tasks, key), 1)
    for kind in ("direct", "prompt", "heartbeat", "research", "code"):
        yield from bounds.seconds(("tasks", f"{kind}_seconds"), getattr(tasks, f"{kind}_seconds"))
        yield from bounds.at_least(("tasks", f"{kind}_calls"), getattr(tasks, f"{kind}_calls"), 1)
    for name, path in tasks.repositories.items():
        if not _REPOSITORY.fullmatch(name) or not path.startswith(("/", "~/")):
            yield Finding(
                paths=(("tasks", "repositories", name),),
                message="must be a name without blanks and the whole path of a git repository",
            )
    yield from bounds.time_zone(("tasks", "timezone"), tasks.timezone)


def check_gates(gates: GateSettings) -> Iterator[Finding]:
    """Find what nobody could decide in time, or what would be trusted for ever."""
    yield from bounds.above_nothing(
        ("gates", "expiry_hours"), gates.expiry_hours, MAX_EXPIRY_HOURS, "hours"
    )
    yield from bounds.between(
        ("gates", "earned_after"),
        gates.earned_after,
        0,
        MAX_EARNED,
        hint="0 lets nothing through by itself.",
    )
    yield from bounds.above_nothing(
        ("gates", "earned_window_days"), gates.earned_window_days, MAX_EARNED_DAYS, "days"
    )


def check_box(box: BoxSettings) -> Iterator[Finding]:
    """Find a box that pi could not live in, and one that nothing says how to make."""
    for key, least in _BOX_LEAST.items():
        yield from bounds.at_least(("box", key), getattr(box, key), least)
    for key in ("watch_seconds", "probe_seconds"):
        yield from bounds.seconds(("box", key), getattr(box, key))
    if box.kind is BoxKind.DOCKER and not box.image:
        yield Finding(
            paths=(("box", "image"), ("box", "kind")),
            message="must name the image that a Docker box is made of",
        )
