"""What processes hold without a name, told by the kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.playground.scripted_model import Answer
from sessions.boxes.held import SOCKET_BYTES, held_by
from sessions.inbound import OutcomeKind
from support.boxed_world import boxed_world, tool

MB = 1024**2
NAMED = """
import os
own = os.open("big", os.O_RDWR | os.O_CREAT)
os.write(own, b"x" * 3_000_000)
"""
UNNAMED = f"""{NAMED}
os.unlink("big")
"""
MAPPED = """
import ctypes
map = ctypes.CDLL(None).mmap
map.restype = ctypes.c_void_p
map(None, ctypes.c_size_t(3_000_000), 1, 1, own, ctypes.c_long(0))
os.close(own)
"""
SHARED = """
import mmap, os
made = os.memfd_create("m")
os.write(made, b"x" * 2_000_000)
room = mmap.mmap(-1, 4_000_000)
room.write(b"x" * 4_000_000)
room.madvise(mmap.MADV_DONTNEED)
"""
SOCKETS = """
import socket
pairs = [socket.socketpair() for _ in range(5)]
"""
WAIT = """
print(flush=True)
input()
"""


@contextmanager
def holding(script: str, place: Path) -> Iterator[int]:
    """A process that does something and then waits; gives its id."""
    with subprocess.Popen(  # noqa: S603  (our own words)
        [sys.executable, "-c", script + WAIT],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


def test_a_file_without_a_name_takes_disk(tmp_path: Path) -> None:
    """Issue "Box", limits: the name is gone, the blocks are not; opened twice, they count once."""
    with holding(UNNAMED + "os.dup(own)", tmp_path) as pid:
        assert list(tmp_path.iterdir()) == []
        held = held_by([pid], [tmp_path])
        assert 3_000_000 <= held.disk_bytes < 3_100_000
        assert held.memory_bytes < MB


def test_what_has_a_name_is_not_counted_here(tmp_path: Path) -> None:
    """It lies in a folder, where it is counted already."""
    with holding(NAMED, tmp_path) as pid:
        assert (tmp_path / "big").stat().st_size == 3_000_000
        assert held_by([pid], [tmp_path]).disk_bytes == 0


def test_a_mapped_one_takes_disk_too(tmp_path: Path) -> None:
    """Unlinked and closed, and kept by its mapping alone."""
    with holding(UNNAMED + MAPPED, tmp_path) as pid:
        assert 3_000_000 <= held_by([pid], [tmp_path]).disk_bytes < 3_100_000


def test_shared_memory_counts_when_nobody_has_it_resident(tmp_path: Path) -> None:
    """Limits on memory: pages that were let go stay, and are no process's own."""
    with holding(SHARED, tmp_path) as pid:
        held = held_by([pid, pid], [tmp_path])
        assert 6_000_000 <= held.memory_bytes < 7 * MB
        assert held.disk_bytes == 0


def test_sockets_count_for_what_they_may_hold(tmp_path: Path) -> None:
    """What is sent and not read lies in the kernel's memory, beside every process's."""
    with holding(SOCKETS, tmp_path) as pid:
        assert held_by([pid], []).memory_bytes >= 10 * SOCKET_BYTES


def test_only_a_box_has_scratch_of_its_own(tmp_path: Path) -> None:
    """Who sees the host's holds none of it, and who is gone holds nothing."""
    with holding("", tmp_path) as pid:
        held = held_by([pid], [tmp_path])
        assert (held.disk_bytes, held.files) == (0, 0)
    gone = held_by([2**22 + 1], [tmp_path / "gone"])
    assert (gone.memory_bytes, gone.disk_bytes, gone.files) == (0, 0, 0)


def test_what_may_not_be_looked_at_counts_as_it_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that is not the superuser is told how much is mapped, and no more."""
    looks = os.stat

    def refused(path: str | Path, **options: bool) -> os.stat_result:
        if "/map_files/" in str(path):
            raise PermissionError(path)
        return looks(path, **options)

    with holding(UNNAMED + MAPPED + SHARED, tmp_path) as pid, monkeypatch.context() as patched:
        patched.setattr(os, "stat", refused)
        held = held_by([pid], [tmp_path])
        assert 3_000_000 <= held.disk_bytes < 3_100_000
        assert 6_000_000 <= held.memory_bytes < 7 * MB


PYTHON = "/usr/bin/python3"
NAMELESS = {
    "workspace_mb": """
import os, time
held = os.open("u", os.O_RDWR | os.O_CREAT)
os.unlink("u")
os.write(held, b"x" * 20_000_000)
time.sleep(60)
""",
    "memory_mb": """
import os, time
for number in range(5):
    held = os.memfd_create("m")
    os.write(held, b"x" * 100_000_000)
    os.dup2(held, 100 + number)
time.sleep(60)
""",
    "workspace_files": """
import pathlib, time
for number in range(600):
    pathlib.Path(f"/tmp/{number}").touch()
time.sleep(60)
""",
}
"""What takes room and is in no folder that the host could go through; by the limit it passes."""


@pytest.mark.skipif(not Path(PYTHON).exists(), reason="no program here to do it with")
@pytest.mark.slow
@pytest.mark.parametrize("limit", NAMELESS)
async def test_what_has_no_name_in_a_box_is_bounded(tmp_path: Path, limit: str) -> None:
    """Issue "Box", limits: files unlinked and held, shared memory, empty files in `/tmp`."""
    async with (
        boxed_world(
            tmp_path, workspace_mb=8, memory_mb=512, workspace_files=500, watch_seconds=0.1
        ) as world,
        world.real.registry() as registry,
    ):
        command = f"{PYTHON} -c '{NAMELESS[limit]}'"
        world.real.model.script(Answer.call(tool("bash", command=command)))
        with capture_logs() as logged:
            outcome = await world.turn(registry)
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.CUT_OFF, "pi_exited")
    outgrown = [each["limit"] for each in logged if each["event"] == "box.outgrown"]
    assert outgrown == [limit]
