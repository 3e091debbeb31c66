"""``/memory``: what the imp remembers of the person who asks, and how to make it go.

Everybody has these commands, for his own notes; a note of somebody else's and one that does not
exist get the same answer. All answers are ephemeral. An owner acts as the person that he is, but
for three things: he may look at anybody's notes, forget any of them, and write the imp's own.
"""

from __future__ import annotations

import io
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import discord
from discord import app_commands
from discord.ext import commands

from bot import ingress
from bot.client import InglenookBot, Interaction
from bot.errors import Refused, answer
from bot.follow_up import follow_up
from bot.memory import texts
from bot.memory.desk import Press, buttons, context_of, say, tell_forgotten
from bot.permissions import for_everyone, is_owner, owner_alone
from bot.place import standing_of
from compiler.audience import MemoryScope
from compiler.request import UserId
from config.load import LiveConfig
from sessions.memory.results import Kept, Listed, NotFound
from sessions.memory.results import Refused as NoteRefused
from sessions.memory.rules import MemoryContext
from sessions.memory.service import MemoryService
from sessions.store.consent import ConsentLevel, Purpose
from sessions.store.key_fault import KeysUnavailable

NoteText: TypeAlias = app_commands.Range[str, 1, 2_000]
NoteId: TypeAlias = app_commands.Range[str, 1, 32]
Days: TypeAlias = app_commands.Range[int, 1, 3_650]
ALL: Final = "all"
"""What to write in place of a note's id to have everything forgotten."""
LOST: Final = "lost"
"""For owners: the notes that cannot be opened any more."""
MAX_CHOICES: Final = 25  # Discord's
EXPORT_FILE: Final = "memory.json"


