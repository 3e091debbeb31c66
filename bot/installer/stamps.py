"""What a finished step left behind, and whether it still stands.

A stamp is written after everything else of its step, in one piece (a temporary file, synced,
then renamed), so that it exists only for a step that was finished.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FORM = 1
"""Raised when stamps of an older form must not be trusted."""

PASSING_NAMES = ("__pycache__", "~")
"""Names that come and go by themselves: bytecode, and what pip moves aside while it replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """One finished step; all paths are relative to the prefix."""

    lock: str
    """SHA-256 of the lock files that were carried out."""
    folders: Mapping[str, tuple[str, ...]]
    """Folder -> the names that must be in it; more names are no fault."""
    files: Mapping[str, tuple[int, int]]
    """File -> its size in bytes and modification time in nanoseconds."""


def hash_files(files: Iterable[Path]) -> str:
    """Return the SHA-256 of the files' names and bytes, in the order given."""
    digest = hashlib.sha256()
    for file in files:
        body = file.read_bytes()
        digest.update(f"{file.name}:{len(body)}:".encode())
        digest.update(body)
    return digest.hexdigest()


def take(prefix: Path, *, lock: str, folders: Iterable[Path], files: Iterable[Path]) -> Stamp:
    """Describe what is there now.

    Raises:
        OSError: a folder or file that the step should have made is missing.
    """
    return Stamp(
        lock=lock,
        folders={str(f.relative_to(prefix)): tuple(sorted(_lasting(f))) for f in folders},
        files={str(f.relative_to(prefix)): _facts(f) for f in files},
    )


def write(file: Path, stamp: Stamp) -> None:
    """Write the stamp durably and in one piece."""
    body = {"form": FORM, "lock": stamp.lock, "folders": stamp.folders, "files": stamp.files}
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".new")
    with unfinished.open("w", encoding="utf-8") as out:
        json.dump(body, out, sort_keys=True)
        out.flush()
        os.fsync(out.fileno())
    unfinished.replace(file)


def read(file: Path) -> Stamp | None:
    """Read a stamp; None when it is missing, damaged or of another form."""
    try:
        body = json.loads(file.read_bytes())
        if body["form"] != FORM:
            return None
        return Stamp(
            lock=str(body["lock"]),
            folders={str(k): tuple(map(str, v)) for k, v in body["folders"].items()},
            files={str(k): (int(size), int(when)) for k, (size, when) in body["files"].items()},
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def stands(prefix: Path, stamp: Stamp | None, *, lock: str) -> bool:
    """Tell whether the step was finished for this lock and its result is still there."""
    if stamp is None or stamp.lock != lock:
        return False
    try:
        return all(
            set(names).issubset(_lasting(prefix / folder))
            for folder, names in stamp.folders.items()
        ) and all(_facts(prefix / file) == facts for file, facts in stamp.files.items())
    except OSError:
        return False


def _facts(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns


def _lasting(folder: Path) -> Iterable[str]:
    return (name for name in os.listdir(folder) if not name.startswith(PASSING_NAMES))  # noqa: PTH208 - names, not paths
