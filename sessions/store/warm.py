"""Sessions that a restarted host may take up again.

A row is there while a session is warm and pi holds at least one settled turn of it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from compiler.request import ChannelId, ImpName, RunId
from sessions.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmRow:
    """The claim of one conversation's session to be resumed.

    ``engine_sha256`` stands for everything about the engine that must be the same for the prefix
    to stay byte-identical. ``last_active_at`` is UTC, as in ``RunRow``.
    """

    imp: ImpName
    channel_id: ChannelId
    run_id: RunId
    route_key: str
    engine_sha256: str
    last_active_at: str


class WarmStore:
    """The table ``warm_sessions``; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, imp: ImpName, channel_id: ChannelId) -> WarmRow | None:
        """Read the claim of a conversation."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT run_id, route_key, engine_sha256, last_active_at FROM warm_sessions"
                " WHERE imp = ? AND channel_id = ?",
                (imp, channel_id),
            ).fetchone()
        )
        return None if row is None else _row((imp, channel_id, *row))

    async def of_channel(self, channel_id: ChannelId) -> tuple[WarmRow, ...]:
        """Read the claims of all imps in a channel."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT imp, channel_id, run_id, route_key, engine_sha256, last_active_at"
                " FROM warm_sessions WHERE channel_id = ? ORDER BY imp",
                (channel_id,),
            ).fetchall()
        )
        return tuple(map(_row, rows))

    async def drop(self, run_id: RunId) -> None:
        """Give up the claim of a run."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM warm_sessions WHERE run_id = ?", (run_id,))

        await self._database.write(work)


def _row(row: tuple[str, ...]) -> WarmRow:
    return WarmRow(
        imp=ImpName(row[0]),
        channel_id=ChannelId(row[1]),
        run_id=RunId(row[2]),
        route_key=row[3],
        engine_sha256=row[4],
        last_active_at=row[5],
    )


def keep(db: sqlite3.Connection, row: WarmRow) -> None:
    """Write or renew a claim, inside the caller's transaction."""
    db.execute(
        "INSERT OR REPLACE INTO warm_sessions VALUES (?, ?, ?, ?, ?, ?)",
        (
            row.imp,
            row.channel_id,
            row.run_id,
            row.route_key,
            row.engine_sha256,
            row.last_active_at,
        ),
    )
