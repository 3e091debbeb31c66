"""Lists of any length reach SQLite whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from sessions.store.sql import CHUNK, in_chunks, marks


def test_each_value_has_its_question_mark() -> None:
    """A statement takes exactly the values that it is given."""
    assert (marks(()), marks("a"), marks("abc")) == ("", "?", "?, ?, ?")


@pytest.mark.parametrize("count", [0, 1, CHUNK, CHUNK + 1, 2 * CHUNK + 1])
def test_a_list_of_any_length_gives_all_its_rows(count: int) -> None:
    """No value at the seam of two statements is lost or asked for twice."""
    ids = [f"{number:05}" for number in range(count)]
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE kept (id TEXT)")
        db.executemany("INSERT INTO kept VALUES (?)", [(each,) for each in [*ids, "other"]])
        rows = in_chunks(db, "SELECT id FROM kept WHERE id IN", ids)
    assert sorted(row[0] for row in rows) == ids
