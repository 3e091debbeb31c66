"""What most tests of sessions begin with: a world without a real engine, an empty database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sessions.store.database import Database, open_database
from support.session_world import BOUND_SECONDS, ManualClock, World, session_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Sessions over a fresh home, a scripted engine and a clock that stands still."""
    async with session_world(tmp_path) as made:
        yield made


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database of the newest form."""
    async with open_database(
        tmp_path / "inglenook.db", clock=ManualClock(), patience_seconds=BOUND_SECONDS
    ) as opened:
        yield opened
