"""The crash drill, small: the bot as a process, killed at random moments under load."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from bot.drill.world import Drill, _processes_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SEED = 5
KILLS = 2


async def test_kills_lose_nothing_double_nothing_and_hide_nothing(tmp_path: Path) -> None:
    """P06, P04, P24 and issue "Figures": 0 lost, 0 doubled, 0 model inputs without a trace."""
    account = await Drill(tmp_path, kills=KILLS, seed=SEED, channels=2).run()
    assert account.kills == KILLS
    assert account.sent
    assert account.holds, dict(account.figures())
    assert account.other() == []


async def test_a_process_that_outlives_its_host_is_counted(tmp_path: Path) -> None:
    """P23: whatever works in the home after the last host has ended."""
    assert _processes_of(tmp_path) == 0
    left = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", str(tmp_path / "runs"), stdin=asyncio.subprocess.PIPE
    )
    try:
        assert _processes_of(tmp_path) == 1
    finally:
        left.kill()
        await left.wait()
    assert _processes_of(tmp_path) == 0
