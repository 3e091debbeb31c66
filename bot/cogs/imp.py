"""``/imp``: who answers, where, and what an edit of the settings changed."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Iterable
from typing import Final

import discord
from discord import app_commands
from discord.ext import commands

from bot.follow_up import follow_up
from bot.imp_text import ImpRow, imps_text, reload_text
from bot.ingress import PROVIDER
from bot.permissions import owner_only
from compiler.request import ImpName, Place, RunScope, TextSource, UnreadableSource
from config.imp_files import imp_names
from config.load import LiveConfig
from sessions.sources import Sources, engine_identity

IDENTITY_FILE: Final = "identity.md"

MAX_CHARS: Final = 1_900
"""Of an answer; Discord takes 2,000."""


@owner_only
class ImpCog(commands.GroupCog, group_name="imp", group_description="Who answers"):
    """Showing imps, and reading their settings again."""

    def __init__(self, live: LiveConfig, sources: Sources) -> None:
        self._live = live
        self._sources = sources

    @app_commands.command(name="list")
    async def list_imps(self, interaction: discord.Interaction) -> None:
        """List the imps: their models, and where they answer."""
        await interaction.response.defer(ephemeral=True)
        names = await asyncio.to_thread(imp_names, self._live.shared)
        rows = [await self._row(name) for name in self._all(names)]
        await follow_up(interaction, self._shortened(imps_text(rows)), ephemeral=True)

    def _all(self, names: Iterable[str]) -> list[str]:
        """Add the imps that are named somewhere and have no folder: they cannot answer."""
        settings = self._live.current
        overlays = (*settings.channels.values(), *self._live.channel_overlays)
        named = {item.imp for item in overlays if item.imp is not None}
        return sorted({*names, *settings.imps, *named, settings.discord.imp})

    async def _row(self, name: str) -> ImpRow:
        settings = self._live.current
        engine = self._live.engine(name)
        nowhere = RunScope(provider=PROVIDER, place=Place.NONE)
        identity = engine_identity(engine, version="")
        read = await self._sources.read_start(ImpName(name), nowhere, identity)
        problem = ""
        if read.identity is None:
            problem = "no identity"
        elif isinstance(read.identity, UnreadableSource):
            problem = f"{read.identity.source}: {read.identity.reason}"
        return ImpRow(
            name=name,
            model=f"{engine.provider}/{engine.model}",
            places=self._live.places_of(name),
            is_default=name == settings.discord.imp,
            differs=name in settings.imps,
            problem=problem,
        )

    @app_commands.command()
    async def reload(self, interaction: discord.Interaction) -> None:
        """Read all settings again, and tell what changed and from when on it counts."""
        await interaction.response.defer(ephemeral=True)
        reload = await asyncio.to_thread(self._live.reload)
        text = reload_text(reload.problems, self._live.changes)
        await follow_up(interaction, self._shortened(text), ephemeral=True)

    @app_commands.command()
    async def show(self, interaction: discord.Interaction) -> None:
        """Show the imp of this channel: its identity, model and limits."""
        await interaction.response.defer(ephemeral=True)
        channel = interaction.channel
        parent = str(channel.parent_id) if isinstance(channel, discord.Thread) else None
        here = self._live.channel(
            str(interaction.channel_id), parent, is_dm=interaction.guild_id is None
        )
        nowhere = RunScope(provider=PROVIDER, place=Place.NONE)
        engine = engine_identity(self._live.engine(here.imp), version="")
        read = await self._sources.read_start(ImpName(here.imp), nowhere, engine)
        identity = read.identity
        table = self._table(here.imp, identity)
        if not isinstance(identity, TextSource):
            await follow_up(interaction, table, ephemeral=True)
            return
        file = discord.File(io.BytesIO(identity.text.encode()), IDENTITY_FILE)
        await follow_up(interaction, table, file=file, ephemeral=True)

    @staticmethod
    def _shortened(text: str) -> str:
        return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]} ..."

    def _table(self, imp: str, identity: TextSource | UnreadableSource | None) -> str:
        engine = self._live.engine(imp)
        limit = self._live.budgets(imp).identity_max_chars
        rows = [("imp", imp)]
        match identity:
            case TextSource():
                digest = hashlib.sha256(identity.text.encode()).hexdigest()
                rows += [
                    ("identity", identity.source),
                    ("size", f"{len(identity.text)} of {limit} characters"),
                    ("sha256", f"{digest[:16]}..."),
                ]
            case None:
                rows.append(("identity", "none"))
            case UnreadableSource():
                rows += [("identity", identity.source), ("problem", identity.reason)]
        rows += [
            ("model", f"{engine.provider}/{engine.model}"),
            ("preamble", engine.preamble),
            ("thinking", engine.thinking),
        ]
        table = "\n".join(f"{name:<10}{value}" for name, value in rows)
        return f"```\n{table}\n```An edit of the identity counts from the next session on."
