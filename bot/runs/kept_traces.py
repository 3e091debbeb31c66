"""Traces read last, kept as long as their files are what was read.

Whoever looks at a run opens it again with every click, and a long trace takes its time. A file is
known by its inode, its size and both of its times, of which one cannot be set: what was changed is
read and verified anew. ``RunBook.check`` always does that.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from sessions.traces.events import TraceMark
from sessions.traces.proof import VerifyReport
from sessions.traces.reader import TracedEvent

KEPT_BYTES: Final = 8 << 20
"""Of the files; in memory a trace takes a few times as much."""
ReadTrace: TypeAlias = tuple[VerifyReport, tuple[TracedEvent, ...]]
Known: TypeAlias = tuple[object, ...]


class KeptTraces:
    """Used by threads; what is used longest ago leaves first."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: dict[Known, tuple[int, ReadTrace]] = {}

    def read(
        self, files: tuple[Path, ...], head: TraceMark | None, reading: Callable[[], ReadTrace]
    ) -> ReadTrace:
        """Give what was read of these files with this head, or read it now."""
        # The files are looked at first: what changes while it is read is found changed next time.
        told = [_told(path) for path in files]
        size_bytes = sum(each.st_size for each in told if each is not None)
        key = (files, head, *map(_known, told))
        with self._lock:
            found = self._kept.pop(key, None)
        if found is None:
            found = (size_bytes, reading())
        with self._lock:
            self._kept[key] = found
            while sum(size for size, _ in self._kept.values()) > self._most_bytes:
                del self._kept[next(iter(self._kept))]
        return found[1]


def _told(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _known(told: os.stat_result | None) -> Known:
    if told is None:
        return ()
    return told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns
