"""Servers that come after the others; what was missed is proven end to end."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from unittest.mock import AsyncMock, Mock, create_autospec

import discord
import pytest

from bot.catch_up import CatchUp
from bot.client import InglenookBot
from bot.cogs.connection import Connection
from bot.threshold import Receiver, Threshold


def member(ago: timedelta) -> discord.Member:
    joined_at = discord.utils.utcnow() - ago
    return create_autospec(discord.Member, instance=True, joined_at=joined_at)  # type: ignore[no-any-return]  # a fake


@pytest.mark.parametrize(
    ("me", "sweeps"),
    [
        (member(timedelta(days=9)), 1),
        (member(timedelta(hours=-1)), 0),  # by Discord's clock, which this machine is behind
        (None, 1),
    ],
)
async def test_a_server_that_comes_late_is_looked_through_unless_it_is_new(
    me: discord.Member | None, sweeps: int
) -> None:
    """P05: READY may not name a server that we are in; who joined just now missed nothing."""
    threshold = create_autospec(Threshold, instance=True)
    threshold.catch_up = create_autospec(CatchUp, instance=True, closed=False)
    threshold.sweep = AsyncMock()
    async with asyncio.TaskGroup() as tasks:
        cog = Connection(
            create_autospec(InglenookBot, instance=True),
            threshold=threshold,
            receiver=Mock(spec=Receiver),
            tasks=tasks,
        )
        await cog.on_guild_join(create_autospec(discord.Guild, instance=True, me=me))
    assert threshold.sweep.await_count == sweeps
