"""``/sessions``: what is warm, and ending it."""

from __future__ import annotations

import asyncio
from typing import Final

import discord
from discord import app_commands
from discord.ext import commands

from bot import ingress
from bot.errors import Refused
from bot.follow_up import follow_up
from bot.names import DiscordNames
from bot.permissions import is_owner, owner_only
from bot.runs.forms import bare_id
from compiler.request import ChannelId
from config.load import LiveConfig
from sessions.registry import Registry
from sessions.view import SessionView

MAX_LISTED: Final = 15
MAX_CHOICES: Final = 25  # Discord's
END_SECONDS: Final = 60.0
"""How long a command waits for the end of a session whose turn is running."""
NOT_A_CHANNEL: Final = "That is no channel id. Leave the option out to mean this channel."
STILL_RUNNING: Final = "It will end as soon as its running turn has."


@owner_only
class SessionsCog(commands.GroupCog, group_name="sessions", group_description="Warm conversations"):
    """Listing and ending sessions."""

    def __init__(self, live: LiveConfig, registry: Registry) -> None:
        self._live = live
        self._registry = registry

    @app_commands.command(name="list")
    async def list_sessions(self, interaction: discord.Interaction) -> None:
        """Show all warm sessions."""
        await interaction.response.defer(ephemeral=True)
        views = self._registry.views()
        lines = [line_of(view) for view in views[:MAX_LISTED]]
        if len(views) > MAX_LISTED:
            lines.append(f"... and {len(views) - MAX_LISTED} more")
        await follow_up(
            interaction,
            "\n".join(lines) or "No session is warm. A message starts one.",
            ephemeral=True,
        )

    @app_commands.command()
    @app_commands.describe(channel="A channel id; this channel when left out")
    async def show(self, interaction: discord.Interaction, channel: str | None = None) -> None:
        """Show the session of a channel."""
        await interaction.response.defer(ephemeral=True)
        channel_id = _channel_id(interaction, channel)
        found = [view for view in self._registry.views() if view.channel_id == channel_id]
        await follow_up(
            interaction,
            "\n\n".join(map(details_of, found)) or f"No session is warm in {_mention(channel_id)}.",
            ephemeral=True,
        )

    @app_commands.command()
    @app_commands.describe(channel="A channel id; this channel when left out")
    async def reset(self, interaction: discord.Interaction, channel: str | None = None) -> None:
        """End a session after its running turn; the next message starts afresh."""
        await interaction.response.defer(ephemeral=True)
        channel_id = _channel_id(interaction, channel)
        try:
            async with asyncio.timeout(END_SECONDS):
                was_there = await self._registry.reset(channel_id)
        except TimeoutError:
            await follow_up(interaction, STILL_RUNNING, ephemeral=True)
            return
        told = "The session has ended; the next message starts a fresh one."
        await follow_up(
            interaction,
            told if was_there else f"No session is warm in {_mention(channel_id)}.",
            ephemeral=True,
        )

    @app_commands.command()
    @app_commands.describe(channel="A channel id; this channel when left out")
    async def stop(self, interaction: discord.Interaction, channel: str | None = None) -> None:
        """Stop what runs and waits in a channel, now."""
        await interaction.response.defer(ephemeral=True)
        channel_id = _channel_id(interaction, channel)
        try:
            async with asyncio.timeout(END_SECONDS):
                was_there = await self._registry.stop(channel_id)
        except TimeoutError:
            await follow_up(interaction, STILL_RUNNING, ephemeral=True)
            return
        told = "Stopped. Whoever waited for an answer is told."
        await follow_up(
            interaction,
            told if was_there else f"Nothing runs in {_mention(channel_id)}.",
            ephemeral=True,
        )

    @show.autocomplete("channel")
    @reset.autocomplete("channel")
    @stop.autocomplete("channel")
    async def _channels(
        self, interaction: discord.Interaction, current: str
    ) -> list[app_commands.Choice[str]]:
        if not is_owner(interaction.user.id, self._live.current):
            return []
        names = {
            bare_id(view.channel_id): _name(interaction, view) for view in self._registry.views()
        }
        return [
            app_commands.Choice(name=name[:100], value=value)
            for value, name in names.items()
            if current.lower() in name.lower() or current in value
        ][:MAX_CHOICES]


def line_of(view: SessionView) -> str:
    """Describe a session in one line; ids and counts only."""
    place = "DM" if view.is_dm else _mention(view.channel_id)
    waiting = f", {view.queued} waiting" if view.queued else ""
    return (
        f"{place} `{view.imp}` **{view.state.value}**, {_turns(view.turns)}{waiting}, "
        f"quiet for {_time(view.quiet_seconds)}"
    )


def details_of(view: SessionView) -> str:
    """Describe a session in full."""
    rows = (
        ("imp", view.imp),
        ("state", view.state.value),
        ("run", view.run_id or "not begun"),
        ("turns", str(view.turns)),
        ("waiting", str(view.queued)),
        ("quiet for", _time(view.quiet_seconds)),
        ("process", "alive" if view.has_process else "none; the next message starts one"),
    )
    table = "\n".join(f"{name:<10}{value}" for name, value in rows)
    return f"{'Direct message' if view.is_dm else _mention(view.channel_id)}\n```\n{table}\n```"


def _channel_id(interaction: discord.Interaction, given: str | None) -> ChannelId:
    digits = str(interaction.channel_id) if given is None else bare_id(given.strip())
    digits = digits.removeprefix("<#").removesuffix(">")
    if not digits.isdecimal() or not digits.isascii():
        raise Refused(NOT_A_CHANNEL)
    return ChannelId(ingress.prefixed(int(digits[:20])))


def _mention(channel_id: str) -> str:
    return f"<#{bare_id(channel_id)}>"


def _name(interaction: discord.Interaction, view: SessionView) -> str:
    number = f"{'direct message ' if view.is_dm else '#'}{bare_id(view.channel_id)}"
    return DiscordNames(interaction.client).channel(view.channel_id) or number


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"  # noqa: PLR2004
