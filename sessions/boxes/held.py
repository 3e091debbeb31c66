"""What the processes of a box hold without a name: nobody finds it by looking through folders.

    unlinked files        disk that a process keeps open or mapped after it took the name away
    shared memory         of ``memfd_create`` and shared mappings: no process's own, and it stays
                          when all of them have let its pages go
    sockets               what was sent and not read, in the kernel's memory; each counts in full
    inodes of ``/tmp``    empty files take no room of it, and a kilobyte of the kernel's each

The kernel tells all of it of a process whose user is ours or beneath us. What is on its way from
one process to another through a socket is not seen, and what hides its descriptors is not ours.

Spec: issue "Box" (limits).
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sessions.boxes.plan import CONFIG, SCRATCH

BLOCK_BYTES: Final = 512
"""The unit of ``st_blocks``, whatever the file system's own is."""
SOCKET_BYTES: Final = 212_992
"""What a socket may hold for its other end: the kernel's ``net.core.wmem_default``."""
_DELETED: Final = " (deleted)"
_MAP_FIELDS: Final = 5
"""Of a line of ``maps``, before the path: range, rights, offset, device, inode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a box holds at one moment."""

    memory_bytes: int
    disk_bytes: int
    files: int
    """Inodes of its scratch places."""


@dataclass(slots=True)
class _Sum:
    """What was found so far, each inode once."""

    disks: frozenset[int]
    seen: set[tuple[int, int]] = field(default_factory=set)
    memory_bytes: int = 0
    disk_bytes: int = 0

    def take(self, found: os.stat_result) -> None:
        """Add what an open or mapped file takes, if it has no name."""
        key = (found.st_dev, found.st_ino)
        if key in self.seen:
            return
        if stat.S_ISSOCK(found.st_mode):
            self.seen.add(key)
            self.memory_bytes += SOCKET_BYTES
        elif stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
            self.seen.add(key)
            self._add(key, found.st_blocks * BLOCK_BYTES)

    def take_mapped(self, key: tuple[int, int], size_bytes: int) -> None:
        """Add a mapped file that cannot be looked at: as much of it as is mapped."""
        if key not in self.seen:
            self.seen.add(key)
            self._add(key, size_bytes)

    def _add(self, key: tuple[int, int], size_bytes: int) -> None:
        if key[0] in self.disks:
            self.disk_bytes += size_bytes
        else:
            self.memory_bytes += size_bytes


def held_by(pids: Iterable[int], directories: Iterable[Path]) -> Held:
    """Add up what processes hold; blocks.

    Args:
        pids: all of a box.
        directories: of the box; a file on their disks takes disk, any other one takes memory.
    """
    found = _Sum(disks=frozenset(_devices(directories)))
    files = 0
    for pid in pids:
        for descriptor in _names(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):  # closed meanwhile
                found.take(os.stat(f"/proc/{pid}/fd/{descriptor}"))  # noqa: PTH116
        _take_maps(pid, found)
        files = max(files, _scratch_files(pid))
    return Held(memory_bytes=found.memory_bytes, disk_bytes=found.disk_bytes, files=files)


def _devices(directories: Iterable[Path]) -> Iterator[int]:
    for directory in directories:
        with contextlib.suppress(OSError):
            yield directory.stat().st_dev


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def _take_maps(pid: int, found: _Sum) -> None:
    """Look at mapped files without a name; who may not open them knows how much is mapped."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in lines.split("\n"):
        if not line.endswith(_DELETED):
            continue
        place, _, _, device, inode, *_ = line.split(maxsplit=_MAP_FIELDS)
        try:
            found.take(os.stat(f"/proc/{pid}/map_files/{place}"))  # noqa: PTH116
        except FileNotFoundError:
            continue
        except OSError:
            major, _, minor = device.partition(":")
            key = (os.makedev(int(major, 16), int(minor, 16)), int(inode))
            begin, _, end = place.partition("-")
            found.take_mapped(key, int(end, 16) - int(begin, 16))


def _scratch_files(pid: int) -> int:
    """Count the inodes of a process's scratch places; none where it sees the host's own."""
    count = 0
    for place in (SCRATCH, CONFIG):
        inside = f"/proc/{pid}/root{place}"
        with contextlib.suppress(OSError):
            if os.path.exists(place) and os.path.samefile(inside, place):  # noqa: PTH110, PTH121
                continue
            room = os.statvfs(inside)
            count += room.f_files - room.f_ffree
    return count
