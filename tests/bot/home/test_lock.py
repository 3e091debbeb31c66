"""One bot a home."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.home.lock import LOCK_FILE, HomeInUse, HomeUnusable, home_lock

HOLDER = """
import sys
from pathlib import Path
from bot.home.lock import home_lock
with home_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_bot_is_refused_and_told_the_first_ones_pid(tmp_path: Path) -> None:
    """The fault log's two processes with one token: the second refuses, naming the first."""
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-W", "ignore", "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(HomeInUse) as refused, home_lock(tmp_path):
            pass
        assert f"process {other.pid}" in refused.value.safe_message
        other.kill()
    with home_lock(tmp_path):
        assert (tmp_path / LOCK_FILE).read_text() == f"{os.getpid()}\n"


def test_a_stale_file_does_not_block(tmp_path: Path) -> None:
    """A file left by a dead process is no lock."""
    (tmp_path / LOCK_FILE).write_text("99999999\n")
    with home_lock(tmp_path), pytest.raises(HomeInUse), home_lock(tmp_path):
        pass


def test_a_home_that_is_not_there_is_named_plainly(tmp_path: Path) -> None:
    """No stack trace for a missing home."""
    with pytest.raises(HomeUnusable, match="cannot be used"), home_lock(tmp_path / "missing"):
        pass


def test_a_full_disk_takes_the_name_and_not_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 8 "Bad input": a home on a full disk; whoever starts says so later, in one line."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with (
        home_lock(tmp_path),
        pytest.raises(HomeInUse, match=r"process \?"),
        home_lock(tmp_path),
    ):
        pass
