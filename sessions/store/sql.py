"""Pieces of SQL that several stores need: question marks, and lists longer than SQLite takes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence, Sized
from typing import Any, Final

CHUNK: Final = 500
"""Values of one list at once; SQLite bounds how many a statement may have."""


def marks(values: Sized) -> str:
    """Give a question mark for each value."""
    return ", ".join("?" * len(values))


def in_chunks(db: sqlite3.Connection, query: str, values: Sequence[str]) -> list[Any]:
    """Run a statement that ends in ``IN`` for a list of any length; give all its rows."""
    rows: list[Any] = []
    for start in range(0, len(values), CHUNK):
        chunk = values[start : start + CHUNK]
        rows += db.execute(f"{query} ({marks(chunk)})", tuple(chunk))
    return rows
