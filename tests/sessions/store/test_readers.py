"""Looking things up beside the writer: what is seen, who waits for whom, what is given up."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sessions.errors import StoreUnavailable
from sessions.store.database import Database, open_database
from sessions.store.readers import READERS
from support.session_world import BOUND_SECONDS, ManualClock, locked

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
STEPS = 1_000
"""After so many steps of a statement SQLite tells that it runs."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "inglenook.db"


@pytest.fixture
async def database(file: Path) -> AsyncIterator[Database]:
    async with open_database(file, clock=ManualClock(), patience_seconds=BOUND_SECONDS) as opened:
        await opened.write(lambda db: db.execute("CREATE TABLE t (n INTEGER)").close())
        yield opened


def insert(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO t VALUES (1)")


def count(db: sqlite3.Connection) -> int:
    (number,) = db.execute("SELECT count(*) FROM t").fetchone()
    return int(number)


async def test_who_wrote_reads_what_he_wrote(database: Database) -> None:
    """Style "SQLite": a write that was awaited is seen, whichever connection is asked."""
    for number in range(1, 4 * READERS):
        await database.write(insert)
        assert await database.read(count) == number


async def test_a_read_waits_for_no_lock(database: Database, file: Path) -> None:
    """P24: while a write is stuck behind another process, what is there can be looked up."""
    async with asyncio.TaskGroup() as tasks:
        with locked(file):
            writing = tasks.create_task(database.write(insert))
            for _ in range(2 * READERS):
                assert await database.read(count) == 0
            assert not writing.done()
    assert await database.read(count) == 1


async def test_a_reader_changes_nothing(database: Database) -> None:
    """One writer: a work that was meant for it is refused here."""
    with pytest.raises(StoreUnavailable) as caught:
        await database.read(insert)
    assert caught.value.facts["reason"] == "SQLITE_READONLY"
    assert await database.read(count) == 0


async def test_a_long_look_holds_up_nobody(database: Database) -> None:
    """A check of the whole file is no reason for a turn to wait."""
    go_on = threading.Event()
    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(database.read(lambda _: go_on.wait(BOUND_SECONDS)))
        try:
            await database.write(insert)
            assert await database.read(count) == 1
            assert not looking.done()
        finally:
            go_on.set()
    assert looking.result()


@pytest.mark.parametrize("around", ["VALUES (1)", "VALUES (1), (2)"], ids=["ended", "open"])
async def test_a_look_that_was_given_up_is_broken_off(database: Database, around: str) -> None:
    """A bounded set: whoever does not wait any more takes no connection from the others."""
    loop = asyncio.get_running_loop()

    async def give_up_one() -> None:
        runs = asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(runs.set)

        def look(db: sqlite3.Connection) -> None:
            db.set_progress_handler(tell, STEPS)
            try:
                rows = db.execute(around)
                for _ in rows:
                    db.execute(ENDLESS).fetchone()
            finally:
                db.set_progress_handler(None, 0)

        looking = tasks.create_task(database.read(look))
        async with asyncio.timeout(BOUND_SECONDS):
            await runs.wait()
        looking.cancel()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(2 * READERS):
            await give_up_one()
    assert [await database.read(count) for _ in range(2 * READERS)] == [0] * 2 * READERS


async def test_what_cannot_be_broken_off_is_lent_to_nobody_else(database: Database) -> None:
    """It may be at work in no statement; whoever comes meanwhile is given another connection."""
    loop, runs, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def look(_: sqlite3.Connection) -> None:
        loop.call_soon_threadsafe(runs.set)
        go_on.wait(BOUND_SECONDS)

    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(database.read(look))
        async with asyncio.timeout(BOUND_SECONDS):
            await runs.wait()
        looking.cancel()
        await asyncio.wait([looking])
        try:
            assert await database.read(count) == 0
            assert not go_on.is_set()
        finally:
            go_on.set()
    assert [await database.read(count) for _ in range(2 * READERS)] == [0] * 2 * READERS
