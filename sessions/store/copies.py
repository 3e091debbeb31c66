"""A copy of a database as it stood, kept before its schema is brought forward.

The copy is named for the schema that it has, so a second try replaces the first one's. The latest
two stay. Who must go back stops the bot, puts the copy in the database's place and starts the
release that wrote it. Files of keys are never copied: a copy of them would bring back what people
had forgotten.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from sessions.errors import StoreUnavailable

COPIES_DIR: Final = "backups"
KEPT: Final = 2
_PRIVATE_DIR: Final = 0o700
_PRIVATE_FILE: Final = 0o600


def copy_of(path: Path, schema: int) -> Path:
    """Say where the copy of a database with this schema lies."""
    return path.parent / COPIES_DIR / f"{path.stem}-schema-{schema}{path.suffix}"


def keep_copy(db: sqlite3.Connection, path: Path, *, schema: int) -> Path:
    """Copy an open database beside its home's other files, whole or not at all.

    Raises:
        StoreUnavailable: the copy could not be made; nothing may be changed without it.
    """
    target = copy_of(path, schema)
    unfinished = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(mode=_PRIVATE_DIR, exist_ok=True)
        copy_database(db, unfinished)
        unfinished.replace(target)
        _drop_older(target.parent, path)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        reason = getattr(error, "sqlite_errorname", "") or type(error).__name__
        raise StoreUnavailable(
            f"copy before upgrade: {reason}",
            safe_message=(
                f"{path.name} has to be brought forward for this release, and I could not copy it "
                f"to {COPIES_DIR}/ first. Nothing was changed. Make room on the disk, and start "
                "again."
            ),
        ) from error
    return target


def copy_database(db: sqlite3.Connection, target: Path) -> None:
    """Copy an open database into a file of its own, owner-only from birth."""
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE_FILE))
    with closing(sqlite3.connect(target)) as copy:
        db.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


def _drop_older(folder: Path, path: Path) -> None:
    found = sorted(
        folder.glob(f"{path.stem}-schema-*{path.suffix}"),
        key=lambda each: each.stat().st_mtime_ns,
        reverse=True,
    )
    for old in found[KEPT:]:
        old.unlink(missing_ok=True)
