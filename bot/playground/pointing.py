"""Point discord.py at a playground and back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.playground.server import Playground


@contextlib.contextmanager
def pointed_at(playground: Playground) -> Iterator[None]:
    """Let every discord.py client in this process talk to a playground.

    Both addresses are class attributes of discord.py. The gateway's is needed as well: a plain
    client never asks for it, and even a sharded one falls back to it after op 9.
    """
    base, gateway = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    Route.BASE = playground.api_base
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(playground.gateway_address)
    try:
        yield
    finally:
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = base, gateway
