"""A connection to an SQLite file, on a thread of its own; a unit of work runs there as a whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, cast

import aiosqlite

T = TypeVar("T")


class Connection(aiosqlite.Connection):
    """aiosqlite's connection and thread, with one more door: run a function there."""

    def __init__(self, path: Path, *, patience_seconds: float, read_only: bool) -> None:
        """Name the file, which must be there; it is opened by awaiting the connection.

        ``patience_seconds`` is how long SQLite waits for a lock of somebody else's.
        """
        address = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(
                address, uri=True, timeout=patience_seconds, isolation_level=None
            )

        super().__init__(connect, iter_chunk_size=64)

    async def call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` behind what was given to the thread before.

        Raises:
            sqlite3.Error: SQLite's own, or whatever ``work`` raises.
        """
        # aiosqlite leaves the types of its own queue open.
        return cast("T", await self._execute(work, self._conn))  # type: ignore[no-untyped-call]

    def break_off(self) -> None:
        """Let the statement that runs there fail, if one does."""
        with suppress(ValueError, sqlite3.ProgrammingError):  # closed: nothing runs any more
            self._conn.interrupt()
