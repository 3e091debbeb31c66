"""``/state``: the house rules of a conversation, to look at and to change.

Changes are built as the canonical directive and take the same way as a message's, so rules and
prompts are the same (``sessions.house.keeper``). Everybody in the conversation may look; who may
change is asked before anything else. Looking is for the one who asks, a change is for all to see.
"""

from __future__ import annotations

import asyncio
import io
from typing import Final, Literal, TypeAlias

import discord
from discord import app_commands
from discord.ext import commands

from bot.errors import Refused
from bot.follow_up import follow_up
from bot.permissions import for_everyone
from bot.place import Standing, may_set_rules, standing_of
from bot.runs.forms import bare_id
from bot.state_text import history_text, rules_text
from compiler.directives.grammar import Keyword
from compiler.request import Role
from config.load import LiveConfig
from config.settings import DirectiveMode
from sessions.house.keeper import RuleKeeper
from sessions.house.ruling import NOT_TRUSTED

Operand: TypeAlias = app_commands.Range[str, 1, 1500]
"""A clarify repeats it, and has to fit a message."""
SWITCHED_OFF: Final = "House rules are switched off here; those that stand go on to hold."
KEEPERS_ONLY: Final = "Only my owner and administrators can do this."
FILE_TOO_LARGE: Final = "The checkpoint was not imported: the file is too large. Nothing changed."
FILE_UNREADABLE: Final = "The file could not be fetched from Discord. Nothing changed."
EXPORT_FILE: Final = "house-rules.json"
LISTED_EVENTS: Final = 15
MAX_CONTENT: Final = 2000
FETCH_SECONDS: Final = 30.0
_CLEARS: Final = {"premise": Keyword.CLEAR_PREMISE, "everything": Keyword.CLEAR_STATE}


