"""What waits, in numbers."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sessions.clock import SystemClock
from sessions.store.backlog import Backlog, read_backlog
from sessions.store.database import open_database
from support.session_world import BOUND_SECONDS


async def test_what_waits_is_counted_and_what_is_done_is_not(tmp_path: Path) -> None:
    """Owed answers and unsent parts alone; nothing is there at first."""
    async with open_database(
        tmp_path / "x.db", clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        assert await read_backlog(database) == Backlog(gates={}, tasks={}, inbox=0, outbox=0)

        def fill(db: sqlite3.Connection) -> None:
            for number, state in enumerate(("seen", "waiting", "done")):
                db.execute(
                    "INSERT INTO inbox (message_id, turn_id, channel_id, imp, ordinal, state)"
                    " VALUES (?, ?, 'c', 'ember', ?, ?)",
                    (f"m{number}", f"t{number}", number, state),
                )
            for number, state in enumerate(("pending", "sent", "failed")):
                db.execute(
                    "INSERT INTO outbox (parcel, part, channel_id, nonce, content, quotable,"
                    " state, created_at) VALUES (?, 0, 'c', '1', '', 0, ?, '')",
                    (f"p{number}", state),
                )

        await database.write(fill)
        found = await read_backlog(database)
    assert (found.inbox, found.outbox) == (2, 1)
