"""Strangers who asked to talk in direct messages, and whom an owner let in.

Nothing of what they wrote is here: an id, a code and a time. A code holds for an hour; three of
them is all that a person gets until an owner has decided.
"""

from __future__ import annotations

import sqlite3
from enum import StrEnum
from typing import Final

from compiler.request import UserId
from sessions.store.database import Database

CODE_MS: Final = 3_600_000
MAX_TRIES: Final = 3
MAX_OPEN: Final = 20
"""Requests that wait for the owner at once, whoever they are of: nobody floods him."""


class Decision(StrEnum):
    """What an owner's click came to."""

    APPROVED = "approved"
    REFUSED = "refused"
    OVER = "over"
    """There is nothing to decide: it was decided, or its hour has passed."""


class PairingStore:
    """The table ``pairings``; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def approved(self) -> frozenset[UserId]:
        """Read who was let in."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT user_id FROM pairings WHERE state = 'approved'"
            ).fetchall()
        )
        return frozenset(UserId(row[0]) for row in rows)

    async def ask(self, user_id: UserId, code: str, *, now_ms: int) -> str | None:
        """Note that a stranger asks; give his code, the one that holds or this new one.

        None when he gets no code: refused, out of tries, or too many wait already.
        """

        def work(db: sqlite3.Connection) -> str | None:
            row = db.execute(
                "SELECT state, tries, at_ms FROM pairings WHERE user_id = ?", (user_id,)
            ).fetchone()
            state, tries, at_ms = row or ("asked", 0, 0)
            if state != "asked" or tries >= MAX_TRIES or now_ms - at_ms < CODE_MS:
                return None  # decided, at the end of his tries, or told within this hour
            (waiting,) = db.execute(
                "SELECT count(*) FROM pairings WHERE state = 'asked' AND at_ms > ?",
                (now_ms - CODE_MS,),
            ).fetchone()
            if waiting >= MAX_OPEN:
                return None
            db.execute(
                "INSERT OR REPLACE INTO pairings VALUES (?, 'asked', ?, ?, ?)",
                (user_id, code, tries + 1, now_ms),
            )
            return code

        return await self._database.write(work)

    async def decide(self, user_id: UserId, code: str, *, let_in: bool, now_ms: int) -> Decision:
        """Let somebody in or not, for the code that the owner was shown."""
        decided = Decision.APPROVED if let_in else Decision.REFUSED

        def work(db: sqlite3.Connection) -> Decision:
            done = db.execute(
                "UPDATE pairings SET state = ? WHERE user_id = ? AND state = 'asked'"
                " AND code = ? AND at_ms > ?",
                (decided, user_id, code, now_ms - CODE_MS),
            )
            return decided if done.rowcount == 1 else Decision.OVER

        return await self._database.write(work)
