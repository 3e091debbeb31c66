"""Pointing discord.py elsewhere, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from discord.gateway import DiscordWebSocket
from discord.http import Route

from bot.playground.pointing import pointed_at

if TYPE_CHECKING:
    from bot.playground.server import Playground


async def test_both_addresses_come_back(pg: Playground) -> None:
    """Also when the block fails."""
    before = (Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY)

    def fail() -> None:
        with pointed_at(pg):
            assert pg.api_base == Route.BASE
            assert str(DiscordWebSocket.DEFAULT_GATEWAY) == pg.gateway_address
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert before == (Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY)
