"""New databases as copies of one, for tests: each change of the schema is made once a process."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence

from sessions.store.migrations import MIGRATIONS, Migration, migrate, schema_of


class Template:
    """An empty database of the newest schema, to be copied where ``migrate`` would make one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # each open database has a thread of its own
        self._made = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        migrate(self._made, now="")

    def close(self) -> None:
        """Let it go."""
        self._made.close()

    def migrate(
        self, db: sqlite3.Connection, *, now: str, migrations: Sequence[Migration] = MIGRATIONS
    ) -> tuple[int, ...]:
        """See ``migrations.migrate``; a file that holds anything is brought forward by that."""
        if tuple(migrations) == MIGRATIONS and schema_of(db) == 0 and not _tables(db):
            with self._lock:
                self._made.backup(db)
            db.execute("UPDATE migrations SET applied_at = ?", (now,))
            return tuple(step.number for step in MIGRATIONS)
        return migrate(db, now=now, migrations=migrations)


def _tables(db: sqlite3.Connection) -> int:
    (number,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(number)
