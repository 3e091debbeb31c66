"""The one owner of the connection: opening, transactions, bounded waits, damage."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sessions.errors import StoreDamaged, StoreMissing, StoreTooNew, StoreUnavailable
from sessions.store.database import Database, open_database
from sessions.store.migrations import SCHEMA
from support.session_world import BOUND_SECONDS, IMPATIENT_SECONDS, ManualClock, locked

CLOCK = ManualClock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "inglenook.db"


@pytest.fixture
async def database(file: Path) -> AsyncIterator[Database]:
    async with open_database(file, clock=CLOCK, patience_seconds=BOUND_SECONDS) as opened:
        await opened.write(lambda db: db.execute("CREATE TABLE t (n INTEGER)").close())
        yield opened


def count(db: sqlite3.Connection) -> int:
    (number,) = db.execute("SELECT count(*) FROM t").fetchone()
    return int(number)


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def damage_the_middle(file: Path) -> None:
    content = bytearray(file.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 64] = b"\xff" * 64
    file.write_bytes(content)


async def open_and_close(file: Path, *, read_only: bool = False) -> None:
    async with open_database(
        file, clock=CLOCK, patience_seconds=BOUND_SECONDS, read_only=read_only
    ):
        pass


async def test_files_are_owner_only(file: Path) -> None:
    """The database and its side files are readable by nobody else, whatever the umask."""
    before = os.umask(0)
    try:
        async with open_database(file, clock=CLOCK, patience_seconds=BOUND_SECONDS) as opened:
            await opened.write(lambda db: db.execute("CREATE TABLE t (n)").close())
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {f"inglenook.db{end}": 0o600 for end in ("", "-wal", "-shm")}


async def test_a_wide_open_file_is_tightened(file: Path) -> None:
    """A mode that somebody widened is put right."""
    await open_and_close(file)
    await asyncio.to_thread(file.chmod, 0o644)
    await open_and_close(file)
    assert mode_of(file) == 0o600


async def test_pragmas_are_set(database: Database) -> None:
    """WAL, NORMAL (the reason stands in the module), foreign keys."""

    def read(db: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return [db.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await database.write(read) == ["wal", 1, 1]


async def test_a_failing_transaction_changes_nothing(database: Database) -> None:
    """All or nothing, and the error is the store's."""

    def work(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO t VALUES (1)")
        db.execute("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(StoreUnavailable):
        await database.write(work)
    assert await database.read(count) == 0


async def test_a_fault_in_a_transaction_rolls_back_and_goes_up(database: Database) -> None:
    """A bug is not dressed up as an unavailable store."""

    def work(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO t VALUES (1)")
        raise KeyError("bug")

    with pytest.raises(KeyError):
        await database.write(work)
    assert await database.read(count) == 0


async def test_many_writers_take_turns(database: Database) -> None:
    """P24: 50 at once; none fails, none is lost."""

    async def write() -> None:
        await database.write(lambda db: db.execute("INSERT INTO t VALUES (1)").close())

    async with asyncio.TaskGroup() as tasks:
        for _ in range(50):
            tasks.create_task(write())
    assert await database.read(count) == 50


async def test_the_wait_for_a_lock_is_bounded(database: Database, file: Path) -> None:
    """P24: another process holds the lock; it is said, and the next write works."""
    with locked(file, database), pytest.raises(StoreUnavailable) as caught:
        await database.write(lambda db: db.execute("INSERT INTO t VALUES (1)").close())
    assert (caught.value.code, caught.value.facts["reason"]) == ("store_unavailable", "timeout")
    await database.write(lambda db: db.execute("INSERT INTO t VALUES (2)").close())
    assert await database.read(count) == 1


async def test_the_bound_is_the_one_that_was_asked_for(database: Database, file: Path) -> None:
    """P24: ``patience_seconds`` is the whole wait."""
    async with open_database(file, clock=CLOCK, patience_seconds=IMPATIENT_SECONDS) as other:
        with locked(file), pytest.raises(StoreUnavailable):
            await other.write(lambda db: db.execute("INSERT INTO t VALUES (1)").close())
    assert await database.read(count) == 0


async def test_a_lock_that_passes_in_time_is_waited_for(file: Path) -> None:
    """P24: accepted work is kept."""
    async with open_database(file, clock=CLOCK, patience_seconds=BOUND_SECONDS) as database:
        await database.write(lambda db: db.execute("CREATE TABLE t (n)").close())
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(
                database.write(lambda db: db.execute("INSERT INTO t VALUES (1)").close())
            )
            await asyncio.sleep(0)
            assert not writing.done()
            other.execute("ROLLBACK")
        other.close()
        assert await database.read(count) == 1


async def test_what_waited_too_long_never_happens(database: Database, file: Path) -> None:
    """A transaction given up before it began is not carried out later."""
    with locked(file, database):
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(_refused(database, 1))
            second = tasks.create_task(_refused(database, 2))
    assert first.result()
    assert second.result()
    assert await database.read(count) == 0


async def _refused(database: Database, number: int) -> bool:
    try:
        await database.write(lambda db: db.execute("INSERT INTO t VALUES (?)", (number,)).close())
    except StoreUnavailable:
        return True
    return False


async def test_a_cancelled_caller_leaves_no_open_transaction(database: Database) -> None:
    """Cancellation hits the wait, not the middle of a transaction."""
    async with asyncio.TaskGroup() as tasks:
        for _ in range(20):
            task = tasks.create_task(
                database.write(lambda db: db.execute("INSERT INTO t VALUES (1)").close())
            )
            await asyncio.sleep(0)
            task.cancel()
    await database.write(lambda db: db.execute("DELETE FROM t").close())
    assert await database.read(count) == 0


async def test_a_closed_store_says_so(file: Path) -> None:
    """No hang and no stack trace after the end."""
    async with open_database(file, clock=CLOCK, patience_seconds=BOUND_SECONDS) as database:
        pass
    with pytest.raises(StoreUnavailable):
        await database.read(count)


async def test_a_newer_schema_is_refused(file: Path) -> None:
    """Downgrades do not touch what they do not know."""
    await open_and_close(file)
    with sqlite3.connect(file) as db:
        db.execute("INSERT INTO migrations VALUES (?, 'later', 'then')", (SCHEMA + 1,))
    db.close()
    with pytest.raises(StoreTooNew) as caught:
        await open_and_close(file)
    assert str(SCHEMA + 1) in caught.value.safe_message


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" * 300])
async def test_a_broken_file_is_never_replaced(file: Path, content: bytes) -> None:
    """P24: a plain remedy, and the file stays as it is."""
    await asyncio.to_thread(file.write_bytes, content)
    with pytest.raises(StoreDamaged) as caught:
        await open_and_close(file)
    assert "restore a copy" in caught.value.safe_message
    assert await asyncio.to_thread(file.read_bytes) == content


async def test_a_flipped_page_is_found_at_opening(file: Path) -> None:
    """P24: one damaged page stops the start instead of failing turns later."""
    async with open_database(file, clock=CLOCK, patience_seconds=BOUND_SECONDS) as database:
        await database.write(lambda db: db.execute("CREATE TABLE t (n)").close())
        await database.write(
            lambda db: db.executemany(
                "INSERT INTO t VALUES (?)", [("x" * 500,) for _ in range(200)]
            ).close()
        )
    damage_the_middle(file)
    with pytest.raises(StoreDamaged):
        await open_and_close(file)


async def test_a_place_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    """A home without room for a database."""
    with pytest.raises(StoreUnavailable):
        await open_and_close(tmp_path / "nowhere" / "inglenook.db")


async def test_reading_beside_a_running_bot(database: Database, file: Path) -> None:
    """The shell commands see what is committed and can change nothing."""
    await database.write(lambda db: db.execute("INSERT INTO t VALUES (1)").close())
    async with open_database(
        file, clock=CLOCK, patience_seconds=BOUND_SECONDS, read_only=True
    ) as reader:
        assert await reader.read(count) == 1
        with pytest.raises(StoreUnavailable):
            await reader.write(lambda db: db.execute("DELETE FROM t").close())


async def test_reading_makes_nothing(file: Path) -> None:
    """A read-only opening of a home without a database leaves it without one."""
    with pytest.raises(StoreMissing):
        await open_and_close(file, read_only=True)
    assert list(file.parent.iterdir()) == []


async def test_reading_migrates_nothing(file: Path) -> None:
    """An empty or older file is the bot's to bring up to date."""
    await asyncio.to_thread(file.touch)
    with pytest.raises(StoreMissing):
        await open_and_close(file, read_only=True)
    assert await asyncio.to_thread(file.read_bytes) == b""


async def test_integrity_can_be_asked(database: Database) -> None:
    """The doctor's question."""
    assert await database.integrity() == "ok"


async def test_a_killed_writer_harms_nothing(file: Path) -> None:
    """P24: kill -9 in the middle of a transaction; the file is whole, without the half."""
    await open_and_close(file)
    script = textwrap.dedent(
        """
        import os, signal, sqlite3, sys
        db = sqlite3.connect(sys.argv[1], isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO replies VALUES ('m', 'r', 't', NULL)")
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script, str(file)], check=False, timeout=30
    )
    assert done.returncode == -9
    async with open_database(file, clock=CLOCK, patience_seconds=BOUND_SECONDS) as database:
        assert await database.integrity() == "ok"
        replies = await database.read(lambda db: db.execute("SELECT * FROM replies").fetchall())
    assert replies == []
