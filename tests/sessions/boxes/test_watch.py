"""Memory and disk of a box, looked at."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sessions.boxes.settings import BoxSettings
from sessions.boxes.watch import Room, descendants, measure, watching

QUICK = BoxSettings(watch_seconds=0.01, workspace_mb=1, workspace_files=10)


@dataclass
class Process:
    pid: int = field(default_factory=os.getpid)


@dataclass
class Client:
    process: Process = field(default_factory=Process)
    killed: asyncio.Event = field(default_factory=asyncio.Event)

    def kill(self) -> None:
        self.killed.set()


async def test_a_box_within_its_room_is_left_alone(tmp_path: Path) -> None:
    """The context ends in order, and the watch with it."""
    client = Client()
    (tmp_path / "small").write_bytes(b"x" * 1000)
    async with watching(client, QUICK, [tmp_path], run=tmp_path):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await client.killed.wait()


async def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    """Issue "Box", limits: disk of the workspace."""
    client = Client()
    async with watching(client, QUICK, [tmp_path], run=tmp_path):
        (tmp_path / "big").write_bytes(b"x" * 2_000_000)
        async with asyncio.timeout(120):
            await client.killed.wait()


async def test_an_error_inside_comes_out_as_it_is() -> None:
    """Nobody outside has to know of the group that the watch lives in."""
    with pytest.raises(KeyError):
        async with watching(Client(), BoxSettings(), [], run=Path("r")):
            raise KeyError("as it is")


async def test_cancelling_goes_through() -> None:
    """A session that is stopped does not wait for the watch."""
    entered = asyncio.Event()

    async def hold() -> None:
        async with watching(Client(), BoxSettings(), [], run=Path("r")):
            entered.set()
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(hold())
        await entered.wait()
        task.cancel()
    assert task.cancelled()


def test_sparse_files_count_what_they_take_and_links_nothing(tmp_path: Path) -> None:
    """Blocks are counted, not lengths; a link's target is not the box's."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "big").write_bytes(b"x" * 3_000_000)
    own = tmp_path / "own"
    own.mkdir()
    with (own / "sparse").open("wb") as sparse:
        sparse.truncate(10**9)
    (own / "link").symlink_to(outside)
    room = measure(os.getpid(), [own], BoxSettings())
    assert room.files == 2
    assert room.disk_bytes < 100_000
    assert room.memory_bytes > 1_000_000


def test_counting_ends_at_the_limit(tmp_path: Path) -> None:
    """A box full of names cannot keep the host busy."""
    for number in range(30):
        (tmp_path / str(number)).touch()
    room = measure(os.getpid(), [tmp_path], QUICK)
    assert room.files == 11
    assert room.excess(QUICK) == "workspace_files"


def test_folders_that_no_path_leads_to_are_over_the_limit(tmp_path: Path) -> None:
    """Escapes: what lies deeper than a path can be long would not be counted, so it is too much."""
    with ExitStack() as stack:
        place = os.open(tmp_path, os.O_RDONLY)
        stack.callback(os.close, place)
        for _ in range(20):
            os.mkdir("x" * 250, dir_fd=place)
            place = os.open("x" * 250, os.O_RDONLY, dir_fd=place)
            stack.callback(os.close, place)
    room = measure(os.getpid(), [tmp_path], BoxSettings())
    assert room.excess(BoxSettings()) == "workspace_files"


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can become another user")
def test_a_folder_that_its_owner_closed_is_counted() -> None:
    """Escapes: a box of the host's own user cannot shut him out; a link is not followed."""
    with tempfile.TemporaryDirectory() as made:
        box, other = Path(made, "box"), Path(made, "other")
        (box / "closed").mkdir(parents=True)
        other.mkdir(mode=0o000)
        (box / "closed" / "big").write_bytes(b"x" * 3_000_000)
        (box / "link").symlink_to(other)
        (box / "closed").chmod(0)
        for place in (Path(made), box, box / "closed", other):
            os.chown(place, 61_234, 61_234)
        os.seteuid(61_234)
        try:
            room = measure(2**22 + 1, [box], BoxSettings())
        finally:
            os.seteuid(0)
        assert (room.files, room.disk_bytes >= 3_000_000) == (3, True)
        assert other.stat().st_mode & 0o777 == 0


def test_what_has_no_name_is_counted(tmp_path: Path) -> None:
    """The sum is of what lies there and of what is held."""
    with (tmp_path / "big").open("wb") as file:
        file.write(b"x" * 3_000_000)
        file.flush()
        (tmp_path / "big").unlink()
        room = measure(os.getpid(), [tmp_path], BoxSettings())
        assert (room.files, 3_000_000 <= room.disk_bytes < 3_100_000) == (0, True)


def test_a_directory_that_is_gone_counts_nothing(tmp_path: Path) -> None:
    """A box may remove what is being looked at."""
    assert measure(2**22 + 1, [tmp_path / "gone"], QUICK) == Room(
        memory_bytes=0, disk_bytes=0, files=0
    )


def test_each_limit_has_its_name() -> None:
    """The owner's log says which one it was."""
    settings = BoxSettings(memory_mb=1, workspace_mb=1, workspace_files=1)
    assert Room(memory_bytes=2**21, disk_bytes=0, files=0).excess(settings) == "memory_mb"
    assert Room(memory_bytes=0, disk_bytes=2**21, files=0).excess(settings) == "workspace_mb"
    full = Room(memory_bytes=2**20, disk_bytes=2**20, files=1)
    assert full.excess(settings) == ""
    assert replace(full, memory_bytes=2**20 + 1).excess(settings) == "memory_mb"
    assert replace(full, disk_bytes=2**20 + 1).excess(settings) == "workspace_mb"
    assert replace(full, files=2).excess(settings) == "workspace_files"


async def test_children_are_found() -> None:
    """What descends from a box's first process is the box's."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE
    )
    try:
        assert child.pid in set(descendants(os.getpid()))
    finally:
        child.kill()
        await child.wait()
