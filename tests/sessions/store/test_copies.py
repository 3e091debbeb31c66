"""Before a schema is brought forward there is a copy, or it is not brought forward."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sessions.clock import SystemClock
from sessions.errors import StoreUnavailable
from sessions.store.copies import KEPT, copy_of, keep_copy
from sessions.store.database import open_database
from sessions.store.migrations import MIGRATIONS, SCHEMA, migrate, schema_of
from support.session_world import BOUND_SECONDS


def old_file(path: Path, schema: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        migrate(db, now="then", migrations=MIGRATIONS[:schema])


def schema(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return schema_of(db)


async def opened(path: Path, *, copied: bool = True) -> None:
    async with open_database(
        path, clock=SystemClock(), patience_seconds=BOUND_SECONDS, copied=copied
    ):
        pass


async def test_opening_an_older_file_keeps_it_once(tmp_path: Path) -> None:
    """Issue "Keep running": automatic backup before; none for a new file, none when it fits."""
    path = tmp_path / "inglenook.db"
    await opened(path)
    assert not (tmp_path / "backups").exists()
    path.unlink()
    old_file(path, 3)
    await opened(path)
    assert (schema(path), schema(copy_of(path, 3))) == (SCHEMA, 3)
    made_at = copy_of(path, 3).stat().st_mtime_ns
    await opened(path)
    assert copy_of(path, 3).stat().st_mtime_ns == made_at


async def test_without_room_for_a_copy_nothing_changes(tmp_path: Path) -> None:
    """Issue "Bad input", a full disk: fail closed, with the remedy."""
    path = tmp_path / "inglenook.db"
    old_file(path, 3)
    (tmp_path / "backups").write_text("a file where the folder should be")
    with pytest.raises(StoreUnavailable) as caught:
        await opened(path)
    assert "Make room" in caught.value.safe_message
    assert schema(path) == 3


async def test_keys_are_never_copied(tmp_path: Path) -> None:
    """What people had forgotten must not come back by a copy of its keys."""
    path = tmp_path / "keys.db"
    old_file(path, 3)
    await opened(path, copied=False)
    assert not (tmp_path / "backups").exists()


def test_only_the_latest_copies_stay(tmp_path: Path) -> None:
    path = tmp_path / "inglenook.db"
    old_file(path, 3)
    with closing(sqlite3.connect(path)) as db:
        for number in range(1, KEPT + 3):
            kept = keep_copy(db, path, schema=number)
            os.utime(kept, (number, number))
    names = {each.name for each in (tmp_path / "backups").iterdir()}
    assert names == {copy_of(path, number).name for number in (KEPT + 1, KEPT + 2)}
