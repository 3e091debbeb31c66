"""How far each channel has been read, so that what was missed can be asked for.

A cursor is the id of a message up to which everything is in the records. It is moved behind the
records, never ahead of them and never back: read too little of a channel twice, and the history
tells the doubles; read past something, and it is lost. ``HOME`` is the mark below which nothing is
asked for at all: a channel that was never read begins there (P05).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from compiler.request import ChannelId
from sessions.store.database import Database

HOME = ChannelId("*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A channel, and the snowflake up to which it was read."""

    channel_id: ChannelId
    last: int
    is_dm: bool = False


class CursorStore:
    """The tables ``cursors`` and ``interactions``; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self) -> tuple[Cursor, ...]:
        """Read all cursors."""
        rows = await self._database.read(
            lambda db: db.execute("SELECT channel_id, last, is_dm FROM cursors").fetchall()
        )
        return tuple(
            Cursor(channel_id=ChannelId(row[0]), last=row[1], is_dm=bool(row[2])) for row in rows
        )

    async def advance(self, cursors: Iterable[Cursor]) -> None:
        """Move cursors on; one that would go back stays where it is."""
        rows = [(each.channel_id, each.last, each.is_dm) for each in cursors]

        def work(db: sqlite3.Connection) -> None:
            db.executemany(
                "INSERT INTO cursors (channel_id, last, is_dm) VALUES (?, ?, ?)"
                " ON CONFLICT (channel_id) DO UPDATE SET last = max(last, excluded.last)",
                rows,
            )

        await self._database.write(work)

    async def claim_interaction(self, interaction_id: str, *, now_ms: int) -> bool:
        """Note that an interaction is acted on; False if it was before, by any host."""

        def work(db: sqlite3.Connection) -> bool:
            db.execute("DELETE FROM interactions WHERE at_ms < ?", (now_ms - INTERACTION_MS,))
            done = db.execute(
                "INSERT INTO interactions VALUES (?, ?) ON CONFLICT DO NOTHING",
                (interaction_id, now_ms),
            )
            return done.rowcount == 1

        return await self._database.write(work)


INTERACTION_MS = 3_600_000
"""An interaction's token lives for fifteen minutes; after an hour nobody can repeat it."""
