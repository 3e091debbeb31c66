"""What is kept of a person, in counts: for that person alone.

Each count ends where it says "more than", so that nobody's answer is slower for having talked much.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from compiler.request import ChannelId, UserId
from sessions.store.database import Database

MOST: Final = 10_000
"""Counted at most; one more stands for "more than that"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOfPerson:
    """Counts. ``messages`` are the person's own, among the latest of one conversation."""

    turns: int
    messages: int


class KeptStore:
    """Reads; every method raises ``StoreUnavailable`` when the database cannot answer in time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_person(self, user_id: UserId, channel_id: ChannelId | None) -> KeptOfPerson:
        """Count the recorded turns of a person, and the messages kept in one conversation."""

        def work(db: sqlite3.Connection) -> KeptOfPerson:
            (turns,) = db.execute(
                "SELECT count(*) FROM (SELECT 1 FROM turns WHERE user_id = ? LIMIT ?)",
                (user_id, MOST + 1),
            ).fetchone()
            (messages,) = db.execute(
                "SELECT count(*) FROM (SELECT author_id FROM history WHERE channel_id = ?"
                " AND deleted = 0 ORDER BY ordinal DESC LIMIT ?) WHERE author_id = ?",
                (channel_id, MOST, user_id),
            ).fetchone()
            return KeptOfPerson(turns=turns, messages=messages)

        return await self._database.read(work)
