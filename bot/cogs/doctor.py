"""``/doctor``: the checks of the shell's ``doctor``, for a bot that runs."""

from __future__ import annotations

import asyncio
import io
from typing import Final

import discord
from discord import app_commands
from discord.ext import commands

from bot.doctor import examine, render_text
from bot.follow_up import follow_up
from bot.permissions import owner_only
from bot.split import LIMIT_UNITS, count_units
from config.load import LiveConfig

EXAMINE_SECONDS: Final = 120.0
"""All checks together; one of them is a tiny turn of the model."""


class DoctorCog(commands.Cog):
    """One command."""

    def __init__(self, live: LiveConfig) -> None:
        self._live = live

    @app_commands.command()
    @owner_only
    async def doctor(self, interaction: discord.Interaction) -> None:
        """Check everything that the bot needs, and say what to do."""
        await interaction.response.defer(ephemeral=True)
        async with asyncio.timeout(EXAMINE_SECONDS):
            report = await examine(self._live.home, self._live.variables, live=self._live)
        text = f"```\n{render_text(report)}\n```"
        if count_units(text) <= LIMIT_UNITS:
            await follow_up(interaction, text, ephemeral=True)
            return
        file = discord.File(io.BytesIO(render_text(report).encode()), "doctor.txt")
        await follow_up(interaction, report.conclusion, file=file, ephemeral=True)
