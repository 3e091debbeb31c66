"""Whether the bot is well: each part that has to work is tried, and told in plain words.

Alive is a host that answers and has not begun to close. Ready is one that could answer a message
right now: it can write to its database and its disk, and Discord is connected. A trial changes
nothing that lasts, and is bounded in time; two that are asked for at once share one.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.homedir import DATABASE_FILE
from sessions.errors import StoreUnavailable
from sessions.store.database import Database

TRIAL_SECONDS: Final = 2.0
"""Longer than this, and a part is as good as not there."""
LOCK_SECONDS: Final = 1.0
_PROBE: Final = ".health"
_PROBE_BYTES: Final = 4096
"""As much as a block, so that a full disk shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part that has to work; ``reason`` is empty while it does."""

    name: str
    reason: str = ""

    @property
    def works(self) -> bool:
        """Whether it does."""
        return not self.reason


class Health:
    """Tries what the bot needs.

    Args:
        home: where traces are written.
        database: the open database.
        connected: whether Discord is connected.
        closing: whether the host takes no more turns.
    """

    def __init__(
        self,
        home: Path,
        database: Database,
        *,
        connected: Callable[[], bool],
        closing: Callable[[], bool],
    ) -> None:
        self._home = home
        self._database = database
        self._connected = connected
        self._closing = closing
        self._trial = asyncio.Lock()

    def alive(self) -> Part:
        """Tell whether the host is there to stay."""
        return Part(name="host", reason="it is stopping" if self._closing() else "")

    async def ready(self) -> tuple[Part, ...]:
        """Try all parts, one caller after the other."""
        async with self._trial:
            database = await _bounded(self._try_database)
            disk = await _bounded(self._try_disk)
        return (
            self.alive(),
            Part(name="database", reason=database),
            Part(name="disk", reason=disk),
            Part(name="discord", reason="" if self._connected() else "not connected"),
        )

    async def _try_database(self) -> str:
        try:
            await self._database.read(_ask)
        except StoreUnavailable as error:
            return f"cannot be read ({error.facts.get('reason', 'unavailable')})"
        # By a connection of its own: waiting for somebody's lock, it holds up nobody here.
        return await asyncio.to_thread(_take_lock, self._home / DATABASE_FILE)

    async def _try_disk(self) -> str:
        return await asyncio.to_thread(_write_probe, self._home / _PROBE)


def describe(parts: tuple[Part, ...]) -> Mapping[str, object]:
    """Give the parts as JSON tells them."""
    return {
        "ok": all(part.works for part in parts),
        "parts": {part.name: part.reason or "ok" for part in parts},
    }


async def _bounded(trial: Callable[[], Awaitable[str]]) -> str:
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            return await trial()
    except TimeoutError:
        return f"no answer within {TRIAL_SECONDS:g} seconds"


def _ask(db: sqlite3.Connection) -> None:
    db.execute("SELECT 1 FROM runs LIMIT 1").fetchone()


def _take_lock(path: Path) -> str:
    """Take the lock for writing, and change nothing."""
    try:
        with closing(sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
    except sqlite3.Error as error:
        return f"cannot be written ({error.sqlite_errorname.removeprefix('SQLITE_').lower()})"
    return ""


def _write_probe(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, b"\0" * _PROBE_BYTES)
        finally:
            os.close(descriptor)
            path.unlink()
    except OSError as error:
        return f"cannot be written ({os.strerror(error.errno or 0).lower()})"
    return ""
