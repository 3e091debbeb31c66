"""Health: each part is tried for real, and told with its reason."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.metrics import health as module
from bot.metrics.health import Health, describe
from config.homedir import DATABASE_FILE
from sessions.clock import SystemClock
from sessions.store.database import Database, open_database
from support.session_world import BOUND_SECONDS, locked


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(
        tmp_path / DATABASE_FILE, clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as opened:
        yield opened


@pytest.fixture(autouse=True)
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each trial the time of a machine that stands still for a while."""
    monkeypatch.setattr(module, "TRIAL_SECONDS", BOUND_SECONDS)


def health(home: Path, database: Database, **over: bool) -> Health:
    return Health(
        home,
        database,
        connected=lambda: over.get("connected", True),
        closing=lambda: over.get("closing", False),
    )


def _names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208 - the same in one call


async def test_all_is_well(tmp_path: Path, database: Database) -> None:
    """Every part is named, and the trial leaves nothing behind."""
    before = _names(tmp_path)
    parts = await health(tmp_path, database).ready()
    assert describe(parts) == {
        "ok": True,
        "parts": {"host": "ok", "database": "ok", "disk": "ok", "discord": "ok"},
    }
    assert _names(tmp_path) == before


async def test_a_locked_database_is_named_and_passes(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P24: health is not ready while the lock is held, and recovers by itself."""
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.01)
    looked = health(tmp_path, database)
    with locked(tmp_path / DATABASE_FILE):
        told = {part.name: part.reason for part in await looked.ready()}
    assert told["database"] == "cannot be written (busy)"
    assert all(part.works for part in await looked.ready())


async def test_a_disk_that_takes_nothing_is_named(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full or read-only disk: not ready, with the system's own word."""
    monkeypatch.setattr(module, "_PROBE", "no-such-folder/probe")
    told = {part.name: part.reason for part in await health(tmp_path, database).ready()}
    assert told["disk"] == "cannot be written (no such file or directory)"
    assert told["database"] == ""


async def test_connection_and_end_of_the_host(tmp_path: Path, database: Database) -> None:
    """Without Discord it is alive and not ready; a host that closes is neither."""
    away = health(tmp_path, database, connected=False)
    assert away.alive().works
    assert [part.name for part in await away.ready() if not part.works] == ["discord"]
    leaving = health(tmp_path, database, closing=True)
    assert leaving.alive().reason == "it is stopping"
