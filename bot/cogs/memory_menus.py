"""The message menus "Remember this" and "Forget this"."""

from __future__ import annotations

from typing import Final

import discord
from discord import app_commands
from discord.ext import commands

from bot import ingress
from bot.client import InglenookBot, Interaction
from bot.errors import answer
from bot.memory import texts
from bot.memory.desk import MemoryDesk, context_of, tell_forgotten
from bot.permissions import for_everyone
from bot.place import standing_of
from compiler.request import MessageId, TurnId, UserId
from sessions.memory.results import Kept, NoteState
from sessions.memory.rules import SourceMessage
from sessions.memory.service import MemoryService
from sessions.store.runs import RunStore

REMEMBER: Final = "Remember this"
FORGET: Final = "Forget this"


class MemoryMenus(commands.Cog):
    """What everybody may do with a message; the notes are those of the person who chooses."""

    def __init__(
        self, bot: InglenookBot, *, memory: MemoryService, desk: MemoryDesk, runs: RunStore
    ) -> None:
        self._bot = bot
        self._memory = memory
        self._desk = desk
        self._runs = runs
        self._menus = (
            for_everyone(app_commands.ContextMenu(name=REMEMBER, callback=self._remember)),
            for_everyone(app_commands.ContextMenu(name=FORGET, callback=self._forget)),
        )

    async def cog_load(self) -> None:
        """Add the menus, which discord.py does not find in a class."""
        for menu in self._menus:
            self._bot.tree.add_command(menu)

    async def cog_unload(self) -> None:
        """Take the menus away."""
        for menu in self._menus:
            self._bot.tree.remove_command(menu.name, type=menu.type)

    async def _remember(self, interaction: Interaction, message: discord.Message) -> None:
        """Keep a message as a note; about somebody else it waits for him."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        ctx = context_of(interaction, self._bot.live)
        standing_of(interaction, self._bot.live)
        author = message.author
        source = SourceMessage(
            message_id=MessageId(ingress.prefixed(message.id)),
            author_id=UserId(ingress.prefixed(author.id)),
            by_bot=author.bot or message.webhook_id is not None,
        )
        result = await self._memory.remember(ctx, message.content, explicit=True, source=source)
        await answer(interaction, texts.remembered_text(result))
        if not isinstance(result, Kept) or result.known:
            return
        if result.note.state is NoteState.WAITING and author.id != interaction.user.id:
            await self._desk.ask(message, result.note)

    async def _forget(self, interaction: Interaction, message: discord.Message) -> None:
        """Forget the person's notes that were made of a message, or by an answer of the imp's."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        ctx = context_of(interaction, self._bot.live)
        message_id = MessageId(ingress.prefixed(message.id))
        turn = await self._runs.turn_of_reply(message_id)
        turn_id = TurnId(f"{ingress.PROVIDER}:message:{message.id}") if turn is None else turn[1]
        found = await self._memory.of_message(ctx, message_id=message_id, turn_id=turn_id)
        results = [await self._memory.forget(ctx, note.short_id) for note in found.notes]
        await tell_forgotten(interaction, results)
