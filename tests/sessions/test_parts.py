"""The parts of a home, put together once."""

from __future__ import annotations

from pathlib import Path

from sessions.clock import SystemClock
from sessions.limits import SessionLimits
from sessions.parts import SessionParts
from support.session_world import session_world


async def test_the_real_clock_is_used_unless_another_is_given(tmp_path: Path) -> None:
    """Composition roots name a clock only in tests."""
    async with session_world(tmp_path) as world:
        parts = SessionParts.over(
            home=tmp_path,
            database=world.database,
            engine=world.engine,
            engine_settings=world.parts.engine_settings,
            budgets=world.parts.budgets,
            limits=SessionLimits(),
        )
        assert isinstance(parts.clock, SystemClock)
        assert world.parts.clock is world.clock
