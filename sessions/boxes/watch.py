"""What no limit of the kernel's bounds for a whole box: its memory and its disk, looked at.

Limits on memory hold for one process and those on size for one file; control groups, which would
count for all, are not everybody's to make. So the host looks every other second, and a box that
has outgrown its room is ended. Between two looks it may overshoot by what a disk takes in that
time; what it wrote stays for the owner to see. What has no name is counted too (``held``).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import psutil
import structlog

from sessions.boxes.held import BLOCK_BYTES, held_by
from sessions.boxes.plan import MB
from sessions.boxes.settings import BoxSettings

_log = structlog.get_logger(__name__)
_KB: Final = 1024
_OWN: Final = ("RssAnon:", "RssFile:")
"""What a process takes for itself. Shared memory is counted once for all (``held``)."""


class _Process(Protocol):
    @property
    def pid(self) -> int:
        """The first process of the box."""


class Watched(Protocol):
    """A client whose process is in a box."""

    @property
    def process(self) -> _Process:
        """The process."""

    def kill(self) -> None:
        """End it."""


class _OutOfReach(Exception):
    """A box holds more than can be gone through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a box takes at one moment."""

    memory_bytes: int
    disk_bytes: int
    files: int

    def excess(self, settings: BoxSettings) -> str:
        """Name the limit that it has passed; empty if none."""
        if self.memory_bytes > settings.memory_mb * MB:
            return "memory_mb"
        if self.disk_bytes > settings.workspace_mb * MB:
            return "workspace_mb"
        if self.files > settings.workspace_files:
            return "workspace_files"
        return ""


@asynccontextmanager
async def watching(
    client: Watched, settings: BoxSettings, directories: Iterable[Path], *, run: Path
) -> AsyncIterator[None]:
    """Look after a box while the context lasts; one that outgrows its room is ended."""
    failure: Exception | None = None
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(
            _watch(client, settings, tuple(directories), run), name=f"box:{run.name}"
        )
        try:
            yield
        except Exception as error:  # noqa: BLE001  (raised below: the group would wrap it)
            failure = error
        finally:
            watch.cancel()
    if failure is not None:
        raise failure


async def _watch(
    client: Watched, settings: BoxSettings, directories: tuple[Path, ...], run: Path
) -> None:
    while True:
        await asyncio.sleep(settings.watch_seconds)
        room = await asyncio.to_thread(measure, client.process.pid, directories, settings)
        limit = room.excess(settings)
        if limit:
            _log.error(
                "box.outgrown",
                run_id=run.name,
                limit=limit,
                memory_bytes=room.memory_bytes,
                disk_bytes=room.disk_bytes,
                files=room.files,
            )
            client.kill()
            return


def measure(pid: int, directories: Iterable[Path], settings: BoxSettings) -> Room:
    """Add up what the processes from ``pid`` on hold, and what lies in their directories; blocks.

    Counting files ends where the limit is passed: a box cannot keep the host busy. Nor can it hide
    them: folders that nest so deeply that no path leads there are over the limit as well.
    """
    places = tuple(directories)
    disk_bytes = files = 0
    try:
        for entry in _entries(places):
            files += 1
            with contextlib.suppress(OSError):
                disk_bytes += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
            if files > settings.workspace_files:
                break
    except _OutOfReach:
        files = settings.workspace_files + 1
    pids = tuple(descendants(pid))
    held = held_by(pids, places)
    return Room(
        memory_bytes=sum(map(_resident_bytes, pids)) + held.memory_bytes,
        disk_bytes=disk_bytes + held.disk_bytes,
        files=files + held.files,
    )


def _entries(directories: Iterable[Path]) -> Iterator[os.DirEntry[str]]:
    """Go through all below the directories; links are not followed.

    Raises:
        _OutOfReach: there is more than can be gone through.
    """
    waiting = [(str(directory), str(directory)) for directory in directories]
    while waiting:
        top, folder = waiting.pop()
        try:
            with _scanned(folder, top) as found:
                for entry in found:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((top, entry.path))
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise _OutOfReach from error
            continue  # gone meanwhile


def _scanned(folder: str, top: str) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    """Open a folder to be gone through, also where its owner closed it to himself: he is our user.

    Raises:
        OSError: it cannot be opened.
    """
    with contextlib.suppress(PermissionError):
        return os.scandir(folder)
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        own = f"/proc/self/fd/{place}"
        if not Path(own).readlink().is_relative_to(Path(top).resolve()):
            raise FileNotFoundError(folder)  # a link was put in its way meanwhile
        Path(own).chmod(0o700)
        return os.scandir(folder)
    finally:
        os.close(place)


def descendants(pid: int) -> Iterable[int]:
    """Give ``pid`` and all that descend from it."""
    waiting = [pid]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += _children(each)


def _children(pid: int) -> list[int]:
    """Ask the kernel for the children; where it does not keep a list, look through all."""
    try:
        threads = [entry.path for entry in os.scandir(f"/proc/{pid}/task")]
        texts = [Path(thread, "children").read_text(encoding="ascii") for thread in threads]
    except FileNotFoundError:
        with contextlib.suppress(psutil.Error):
            return [child.pid for child in psutil.Process(pid).children()]
        return []
    except OSError:
        return []
    return [int(word) for text in texts for word in text.split()]


def _resident_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    own = (line.split()[1] for line in lines.splitlines() if line.startswith(_OWN))
    return sum(map(int, own)) * _KB
