"""``/context preview``: what would be used somewhere for somebody, before anything happens."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TypeAlias

import discord
from discord import app_commands
from discord.ext import commands

from bot import ingress
from bot.client import Interaction
from bot.memory.desk import say
from bot.memory.preview_texts import preview_text
from bot.memory.texts import person_of
from bot.permissions import owner_only
from bot.place import place_facts, role_in, rules_of
from bot.wake import Wake, decide
from compiler.request import ImpName, RunScope
from config.load import LiveConfig
from sessions.parts import SessionParts
from sessions.preview import preview

Somewhere: TypeAlias = app_commands.AppCommandChannel | app_commands.AppCommandThread


@owner_only
class ContextCog(
    commands.GroupCog, group_name="context", group_description="What the imp would be given"
):
    """A look ahead, for owners; nothing is sent to a model and nothing is written down."""

    def __init__(self, live: LiveConfig, parts: SessionParts) -> None:
        self._live = live
        self._parts = parts

    @app_commands.command()
    @app_commands.rename(person="as", channel="in")
    @app_commands.describe(
        person="Whose message it would be",
        channel="Where; their direct messages when left out",
        message="What they would say; notes are ranked by it",
    )
    async def preview(
        self,
        interaction: Interaction,
        person: discord.User,
        channel: Somewhere | None = None,
        message: app_commands.Range[str, 1, 2_000] = "Hello",
    ) -> None:
        """Show what a message would be answered from, and what is left out and why."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        target = await self._target(person, channel)
        parent_id = _parent_of(channel)
        guild_id = None if channel is None else channel.guild_id
        settings = self._live.current
        here = self._live.channel(str(target), _text(parent_id), is_dm=channel is None)
        scope = ingress.place_scope(
            target,
            guild_id=guild_id,
            parent_id=parent_id,
            is_private=ingress.is_private_thread(channel),
            user_id=person.id,
            role=role_in(person, settings),
        )
        facts = place_facts(target, channel, guild_id=guild_id, user_id=person.id, user=person)
        facts = replace(facts, parent_id=_text(parent_id))
        found = await preview(self._parts, ImpName(here.imp), scope, text=message)
        told = preview_text(
            found,
            who=person_of(str(scope.user_id)),
            where=_place(scope),
            answers=decide(facts, rules_of(settings, here)) is Wake.ANSWER,
        )
        files = [
            discord.File(io.BytesIO((found.start.system_prompt).encode()), "system.md"),
            discord.File(io.BytesIO((found.turn.input_prompt or "").encode()), "input.md"),
        ]
        await say(interaction, told, file_name="preview.txt", files=files)

    async def _target(self, person: discord.User, channel: Somewhere | None) -> int:
        if channel is not None:
            return channel.id
        return (person.dm_channel or await person.create_dm()).id


def _parent_of(channel: Somewhere | None) -> int | None:
    return channel.parent_id if isinstance(channel, app_commands.AppCommandThread) else None


def _place(scope: RunScope) -> str:
    if scope.is_dm:
        return "to me directly"
    return f"in <#{(scope.channel_id or '').rpartition(':')[2]}>"


def _text(snowflake: int | None) -> str | None:
    return None if snowflake is None else str(snowflake)
