"""``/stop``: what somebody asked for in a conversation ends at once."""

from __future__ import annotations

import discord
from discord import app_commands
from discord.ext import commands

from bot.permissions import for_everyone
from bot.place import standing_of
from bot.stop_word import told_of
from compiler.request import Role
from config.load import LiveConfig
from sessions.registry import Registry


class StopCog(commands.Cog):
    """The command; the word "stop" does the same (``cogs.conversation``)."""

    def __init__(self, live: LiveConfig, registry: Registry) -> None:
        self._live = live
        self._registry = registry

    @for_everyone
    @app_commands.command()
    async def stop(self, interaction: discord.Interaction) -> None:
        """Stop what you asked me for here; my owner stops everything."""
        place = standing_of(interaction, self._live)
        done = self._registry.interrupt(
            place.imp,
            place.scope,
            everyones=place.scope.role is Role.OWNER,
            drop=self._live.current.talk.on_stop == "drop",
        )
        await interaction.response.send_message(told_of(done), ephemeral=True)
