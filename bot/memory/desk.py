"""Notes shown where people talk: the sign and the buttons under an answer, and who may press them.

The buttons carry all they need in their ids, so they work after a restart as before it. Who presses
decides what happens: each press goes through ``MemoryService`` as that person, and a note of
somebody else's is to him as one that does not exist.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any, Final, Self, assert_never

import discord
import structlog
from discord.ext import commands

from bot import ingress
from bot.buttons import Interaction, hand_on, laid_out
from bot.client import InglenookBot
from bot.delivery import Delivery, Target
from bot.errors import answer
from bot.follow_up import follow_up
from bot.memory import texts
from bot.permissions import is_owner
from bot.tiers import role_of
from compiler.errors import SafeError
from compiler.request import ImpName, MessageId, Role, TurnId
from config.load import LiveConfig
from sessions.memory.results import (
    CleanupProof,
    Erased,
    Forgotten,
    Gone,
    Kept,
    NoteState,
    NoteView,
    NotFound,
    Refused,
)
from sessions.memory.rules import MemoryContext
from sessions.memory.service import MemoryService

SIGN: Final = "\N{MEMO}"
"""Put under a message from which a note was kept."""
RECEIPT_FILE: Final = "receipt.json"
MAX_ASKED: Final = 3
"""Notes of one turn for which somebody is asked at once; ``/memory list`` shows the others."""
_log = structlog.get_logger(__name__)


class Press(StrEnum):
    """What a button does; the word stands in its id."""

    FORGET = "forget"
    """Forget what the imp kept in one turn."""
    KEEP = "keep"
    REFUSE = "no"
    LOOK = "look"
    FORGET_ALL = "all"
    LEAVE_ALL = "none"
    FORGET_LOST = "lost"
    """For an owner: give up what cannot be opened."""


_LOOKS: Final = {
    Press.FORGET: ("Forget", discord.ButtonStyle.secondary),
    Press.KEEP: ("Keep", discord.ButtonStyle.success),
    Press.REFUSE: ("No", discord.ButtonStyle.secondary),
    Press.LOOK: ("What is it?", discord.ButtonStyle.secondary),
    Press.FORGET_ALL: ("Forget all", discord.ButtonStyle.danger),
    Press.LEAVE_ALL: ("Leave it", discord.ButtonStyle.secondary),
    Press.FORGET_LOST: ("Give them up", discord.ButtonStyle.danger),
}


class MemoryButton(
    discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]],
    template=r"memory:(?P<press>[a-z]{2,6}):(?P<what>[a-z0-9-]{1,40})",
):
    """A button whose id says what it does and to which note, turn or person."""

    def __init__(self, press: Press, what: str) -> None:
        label, style = _LOOKS[press]
        super().__init__(
            discord.ui.Button(label=label, style=style, custom_id=f"memory:{press.value}:{what}")
        )
        self._press = press
        self._what = what

    @classmethod
    async def from_custom_id(
        cls, _: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
    ) -> Self:
        """Read a pressed button's id."""
        del item
        return cls(Press(match["press"]), match["what"])

    async def callback(self, interaction: Interaction) -> None:
        """Hand the press to the desk."""
        desk = interaction.client.get_cog(MemoryDesk.__cog_name__)
        if isinstance(desk, MemoryDesk):
            await hand_on(interaction, desk.press(interaction, self._press, self._what))


def buttons(*pairs: tuple[Press, str]) -> discord.ui.View:
    """Lay out buttons."""
    return laid_out(MemoryButton(press, what) for press, what in pairs)


def context_of(
    interaction: Interaction, live: LiveConfig, *, as_owner: bool = False
) -> MemoryContext:
    """Record who acts where, from the platform's ids.

    ``as_owner`` lets an owner act as one; without it he acts as the person that he is, on his own
    notes alone.
    """
    user, channel, settings = interaction.user, interaction.channel, live.current
    parent_id = channel.parent_id if isinstance(channel, discord.Thread) else None
    is_dm = interaction.guild_id is None
    here = live.channel(
        str(interaction.channel_id), None if parent_id is None else str(parent_id), is_dm=is_dm
    )
    allow = settings.allow
    role = role_of(user, owners=(), users=allow.users, roles=allow.roles)
    if as_owner and is_owner(user.id, settings):
        role = Role.OWNER
    return MemoryContext(
        imp=ImpName(here.imp),
        scope=ingress.place_scope(
            interaction.channel_id or 0,
            guild_id=interaction.guild_id,
            parent_id=parent_id,
            is_private=ingress.is_private_thread(channel),
            user_id=user.id,
            role=role,
        ),
        by_model=False,
        speaker=ingress.one_line(user.display_name),
    )


