"""Connections that begin, and what each of them has missed."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

import discord
import structlog
from discord.ext import commands

from bot.client import InglenookBot
from bot.logs import describe
from bot.threshold import Receiver, Threshold

JUST_NOW: Final = timedelta(minutes=1)
"""Who joined a server so lately has missed nothing there."""
_log = structlog.get_logger(__name__)


class Connection(commands.Cog):
    """Listens to the connection itself."""

    def __init__(
        self,
        bot: InglenookBot,
        *,
        threshold: Threshold,
        receiver: Receiver,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._bot = bot
        self._threshold = threshold
        self._receiver = receiver
        self._tasks = tasks

    @commands.Cog.listener()
    async def on_shard_connect(self, _shard_id: int) -> None:
        """Note a connection that begins afresh, ahead of its first message.

        A resumed one replays what it missed and does not come here.
        """
        self._threshold.catch_up.begin()

    @commands.Cog.listener()
    async def on_ready(self) -> None:
        """Read what was missed, once the servers and their channels are known."""
        if not self._threshold.catch_up.closed:
            self._tasks.create_task(self._sweep(), name="sweep")

    @commands.Cog.listener()
    async def on_guild_available(self, _guild: discord.Guild) -> None:
        """Read what was missed in a server that was not to be had when the others were."""
        await self.on_ready()

    @commands.Cog.listener()
    async def on_guild_join(self, guild: discord.Guild) -> None:
        """See to a server that READY did not name though we are in it for long."""
        joined_at = getattr(guild.me, "joined_at", None)  # Discord may leave us out as well
        if joined_at is None or discord.utils.utcnow() - joined_at > JUST_NOW:
            await self.on_ready()

    async def _sweep(self) -> None:
        try:
            await self._threshold.sweep(self._bot, self._receiver)
        except Exception as error:  # noqa: BLE001  (logged; the conversations go on)
            _log.error("catch_up.broken", **describe(error))
