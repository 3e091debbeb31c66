"""``/usage`` and ``/whoami``: everybody about himself, and the owner about all that was spent.

All answers are ephemeral, and of somebody else an answer holds nothing: whose figures are read is
the id of the person who asks, as Discord tells it. Only an owner's ``/usage`` goes on to everybody.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Final, TypeAlias

import discord
from discord import app_commands
from discord.ext import commands

from bot.charts.attached import drawn
from bot.charts.usage_chart import usage_chart
from bot.client import InglenookBot, Interaction
from bot.errors import Refused
from bot.follow_up import follow_up
from bot.memory import texts as memory_texts
from bot.memory.desk import context_of
from bot.names import DiscordNames
from bot.permissions import for_everyone, is_owner
from bot.place import standing_of
from bot.runs.forms import bare_id
from bot.usage_text import Person, own_usage_text, whoami_text, whole_usage_text
from compiler.errors import SafeError
from compiler.request import Role, UserId
from sessions.allowance import Spender
from sessions.memory.results import NoteState
from sessions.memory.rules import MemoryContext
from sessions.memory.service import MemoryService
from sessions.store.kept import KeptStore
from sessions.usage_book import MAX_DAYS, UsageBook

Days: TypeAlias = app_commands.Range[int, 1, MAX_DAYS]
DAYS: Final = 30
MAX_CONTENT: Final = 2_000
NO_MEMORY: Final = "My memory is off: I note nothing, and use no notes."


class UsageCog(commands.Cog):
    """The commands; ``book`` and ``kept`` read."""

    def __init__(
        self,
        bot: InglenookBot,
        *,
        book: UsageBook,
        kept: KeptStore,
        memory: MemoryService,
    ) -> None:
        self._names = DiscordNames(bot)
        self._live = bot.live
        self._book = book
        self._kept = kept
        self._memory = memory

    @for_everyone
    @app_commands.command(description="What you used of my model, and what is left for today.")
    @app_commands.describe(days="How many days the longest sum covers; 30 if you leave it out")
    async def usage(self, interaction: Interaction, days: Days = DAYS) -> None:
        """Tell a person's sums; an owner all of them as well."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        ctx = context_of(interaction, self._live)
        own = own_usage_text(await self._book.own(Spender.of(ctx.imp, ctx.scope), days))
        if not is_owner(interaction.user.id, self._live.current):
            await follow_up(interaction, own, ephemeral=True)
            return
        whole = await self._book.whole(days)
        table = whole_usage_text(whole, self._name)
        content = f"{own}\n**Everybody, last {len(whole.days)} days**\n```\n{table}\n```"
        files = []
        if whole.total.calls:
            names = {channel: self._name(channel) for channel, _ in whole.conversations}
            files += await drawn(partial(usage_chart, whole, names.__getitem__))
        if len(content) > MAX_CONTENT:
            files.append(discord.File(io.BytesIO(table.encode()), "usage.txt"))
            head = table.partition("\n\n")[0].splitlines()[-1]
            content = f"{own}\n**Everybody, last {len(whole.days)} days**\n```\n{head}\n```"
        await follow_up(interaction, content, files=files, ephemeral=True)

    @for_everyone
    @app_commands.command(description="Who you are to me, and what I keep of you.")
    async def whoami(self, interaction: Interaction) -> None:
        """Tell a person's tier, and what is kept of him, in counts."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        ctx = context_of(interaction, self._live)
        scope = ctx.scope
        answered = True
        try:
            standing_of(interaction, self._live)
        except Refused:
            answered = False
        states, hint = await self._notes(ctx, answered=answered)
        person = Person(
            role=Role.OWNER if is_owner(interaction.user.id, self._live.current) else scope.role,
            imp=ctx.imp,
            answered=answered,
            notes=states,
            notes_hint=hint,
            kept=await self._kept.of_person(scope.user_id or UserId(""), scope.channel_id),
            usage=await self._book.own(Spender.of(ctx.imp, scope), DAYS),
        )
        await follow_up(interaction, whoami_text(person), ephemeral=True)

    async def _notes(
        self, ctx: MemoryContext, *, answered: bool
    ) -> tuple[tuple[NoteState, ...] | None, str]:
        """Count the person's notes, and say what may be remembered here."""
        try:
            own = await self._memory.list_own(ctx)
            consent = await self._memory.consent(ctx)
        except SafeError as error:  # the keys of the notes are away, say
            return None, error.safe_message
        states = tuple(note.state for note in own.notes)
        if not answered:
            return states, ""
        hint = memory_texts.consent_text(consent) if self._memory.enabled else NO_MEMORY
        return states, hint

    def _name(self, channel_id: str) -> str:
        """Name a conversation by what the connection knows; else by its number."""
        return self._names.channel(channel_id) or f"channel {bare_id(channel_id)}"