class StateCog(commands.Cog):
    """The commands; ``rules`` keeps."""

    state = for_everyone(
        app_commands.Group(name="state", description="House rules of this conversation")
    )

    def __init__(self, live: LiveConfig, rules: RuleKeeper) -> None:
        self._live = live
        self._rules = rules

    @state.command()
    async def show(self, interaction: discord.Interaction) -> None:
        """Show the house rules here: who set each, and when."""
        place = standing_of(interaction, self._live)
        await interaction.response.defer(ephemeral=True)
        kept = await self._rules.rules(place.scope)
        parent = place.scope.parent_channel_id
        text = rules_text(
            kept,
            guild_id=interaction.guild_id,
            channel_id=interaction.channel_id or 0,
            parent_id=None if parent is None else int(bare_id(parent)),
        )
        await _say(interaction, text, file_name="house-rules.txt")

    @state.command()
    async def history(self, interaction: discord.Interaction) -> None:
        """Show what happened to the house rules here."""
        place = standing_of(interaction, self._live)
        await interaction.response.defer(ephemeral=True)
        channel_id = place.scope.channel_id
        events = await self._rules.events(channel_id, LISTED_EVENTS) if channel_id else ()
        await _say(interaction, history_text(events), file_name="history.txt")

    @state.command(name="set")
    @app_commands.describe(premise="What everything here starts from")
    async def set_premise(self, interaction: discord.Interaction, premise: Operand) -> None:
        """Set the premise, where there is none yet."""
        await self._change(interaction, f"{Keyword.SET_PREMISE} {premise}")

    @state.command(name="change")
    @app_commands.describe(premise="What everything here starts from now")
    async def change_premise(self, interaction: discord.Interaction, premise: Operand) -> None:
        """Change the premise, where there is one."""
        await self._change(interaction, f"{Keyword.CHANGE_PREMISE} {premise}")

    @state.command()
    @app_commands.describe(item="What to use")
    async def use(self, interaction: discord.Interaction, item: Operand) -> None:
        """Put an item in use."""
        await self._change(interaction, f"{Keyword.USE} {item}")

    @state.command()
    @app_commands.describe(item="What not to use")
    async def prohibit(self, interaction: discord.Interaction, item: Operand) -> None:
        """Prohibit an item; a tool of that name is closed here."""
        await self._change(interaction, f"{Keyword.PROHIBIT} {item}")

    @state.command()
    @app_commands.describe(item="What is no longer a rule")
    async def remove(self, interaction: discord.Interaction, item: Operand) -> None:
        """Remove an item, used or prohibited."""
        await self._change(interaction, f"{Keyword.REMOVE_POLICY} {item}")

    @state.command()
    @app_commands.describe(new="What to use from now on", old="What is in use until now")
    async def replace(self, interaction: discord.Interaction, new: Operand, old: Operand) -> None:
        """Use an item instead of another."""
        await self._change(interaction, f"{Keyword.USE} {new} instead of {old}")

    @state.command()
    @app_commands.describe(what="The premise alone, or all rules with it")
    async def clear(
        self, interaction: discord.Interaction, what: Literal["premise", "everything"]
    ) -> None:
        """Clear the premise, or all house rules."""
        await self._change(interaction, _CLEARS[what])

    @state.command()
    async def reset(self, interaction: discord.Interaction) -> None:
        """Remove all items, and keep the premise."""
        await self._change(interaction, Keyword.RESET_POLICIES)

    @state.command()
    async def undo(self, interaction: discord.Interaction) -> None:
        """Take back the last change."""
        place = self._changer(interaction)
        await interaction.response.defer()
        ruling = await self._rules.undo(place.scope, place.imp)
        await follow_up(interaction, ruling.text)

    @state.command()
    async def export(self, interaction: discord.Interaction) -> None:
        """Give the house rules here as a checkpoint file."""
        place = self._keeper(interaction)
        await interaction.response.defer(ephemeral=True)
        text = await self._rules.export_checkpoint(place.scope)
        file = discord.File(io.BytesIO(text.encode()), filename=EXPORT_FILE)
        await follow_up(
            interaction,
            "Put it back, here or elsewhere, with `/state import`.",
            file=file,
            ephemeral=True,
        )

    @state.command(name="import")
    @app_commands.describe(file="A checkpoint file; it replaces all house rules here")
    async def import_file(self, interaction: discord.Interaction, file: discord.Attachment) -> None:
        """Replace all house rules here by those of a checkpoint file."""
        place = self._keeper(interaction)
        if place.here.directives is DirectiveMode.OFF:
            raise Refused(SWITCHED_OFF)
        if file.size > self._rules.import_limit_bytes(place.imp):
            raise Refused(FILE_TOO_LARGE)
        await interaction.response.defer()
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                data = await file.read()
        except (discord.HTTPException, TimeoutError):
            await follow_up(interaction, FILE_UNREADABLE)
            return
        ruling = await self._rules.import_checkpoint(place.scope, place.imp, data)
        await follow_up(interaction, ruling.text)

    async def _change(self, interaction: discord.Interaction, directive: str) -> None:
        place = self._changer(interaction)
        await interaction.response.defer()
        ruling = await self._rules.command(place.scope, place.imp, directive)
        await follow_up(interaction, ruling.text)

    def _changer(self, interaction: discord.Interaction) -> Standing:
        """Admit those whom the place trusts."""
        place = standing_of(interaction, self._live)
        if not may_set_rules(place.scope.role, place.here, is_dm=place.scope.is_dm):
            raise Refused(NOT_TRUSTED)
        if place.here.directives is DirectiveMode.OFF:
            raise Refused(SWITCHED_OFF)
        return place

    def _keeper(self, interaction: discord.Interaction) -> Standing:
        """Admit owners and administrators."""
        place = standing_of(interaction, self._live)
        if place.scope.role not in {Role.OWNER, Role.ADMIN}:
            raise Refused(KEEPERS_ONLY)
        return place


async def _say(interaction: discord.Interaction, text: str, *, file_name: str) -> None:
    if len(text) <= MAX_CONTENT:
        await follow_up(interaction, text, ephemeral=True, suppress_embeds=True)
        return
    file = discord.File(io.BytesIO(text.encode()), filename=file_name)
    await follow_up(interaction, "It is long, so here is a file.", file=file, ephemeral=True)
