"""Reading beside the writer: a few connections that can change nothing.

In WAL a reader waits for no writer, nor a writer for a reader. So what is only looked up is found
while a transaction is stuck behind another process's lock (P24), and a long look, such as the check
of the whole file, holds up no turn. A read that begins after a commit sees it: whoever awaited his
write finds what he wrote, by whichever connection he asks.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

from sessions.store.connection import Connection

T = TypeVar("T")
READERS: Final = 2
"""One for turns while the other is at something long; each is a thread and a cache."""


class Readers:
    """Open connections, each lent to one reader at a time. Made by ``open_readers``."""

    def __init__(self, *connections: Connection) -> None:
        self._idle: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
        for each in connections:
            self._idle.put_nowait(each)

    async def call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on the first connection that is free; one given up is broken off.

        Raises:
            sqlite3.Error: SQLite's own, or whatever ``work`` raises.
        """
        loop, connection = asyncio.get_running_loop(), await self._idle.get()

        def lent(db: sqlite3.Connection) -> T:
            try:
                return work(db)
            finally:
                # Only now, also where nobody waits for it any more: the next one gets an idle one.
                loop.call_soon_threadsafe(self._idle.put_nowait, connection)

        try:
            return await connection.call(lent)
        except asyncio.CancelledError:
            connection.break_off()
            raise


@asynccontextmanager
async def open_readers(path: Path, *, patience_seconds: float) -> AsyncIterator[Readers]:
    """Open readers of a file that is in WAL mode.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    made = [
        Connection(path, patience_seconds=patience_seconds, read_only=True) for _ in range(READERS)
    ]
    async with AsyncExitStack() as stack:
        for each in made:
            await stack.enter_async_context(each)
        yield Readers(*made)
