"""Another process's hold on the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from config.homedir import DATABASE_FILE
from support.playground_bot import PATIENCE_SECONDS


@contextmanager
def held(home: Path) -> Iterator[None]:
    """Hold the lock for writing, as another process does."""
    file = home / DATABASE_FILE
    with closing(sqlite3.connect(file, timeout=PATIENCE_SECONDS, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
