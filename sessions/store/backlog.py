"""What waits in the tables, in numbers alone: for a look from outside at how the host fares."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from sessions.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Rows that wait. ``gates`` and ``tasks`` are by their state; states without rows are absent.

    ``inbox`` are messages that are owed an answer, ``outbox`` parts that are still to be sent.
    """

    gates: Mapping[str, int]
    tasks: Mapping[str, int]
    inbox: int
    outbox: int


async def read_backlog(database: Database) -> Backlog:
    """Count what waits, all in one consistent read.

    Raises:
        StoreUnavailable: the database does not answer.
    """

    def work(db: sqlite3.Connection) -> Backlog:
        return Backlog(
            gates=_by_state(db, "SELECT state, count(*) FROM gates GROUP BY state"),
            tasks=_by_state(db, "SELECT state, count(*) FROM tasks GROUP BY state"),
            # Written out, so that the indexes of just these rows serve.
            inbox=_count(db, "SELECT count(*) FROM inbox WHERE state != 'done'"),
            outbox=_count(db, "SELECT count(*) FROM outbox WHERE state = 'pending'"),
        )

    return await database.read(work)


def _by_state(db: sqlite3.Connection, query: str) -> dict[str, int]:
    return {str(state): int(count) for state, count in db.execute(query)}


def _count(db: sqlite3.Connection, query: str) -> int:
    (found,) = db.execute(query).fetchone()
    return int(found)
