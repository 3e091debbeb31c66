"""Channels, threads and servers that are gone for the bot: what runs there ends.

Nobody is left to read an answer, so no model is asked for one any more. What is owed there is given
up as any answer that Discord refuses for good: it goes nowhere else, and the owner is told.
"""

from __future__ import annotations

import discord
import structlog
from discord.ext import commands

from bot import ingress
from bot.lanes import Lanes
from compiler.request import ChannelId, GuildId
from sessions.registry import Registry

_log = structlog.get_logger(__name__)


class GonePlaces(commands.Cog):
    """Hears of places that end."""

    def __init__(self, registry: Registry, *, inward: Lanes) -> None:
        self._registry = registry
        self._inward = inward

    @commands.Cog.listener()
    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        """End what runs in a channel and in its threads, of which Discord tells nothing more."""
        await self._end_in_channel(channel.id)

    @commands.Cog.listener()
    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """End what runs in a thread."""
        await self._end_in_channel(payload.thread_id)

    @commands.Cog.listener()
    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """End what runs in a server that the bot was taken out of."""
        ended = self._registry.end_in_server(GuildId(ingress.prefixed(guild.id)))
        _log.info("place.gone", guild_id=ingress.prefixed(guild.id), sessions=ended)

    async def _end_in_channel(self, number: int) -> None:
        channel_id = ChannelId(ingress.prefixed(number))
        async with self._inward.lane(number):  # behind what was said there and is being read
            ended = self._registry.end_in_channel(channel_id)
        _log.info("place.gone", channel_id=channel_id, sessions=ended)
