"""``upgrade``: whether this release can take up a home, tried before anything is changed, and done.

``--check`` changes nothing: the databases are looked at, and one that would be brought forward is
brought forward as a copy. Without it the same happens in place, behind the home's lock and after a
copy was kept (``sessions.store.copies``); the bot's own start does so as well.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.home.lock import home_lock
from compiler.errors import SafeError
from config.homedir import DATABASE_FILE
from config.load import load_settings
from config.problems import ConfigError
from sessions.clock import SystemClock, timestamp
from sessions.errors import StoreDamaged, StoreTooNew
from sessions.store.copies import copy_database, copy_of
from sessions.store.database import open_database
from sessions.store.key_fault import KEYS_FILE
from sessions.store.migrations import MIGRATIONS, Migration, migrate, schema_of
from sessions.store.vault import VAULT_MIGRATIONS

PATIENCE_SECONDS: Final = 10.0
_FILES: Final[Sequence[tuple[str, Sequence[Migration]]]] = (
    (DATABASE_FILE, MIGRATIONS),
    (KEYS_FILE, VAULT_MIGRATIONS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How one database stands to this release. ``found`` is 0 where there is none."""

    name: str
    found: int
    known: int
    fault: str = ""
    """Why it cannot be used, in a sentence."""
    trial_seconds: float | None = None
    """How long bringing a copy of it forward took."""

    @property
    def behind(self) -> bool:
        """Whether it has to be brought forward."""
        return not self.fault and 0 < self.found < self.known


def look(home: Path) -> tuple[Standing, ...]:
    """Look at a home's databases, and try on a copy what would have to be done to them."""
    return tuple(_look(home / name, migrations) for name, migrations in _FILES)


def main(home: Path, *, check: bool) -> int:
    """Run the command: 0 when this release can take up the home, or has."""
    standings = look(home)
    lines = [_told(each) for each in standings]
    lines += [f"settings: {problem}" for problem in _settings_problems(home)]
    sound = not any(each.fault for each in standings)
    behind = any(each.behind for each in standings)
    if sound and behind and not check:
        try:
            with home_lock(home):
                asyncio.run(_bring_forward(home))
        except SafeError as error:
            lines.append(error.safe_message)
            sound = False
        else:
            lines += [
                f"{each.name}: done; as it was, it is in {_copy_name(home, each)}"
                for each in standings
                if each.behind and each.name == DATABASE_FILE
            ]
    else:
        lines.append(_verdict(sound=sound, behind=behind))
    print("\n".join(lines), file=sys.stdout if sound else sys.stderr)
    return 0 if sound else 1


def _look(path: Path, migrations: Sequence[Migration]) -> Standing:
    known = migrations[-1].number
    if not path.is_file():
        return Standing(name=path.name, found=0, known=known)
    found = 0
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            found = schema_of(db)
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise StoreDamaged("quick_check", name=path.name)
            if found > known:
                raise StoreTooNew(found=found, known=known, name=path.name)
            seconds = _try_on_copy(db, path, migrations) if 0 < found < known else None
    except SafeError as error:
        return Standing(name=path.name, found=found, known=known, fault=error.safe_message)
    except (sqlite3.Error, OSError) as error:
        name = getattr(error, "sqlite_errorname", "") or type(error).__name__
        fault = f"{path.name} could not be looked at or brought forward ({name})."
        return Standing(name=path.name, found=found, known=known, fault=fault)
    return Standing(name=path.name, found=found, known=known, trial_seconds=seconds)


def _try_on_copy(db: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> float:
    """Bring a copy forward and check it; it lies in the home, and is gone afterwards.

    Raises:
        sqlite3.Error: it does not work.
        OSError: there is no room for a copy.
    """
    with tempfile.TemporaryDirectory(prefix=".upgrade-", dir=path.parent) as folder:
        copy = Path(folder) / path.name
        copy_database(db, copy)
        with closing(sqlite3.connect(copy, isolation_level=None)) as tried:
            began = time.monotonic()
            migrate(tried, now=timestamp(SystemClock().utc_now()), migrations=migrations)
            seconds = time.monotonic() - began
            (verdict,) = tried.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok" or tried.execute("PRAGMA foreign_key_check").fetchone():
                raise sqlite3.DatabaseError("the copy is unsound afterwards")
    return seconds


async def _bring_forward(home: Path) -> None:
    clock = SystemClock()
    for name, migrations in _FILES:
        if (home / name).is_file():
            database = open_database(
                home / name,
                clock=clock,
                patience_seconds=PATIENCE_SECONDS,
                migrations=migrations,
                durable=name == KEYS_FILE,
                copied=name != KEYS_FILE,
            )
            async with database:
                pass


def _settings_problems(home: Path) -> tuple[str, ...]:
    try:
        load_settings(home, os.environ)
    except ConfigError as error:
        return tuple(str(problem) for problem in error.problems)
    return ()


def _told(standing: Standing) -> str:
    if standing.fault:
        return standing.fault
    if not standing.found:
        return f"{standing.name}: none yet; the next start makes it"
    if not standing.behind:
        return f"{standing.name}: schema {standing.found}, as this release wants it"
    return (
        f"{standing.name}: schema {standing.found}, this release has {standing.known}; tried on a "
        f"copy, it is brought forward in {standing.trial_seconds or 0:.1f} s"
    )


def _copy_name(home: Path, standing: Standing) -> str:
    return copy_of(home / standing.name, standing.found).relative_to(home).as_posix()


def _verdict(*, sound: bool, behind: bool) -> str:
    if not sound:
        return "This release cannot take up that home. Nothing was changed."
    if behind:
        return "The next start brings it forward, and keeps a copy first. Nothing was changed."
    return "Nothing has to be done."