class MemoryCog(commands.Cog):
    """The commands; ``memory`` decides."""

    group = for_everyone(
        app_commands.Group(name="memory", description="What I remember of you, and how it goes.")
    )

    def __init__(self, bot: InglenookBot, *, memory: MemoryService) -> None:
        self._live: LiveConfig = bot.live
        self._memory = memory

    @group.command(name="list", description="Show what I remember of you.")
    @app_commands.describe(ended="Also what was replaced, has expired or was forgotten")
    async def list_notes(self, interaction: Interaction, *, ended: bool = False) -> None:
        """List the person's notes and those of the channel."""
        ctx = await self._begin(interaction)
        own, here = await self._memory.list_own(ctx), await self._memory.list_here(ctx)
        told = texts.list_text(own.notes, here.notes, ended=ended)
        await say(interaction, told, file_name="memory.txt")

    @group.command(description="Search what I remember of you.")
    @app_commands.describe(words="What to look for")
    async def search(self, interaction: Interaction, words: NoteText) -> None:
        """List the notes that fit, the best first."""
        ctx = await self._begin(interaction)
        found = await self._memory.search_own(ctx, words)
        told = "\n".join(map(texts.line_of, found.notes)) or "I remember nothing like that of you."
        await say(interaction, told, file_name="memory.txt")

    @group.command(description="Show one note with all that is known of it.")
    @app_commands.describe(note="The note's id")
    async def show(self, interaction: Interaction, note: NoteId) -> None:
        """Show a note and its versions."""
        ctx = await self._begin(interaction, as_owner=True)
        shown = await self._memory.show(ctx, note)
        if isinstance(shown, NotFound):
            await answer(interaction, shown.sentence)
            return
        versions = await self._memory.chain(ctx, note)
        chain = () if isinstance(versions, NotFound) else versions.notes
        await say(interaction, texts.detail_text(shown, chain), file_name="note.txt")

    @group.command(description="Have me remember something.")
    @app_commands.describe(
        text="What to remember",
        about="You, or this channel; in direct messages it is always you",
        pin="Keep it ahead of other notes",
        days="Forget it by itself after so many days",
        everywhere="For my owner: a note of mine that counts everywhere",
    )
    async def remember(
        self,
        interaction: Interaction,
        text: NoteText,
        about: Literal["me", "this channel"] = "me",
        *,
        pin: bool = False,
        days: Days | None = None,
        everywhere: bool = False,
    ) -> None:
        """Write a note by the person's own word."""
        ctx = await self._begin(interaction, as_owner=everywhere)
        standing_of(interaction, self._live)  # whom the imp does not answer, it keeps nothing for
        result = await self._memory.remember(
            ctx,
            text,
            explicit=True,
            pin=pin,
            expires=_in_days(days),
            scope=MemoryScope.IMP if everywhere else None,
            about_channel=about != "me",
        )
        await answer(interaction, texts.remembered_text(result))

    @group.command(description="Stand behind a note that I made.")
    @app_commands.describe(note="The note's id")
    async def confirm(self, interaction: Interaction, note: NoteId) -> None:
        """Make a note the person's own word."""
        ctx = await self._begin(interaction)
        result = await self._memory.confirm(ctx, note)
        await answer(interaction, texts.remembered_text(result))

    @group.command(description="Put a better text in the place of a note.")
    @app_commands.describe(note="The note's id", text="What it should say")
    async def correct(self, interaction: Interaction, note: NoteId, text: NoteText) -> None:
        """Replace a note by the person's own word."""
        ctx = await self._begin(interaction)
        result = await self._memory.correct(ctx, note, text)
        await answer(interaction, texts.remembered_text(result))

    @group.command(description="Keep a note ahead of the others, or no longer.")
    @app_commands.describe(note="The note's id", on="Whether it is to be ahead")
    async def pin(self, interaction: Interaction, note: NoteId, *, on: bool = True) -> None:
        """Set or take a note's pin."""
        ctx = await self._begin(interaction)
        result = await self._memory.pin(ctx, note, pinned=on)
        if isinstance(result, Kept):
            pinned = "is pinned" if on else "is no longer pinned"
            await answer(interaction, f"`{result.note.short_id}` {pinned}.")
        else:
            await answer(interaction, result.sentence)

    @group.command(description="Make a note go for good, or all of them.")
    @app_commands.describe(note="The note's id, or: all")
    async def forget(self, interaction: Interaction, note: NoteId) -> None:
        """Forget a note, with the proof; ask before all are forgotten."""
        if note.strip().casefold() == ALL:
            user = str(interaction.user.id)
            chosen = buttons((Press.FORGET_ALL, user), (Press.LEAVE_ALL, user))
            await interaction.response.send_message(texts.FORGET_ALL, view=chosen, ephemeral=True)
            return
        if note.strip().casefold() == LOST and is_owner(interaction.user.id, self._live.current):
            user = str(interaction.user.id)
            chosen = buttons((Press.FORGET_LOST, user), (Press.LEAVE_ALL, user))
            await interaction.response.send_message(texts.FORGET_LOST, view=chosen, ephemeral=True)
            return
        ctx = await self._begin(interaction, as_owner=True)
        await tell_forgotten(interaction, [await self._memory.forget(ctx, note)])

    @group.command(description="Get all that I keep about you as a file.")
    async def export(self, interaction: Interaction) -> None:
        """Give the person's notes as JSON."""
        ctx = await self._begin(interaction)
        exported = await self._memory.export_own(ctx)
        file = discord.File(io.BytesIO(exported.document.encode("utf-8", "replace")), EXPORT_FILE)
        told = f"All that I keep about you: {exported.notes} notes, those that ended included."
        await follow_up(interaction, told, file=file, ephemeral=True)

    @group.command(description="See or say what I may remember of you here.")
    @app_commands.describe(
        level="off: nothing; ask: each time; on: without asking. Leave it out to see what holds",
        purpose="Keeping notes about you, or using your private ones in this channel",
        days="It ends by itself after so many days",
    )
    async def consent(
        self,
        interaction: Interaction,
        level: Literal["off", "ask", "on"] | None = None,
        purpose: Literal["remember", "share"] = "remember",
        days: Days | None = None,
    ) -> None:
        """Show or take the person's word for this place."""
        ctx = await self._begin(interaction)
        if level is None:
            state = await self._memory.consent(ctx, Purpose(purpose))
            await answer(interaction, texts.consent_text(state))
            return
        result = await self._memory.set_consent(
            ctx, ConsentLevel(level), purpose=Purpose(purpose), until=_in_days(days)
        )
        if isinstance(result, NoteRefused):
            await answer(interaction, result.sentence)
        else:
            await answer(interaction, texts.consent_text(result))

    @owner_alone
    @group.command(description="For my owner: what I remember of somebody.")
    @app_commands.describe(user="Whose notes; everybody's when left out")
    async def inspect(self, interaction: Interaction, user: discord.User | None = None) -> None:
        """Show anybody's notes to an owner."""
        ctx = await self._begin(interaction, as_owner=True)
        who = None if user is None else UserId(ingress.prefixed(user.id))
        found = await self._memory.inspect(ctx, user_id=who)
        if not isinstance(found, Listed):
            raise Refused(found.sentence)
        told = texts.inspect_text(found.notes, found.unreadable)
        if self._memory.fault is not None:
            told = f"{KeysUnavailable(self._memory.fault).safe_message}\n{told}"
        await say(interaction, told, file_name="memory.txt")

    @show.autocomplete("note")
    @confirm.autocomplete("note")
    @correct.autocomplete("note")
    @pin.autocomplete("note")
    @forget.autocomplete("note")
    async def complete_note(
        self, interaction: Interaction, typed: str
    ) -> list[app_commands.Choice[str]]:
        """Offer the person's own living notes; the choices are shown to him alone."""
        ctx = context_of(interaction, self._live)
        own = await self._memory.list_own(ctx)
        wanted = typed.casefold().strip()
        labels = [(texts.choice_label(each), each) for each in own.notes if texts.is_living(each)]
        return [
            app_commands.Choice(name=label, value=each.short_id)
            for label, each in labels
            if wanted in label.casefold()
        ][:MAX_CHOICES]

    async def _begin(self, interaction: Interaction, *, as_owner: bool = False) -> MemoryContext:
        """Buy time, and record who asks."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        return context_of(interaction, self._live, as_owner=as_owner)


def _in_days(days: int | None) -> datetime | None:
    return None if days is None else discord.utils.utcnow() + timedelta(days=days)