class MemoryDesk(commands.Cog):
    """Shows what a turn wrote, and answers those who press the buttons."""

    def __init__(self, bot: InglenookBot, *, memory: MemoryService, delivery: Delivery) -> None:
        self._bot = bot
        self._live: LiveConfig = bot.live
        self._memory = memory
        self._delivery = delivery

    async def cog_load(self) -> None:
        """Know the buttons of earlier hosts again."""
        self._bot.add_dynamic_items(MemoryButton)

    async def cog_unload(self) -> None:
        """Know them no longer."""
        self._bot.remove_dynamic_items(MemoryButton)

    # After a turn.

    async def written_in(self, turn_id: TurnId) -> tuple[NoteView, ...]:
        """Give what the model wrote in a turn, once; nothing where it wrote nothing.

        A store that fails here holds up no answer: the notes stand and are in ``/memory list``.
        """
        try:
            return (await self._memory.written_in(turn_id)).notes
        except SafeError as error:
            _log.warning("memory.unshown", turn_id=turn_id, code=str(error.code))
            return ()

    async def take_back(self, message_id: MessageId) -> None:
        """Let nothing be kept that the model guessed from a message that was deleted (P13)."""
        try:
            notes = await self._memory.take_back(message_id)
        except SafeError as error:
            _log.warning("memory.not_taken_back", message_id=message_id, code=str(error.code))
        else:
            if notes:
                _log.info("memory.taken_back", message_id=message_id, notes=notes)

    def buttons_under(self, turn_id: TurnId, notes: Sequence[NoteView]) -> discord.ui.View | None:
        """Give the buttons of an answer in whose turn notes were kept."""
        if any(note.state is NoteState.INFERRED for note in notes):
            return buttons((Press.FORGET, turn_id.rpartition(":")[2]))
        return None

    async def show(self, target: Target, notes: Sequence[NoteView]) -> None:
        """Put the sign under the message, and ask whom a waiting note is about."""
        if any(note.state is NoteState.INFERRED for note in notes):
            await self._delivery.react(target, SIGN)
        waiting = [note for note in notes if note.state is NoteState.WAITING]
        for note in waiting[:MAX_ASKED]:
            await self.ask(target, note)

    async def ask(self, target: Target, note: NoteView) -> None:
        """Ask the person whom a note is about; its text is shown to nobody else."""
        chosen = buttons(
            (Press.KEEP, note.short_id),
            (Press.REFUSE, note.short_id),
            (Press.LOOK, note.short_id),
        )
        question = texts.ASK.format(person=texts.person_of(note.about))
        await self._delivery.notice(target, question, key=f"memory:{note.short_id}", buttons=chosen)

    # When a button is pressed.

    async def press(self, interaction: Interaction, press: Press, what: str) -> None:
        """Do what a button says, as the person who pressed it."""
        match press:
            case Press.FORGET:
                await self._forget_turn(interaction, what)
            case Press.KEEP:
                await self._keep(interaction, what)
            case Press.REFUSE:
                await self._refuse(interaction, what)
            case Press.LOOK:
                await self._look(interaction, what)
            case Press.FORGET_ALL:
                await self._forget_all(interaction, what)
            case Press.FORGET_LOST:
                await self._forget_lost(interaction)
            case Press.LEAVE_ALL:
                await interaction.response.edit_message(content=texts.KEPT_ALL, view=None)
            case _:
                assert_never(press)

    async def _forget_turn(self, interaction: Interaction, number: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        ctx = context_of(interaction, self._live)
        turn_id = TurnId(f"{ingress.PROVIDER}:message:{number}")
        found = await self._memory.of_message(ctx, turn_id=turn_id)
        results = [await self._memory.forget(ctx, note.short_id) for note in found.notes]
        await tell_forgotten(interaction, results)
        if results:
            await self._take_buttons(interaction)

    async def _keep(self, interaction: Interaction, short_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        result = await self._memory.keep(context_of(interaction, self._live), short_id)
        await answer(interaction, _decided(result))
        if isinstance(result, Kept) and not result.known:
            await self._take_buttons(interaction, texts.KEPT_BY_CLICK)

    async def _refuse(self, interaction: Interaction, short_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        ctx = context_of(interaction, self._live)
        shown = await self._memory.show(ctx, short_id)
        if not isinstance(shown, NotFound) and shown.state is not NoteState.WAITING:
            await answer(interaction, texts.ALREADY_DECIDED)
            return
        result = await self._memory.forget(ctx, short_id)
        if isinstance(result, Forgotten):
            await tell_forgotten(interaction, [result])
            await self._take_buttons(interaction, texts.REFUSED_BY_CLICK)
        else:
            await answer(interaction, _decided(result))

    async def _look(self, interaction: Interaction, short_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        shown = await self._memory.show(context_of(interaction, self._live), short_id)
        if isinstance(shown, NotFound):
            await answer(interaction, texts.NOT_YOURS)
        else:
            await say(interaction, texts.detail_text(shown, ()), file_name="note.txt")

    async def _forget_all(self, interaction: Interaction, user: str) -> None:
        if user != str(interaction.user.id):
            await answer(interaction, texts.NOT_YOURS)
            return
        await interaction.response.edit_message(content="Forgetting ...", view=None)
        result = await self._memory.forget_all(context_of(interaction, self._live))
        told = texts.NOTHING if isinstance(result, NotFound) else texts.forgotten_text(result)
        await interaction.edit_original_response(content=told, attachments=receipts([result]))

    async def _forget_lost(self, interaction: Interaction) -> None:
        """Give up what cannot be opened, a part at a time; the service refuses all but owners."""
        ctx = context_of(interaction, self._live, as_owner=True)
        await interaction.response.edit_message(content="Forgetting ...", view=None)
        results: list[Forgotten] = []
        while isinstance(result := await self._memory.forget_unreadable(ctx), Forgotten):
            results.append(result)
        told = texts.given_up_text(sum(len(each.short_ids) for each in results))
        if isinstance(result, Refused):
            told = result.sentence
        await interaction.edit_original_response(content=told, attachments=receipts(results))

    async def _take_buttons(self, interaction: Interaction, text: str | None = None) -> None:
        """Change the message under which a button was pressed: what it asked is decided."""
        if interaction.message is None:
            return
        try:
            if text is None:
                await interaction.message.edit(view=None)
            else:
                await interaction.message.edit(content=text, view=None)
        except discord.HTTPException as error:
            _log.warning("memory.buttons_left", status=error.status, code=error.code)


def _decided(result: Kept | Refused | NotFound | Gone | Forgotten) -> str:
    if isinstance(result, NotFound):
        return texts.NOT_YOURS
    if isinstance(result, Kept):
        return texts.ALREADY_DECIDED if result.known else texts.remembered_text(result)
    if isinstance(result, Forgotten):
        return texts.forgotten_text(result)
    return result.sentence


def receipts(results: Iterable[Erased]) -> list[discord.File]:
    """Give the cleanup proofs as one file; it holds no word of what was forgotten."""
    proofs: list[CleanupProof] = [each.proof for each in results if isinstance(each, Forgotten)]
    if not proofs:
        return []
    document = json.dumps([asdict(proof) for proof in proofs], indent=2, sort_keys=True)
    return [discord.File(io.BytesIO(document.encode()), RECEIPT_FILE)]


async def tell_forgotten(interaction: Interaction, results: Sequence[Erased]) -> None:
    """Tell what became of some notes, with the proof."""
    told = "\n".join(dict.fromkeys(map(texts.forgotten_text, results))) or texts.NOTHING_HERE
    await say(interaction, told, file_name="forgotten.txt", files=receipts(results))


async def say(
    interaction: Interaction,
    text: str,
    *,
    file_name: str,
    files: Sequence[discord.File] = (),
) -> None:
    """Answer a deferred interaction ephemerally, with a file where it is too long for a message."""
    attached = list(files)
    if len(text) > MAX_CONTENT:
        attached.append(discord.File(io.BytesIO(text.encode()), file_name))
        text = "It is long, so here is a file."
    await follow_up(interaction, text, files=attached, ephemeral=True)


MAX_CONTENT: Final = 2_000
"""Discord's longest message."""
