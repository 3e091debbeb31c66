"""``/cache``: how much the provider's cache saves, and what broke it; for the owner."""

from __future__ import annotations

import io
from functools import partial
from typing import Final

import discord
from discord import app_commands
from discord.ext import commands

from bot.cache_text import cache_text
from bot.charts.attached import drawn
from bot.charts.cache_chart import cache_chart
from bot.client import Interaction
from bot.follow_up import follow_up
from bot.permissions import owner_only
from bot.runs.book import RunBook
from bot.split import LIMIT_UNITS, count_units

SESSIONS: Final = 20
"""Sessions in one report: what fits a screen or two."""


class CacheCog(commands.Cog):
    """One command; ``book`` reads."""

    def __init__(self, book: RunBook) -> None:
        self._book = book

    @app_commands.command()
    @app_commands.describe(run="One run's id; without it, the latest sessions")
    @owner_only
    async def cache(self, interaction: Interaction, run: str | None = None) -> None:
        """How much the model read from its provider's cache, and what broke it."""
        await interaction.response.defer(ephemeral=True)
        report = await self._book.cache(SESSIONS, run=run)
        text, pictures = cache_text(report), await drawn(partial(cache_chart, report))
        block = f"```\n{text}\n```"
        if count_units(block) <= LIMIT_UNITS:
            await follow_up(interaction, block, files=pictures, ephemeral=True)
            return
        head = text.split("\n\n", 1)[0]
        file = discord.File(io.BytesIO(text.encode()), "cache.txt")
        await follow_up(interaction, f"```\n{head}\n```", files=[*pictures, file], ephemeral=True)
