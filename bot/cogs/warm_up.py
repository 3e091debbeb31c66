"""Sessions that start before the first message: while somebody types, or uses a command."""

from __future__ import annotations

import discord
from discord.ext import commands

from bot import ingress
from bot.client import InglenookBot
from bot.permissions import is_owner
from bot.reading import Reader
from bot.wake import Wake
from compiler.request import ImpName, Role
from sessions.registry import Registry


class WarmUp(commands.Cog):
    """Listens for people who are about to say something, where the owner wants that."""

    def __init__(self, bot: InglenookBot, *, registry: Registry, reader: Reader) -> None:
        self._live = bot.live
        self._registry = registry
        self._reader = reader

    @commands.Cog.listener()
    async def on_raw_typing(self, payload: discord.RawTypingEvent) -> None:
        """Start the session while somebody is still typing."""
        user = payload.user
        if not (user and user.bot):
            self._warm(payload.channel_id, payload.guild_id, payload.user_id, user)

    @commands.Cog.listener()
    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Start the session of a channel where somebody uses a command or a button."""
        if interaction.channel_id is not None:
            user = interaction.user
            self._warm(interaction.channel_id, interaction.guild_id, user.id, user)

    def _warm(
        self,
        channel_id: int,
        guild_id: int | None,
        user_id: int,
        user: discord.abc.User | None,
    ) -> None:
        """Warm up a conversation if this person's message there would be answered."""
        settings = self._live.current
        facts = self._reader.place_facts(channel_id, guild_id, user_id, user)
        here = self._reader.channel(facts)
        wanted = settings.warm_up.dm if guild_id is None else settings.warm_up.trusted
        if not wanted or not (guild_id is None or here.trusted):
            return
        if self._reader.wake(facts) is Wake.ANSWER:
            role = Role.OWNER if is_owner(user_id, settings) else Role.MEMBER
            self._registry.warm(
                ImpName(here.imp),
                ingress.place_scope(
                    channel_id,
                    guild_id=guild_id,
                    parent_id=None if facts.parent_id is None else int(facts.parent_id),
                    is_private=facts.in_private_thread,
                    user_id=user_id,
                    role=role,
                ),
            )
