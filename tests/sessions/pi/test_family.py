"""Members of a family are found by start time and mark, and only they are ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sessions.pi.family import (
    FAMILY_VARIABLE,
    FamilyRecord,
    end_family,
    forget_record,
    members,
    read_record,
    record_of,
    write_record,
)

DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); input()"
PLAIN = "print(flush=True); input()"


@contextmanager
def child(code: str, family: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """A process that has begun to run ``code``."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, FAMILY_VARIABLE: family},
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_members_are_the_process_and_all_with_its_mark() -> None:
    with child(PLAIN) as first, child(PLAIN, "mark-1") as second, child(PLAIN, "mark-2") as third:
        record = record_of(first.pid, "mark-1")
        assert {each.pid for each in members(record)} == {first.pid, second.pid}
        reused = replace(record, create_time=record.create_time - 60)
        assert {each.pid for each in members(reused)} == {second.pid}
        assert third.poll() is None


@pytest.mark.parametrize("code", [PLAIN, DEAF])
def test_the_end_of_a_family_is_sure_and_leaves_strangers_alone(code: str) -> None:
    with child(code, "mark-3") as member, child(PLAIN, "mark-4") as stranger:
        record = FamilyRecord(pid=member.pid, create_time=0.0, family="mark-3")
        assert end_family(record, 0.3) == 1
        assert psutil.Process(member.pid).status() == psutil.STATUS_ZOMBIE
        assert end_family(record, 0.3) == 0
        assert stranger.poll() is None


def test_a_process_that_is_gone_has_no_start_time() -> None:
    with child(PLAIN) as process:
        pid = process.pid
    record = record_of(pid, "mark-5")
    assert record.create_time == 0.0
    assert members(record) == []


def test_a_record_is_owner_only_and_reads_back(tmp_path: Path) -> None:
    file = tmp_path / "pi.json"
    record = FamilyRecord(pid=7, create_time=1795995270.25, family="mark-6")
    write_record(file, record)
    assert read_record(file) == record
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]
    forget_record(file)
    forget_record(file)
    assert read_record(file) is None
