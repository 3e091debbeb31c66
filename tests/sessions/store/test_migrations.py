"""The schema grows by small steps, each whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.clock import timestamp
from sessions.store.database import open_database
from sessions.store.migrations import MIGRATIONS, SCHEMA, Migration, migrate, schema_of
from support.session_world import BOUND_SECONDS, ManualClock

NOW = "2026-11-29T23:16:35.000Z"


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def test_an_empty_database_is_brought_to_the_last_step(db: sqlite3.Connection) -> None:
    """All steps, in order, each written down."""
    assert schema_of(db) == 0
    assert migrate(db, now=NOW) == tuple(step.number for step in MIGRATIONS)
    assert schema_of(db) == SCHEMA
    rows = db.execute("SELECT number, name, applied_at FROM migrations").fetchall()
    assert rows == [(step.number, step.name, NOW) for step in MIGRATIONS]


def test_nothing_is_applied_twice(db: sqlite3.Connection) -> None:
    """A second opening changes nothing."""
    migrate(db, now=NOW)
    assert migrate(db, now="later") == ()


def test_steps_are_numbered_without_gaps() -> None:
    """A step is appended, never put in between."""
    assert [step.number for step in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_a_failing_step_leaves_the_one_before(db: sqlite3.Connection) -> None:
    """A step that fails half way is taken back whole."""

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (n)")
        raise sqlite3.OperationalError("no")

    step = Migration(number=SCHEMA + 1, name="broken", apply=broken)
    with pytest.raises(sqlite3.OperationalError):
        migrate(db, now=NOW, migrations=(*MIGRATIONS, step))
    assert schema_of(db) == SCHEMA
    tables = db.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall()
    assert tables == []


async def test_the_copies_of_the_other_tests_are_what_the_steps_make(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    """Else those tests would prove something of a database that nobody has."""
    clock = ManualClock()
    migrate(db, now=timestamp(clock.utc_now()))
    file = tmp_path / "inglenook.db"
    async with open_database(file, clock=clock, patience_seconds=BOUND_SECONDS) as opened:
        assert await opened.read(everything_in) == everything_in(db)
        assert await opened.read(lambda copy: copy.execute("PRAGMA journal_mode").fetchone()) == (
            "wal",
        )


def everything_in(db: sqlite3.Connection) -> tuple[list[object], list[object]]:
    """Give the schema, and the rows of the only table that has any."""
    schema = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
    return schema.fetchall(), db.execute("SELECT * FROM migrations").fetchall()
