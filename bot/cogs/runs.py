"""``/runs`` and "Why this answer?": the owner looks into what the model was given.

Everything is ephemeral and deferred before any reading. Content leaves only through
``/runs context``, as files, and only when the whole trace verifies.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

import discord
from discord import app_commands
from discord.ext import commands

from bot.charts.attached import drawn
from bot.charts.run_chart import run_chart
from bot.client import InglenookBot, Interaction
from bot.errors import Refused
from bot.follow_up import follow_up
from bot.names import DiscordNames
from bot.permissions import for_everyone, is_owner, owner_only
from bot.runs import diff_text, forms, inspect_proof, inspect_text, list_text
from bot.runs.book import OpenRun, RunBook
from bot.runs.prompt_files import MAX_FILES, PromptFile, packed, prompt_files
from compiler.request import ChannelId, MessageId, RunId
from sessions.review.prompts import all_prompts, demand_turn, exact_prompts
from sessions.store.runs import RunRow

PageOf: TypeAlias = Callable[[str, int | None], str]
Turn: TypeAlias = app_commands.Range[int, 1]
MAX_CHOICES: Final = 25
MAX_CONTENT: Final = 2000
LISTED: Final = 20
"""Runs in one list: they fit a message."""
_RUN: Final = "The run's id; without it, the latest of this conversation"
_MENU_NAME: Final = "Why this answer?"
_OWN_MENU_NAME: Final = "What was used?"
_NOT_YOURS: Final = "I can tell you that of my answers to your own messages."
_NONE_HERE: Final = "I have answered nothing here yet. `/runs list` shows all runs."
_NO_REPLY: Final = "I know of no run behind this message. Choose one of my own answers."


def no_page(run_id: str, turn: int | None) -> str:
    """Give no address: there is no inspector."""
    del run_id, turn
    return ""


class Runs(commands.Cog):
    """The commands; ``book`` reads, and ``page_of`` tells where a browser shows a turn."""

    group = owner_only(
        app_commands.Group(name="runs", description="Look into what the model was given.")
    )

    def __init__(self, bot: InglenookBot, *, book: RunBook, page_of: PageOf = no_page) -> None:
        self._bot = bot
        self._names = DiscordNames(bot)
        self._book = book
        self._page_of = page_of
        self._menu = owner_only(
            app_commands.ContextMenu(name=_MENU_NAME, callback=self._why_this_answer)
        )
        self._own_menu = for_everyone(
            app_commands.ContextMenu(name=_OWN_MENU_NAME, callback=self._what_was_used)
        )

    async def cog_load(self) -> None:
        """Add the context menu, which discord.py does not find in a class."""
        self._bot.tree.add_command(self._menu)
        self._bot.tree.add_command(self._own_menu)

    async def cog_unload(self) -> None:
        """Take the context menu away."""
        self._bot.tree.remove_command(self._menu.name, type=self._menu.type)
        self._bot.tree.remove_command(self._own_menu.name, type=self._own_menu.type)

    @group.command(name="list", description="The latest runs.")
    @app_commands.describe(everything="Also those that were warmed up and took no turn")
    @app_commands.rename(everything="all")
    async def list_runs(self, interaction: Interaction, *, everything: bool = False) -> None:
        """Tell the latest runs."""
        await _defer(interaction)
        rows = await self._book.rows(LISTED, telling=not everything)
        await _say(
            interaction, list_text.list_text(rows, self._names.channel), file_name="runs.txt"
        )

    @group.command(name="show", description="What a run was made of: blocks, sizes, hashes.")
    @app_commands.describe(run=_RUN, turn="A turn to tell in full")
    async def show(
        self, interaction: Interaction, run: str | None = None, turn: Turn | None = None
    ) -> None:
        """Tell a run without its content."""
        await _defer(interaction)
        found = await self._meant(interaction, run)
        if turn is not None:
            demand_turn(turn, len(found.view.turns))
        await self._say_run(interaction, found, turn)

    @group.command(name="context", description="The exact texts that the model was given.")
    @app_commands.describe(
        run=_RUN,
        turn="A turn; without it, the latest",
        everything="All turns of the run",
    )
    @app_commands.rename(everything="all")
    async def context(
        self,
        interaction: Interaction,
        run: str | None = None,
        turn: Turn | None = None,
        *,
        everything: bool = False,
    ) -> None:
        """Give the exact prompts as files, if all hashes match."""
        await _defer(interaction)
        found = await self._meant(interaction, run)
        found.demand_sound()
        prompts = all_prompts(found.trace) if everything else (exact_prompts(found.trace, turn),)
        await _send_files(interaction, found.view.run_id, prompt_files(prompts))

    @group.command(name="diff", description="What changed against the turn before, by block.")
    @app_commands.describe(run=_RUN, turn="A turn; without it, the latest")
    async def diff(
        self, interaction: Interaction, run: str | None = None, turn: Turn | None = None
    ) -> None:
        """Tell what changed."""
        await _defer(interaction)
        difference = await self._book.diff(await self._meant(interaction, run), turn)
        await _say(interaction, diff_text.diff_text(difference), file_name="diff.txt")

    @group.command(name="receipt", description="What was used for a turn, in counts and codes.")
    @app_commands.describe(run=_RUN, turn="A turn; without it, the latest")
    async def receipt(
        self, interaction: Interaction, run: str | None = None, turn: Turn | None = None
    ) -> None:
        """Tell a turn's receipt."""
        await _defer(interaction)
        found = await self._meant(interaction, run)
        found.demand_sound()
        await _say_receipt(interaction, found, turn)

    @receipt.autocomplete("run")
    @show.autocomplete("run")
    @context.autocomplete("run")
    @diff.autocomplete("run")
    async def complete_run(
        self, interaction: Interaction, typed: str
    ) -> list[app_commands.Choice[str]]:
        """Offer recent runs; labels hold ids and times only."""
        if not is_owner(interaction.user.id, self._bot.live.current):
            return []
        rows = await self._book.complete(typed, MAX_CHOICES)
        return [
            app_commands.Choice(name=choice_label(row, self._names.channel), value=row.run_id)
            for row in rows
        ]

    async def _meant(self, interaction: Interaction, run: str | None) -> OpenRun:
        """Open the named run; without a name the latest of the conversation that answered."""
        if run is None:
            here = ChannelId(f"discord:{interaction.channel_id}")
            rows = await self._book.rows(LISTED, channel=here, telling=True)
            run = next((row.run_id for row in rows if row.turns), None)
        if run is None:
            raise Refused(_NONE_HERE)
        return await self._book.open(run)

    async def _why_this_answer(self, interaction: Interaction, message: discord.Message) -> None:
        await _defer(interaction)
        found = await self._book.run_of_reply(MessageId(f"discord:{message.id}"))
        if found is None:
            await follow_up(interaction, _NO_REPLY, ephemeral=True)
            return
        run_id, turn_id = found
        opened = await self._book.open(run_id)
        numbers = [item.number for item in opened.view.turns if item.turn_id == turn_id]
        await self._say_run(interaction, opened, numbers[-1] if numbers else None)

    async def _say_run(self, interaction: Interaction, run: OpenRun, turn: int | None) -> None:
        text = inspect_text.run_text(run.view, run.report, turn=turn, name_of=self._names.channel)
        pictures = await drawn(partial(run_chart, run.view, turn))
        page = self._page_of(run.view.run_id, turn)
        name = f"{run.view.run_id}.txt"
        await _say(interaction, text, file_name=name, pictures=pictures, page=page)

    async def _what_was_used(self, interaction: Interaction, message: discord.Message) -> None:
        """Tell anybody what was used for the answer to his own message: kinds and counts.

        Of another's answer, of a message that is none and of a trace that cannot be relied upon
        the answer is the same.
        """
        await _defer(interaction)
        found = await self._book.run_of_reply(MessageId(f"discord:{message.id}"))
        turn = None if found is None else await self._own_turn(interaction, *found)
        if turn is None:
            await follow_up(interaction, _NOT_YOURS, ephemeral=True)
            return
        opened, number = turn
        await _say_receipt(interaction, opened, number, to_owner=False)

    async def _own_turn(
        self, interaction: Interaction, run_id: RunId, turn_id: str
    ) -> tuple[OpenRun, int] | None:
        opened = await self._book.open(run_id)
        user_id = f"discord:{interaction.user.id}"
        numbers = [
            item.number
            for item in opened.view.turns
            if item.turn_id == turn_id and item.user_id == user_id and not item.compilation.failure
        ]
        return (opened, numbers[-1]) if numbers and opened.sound else None


def choice_label(row: RunRow, name_of: Callable[[str], str]) -> str:
    """Label a run for a choice: where and when, its turns, and the end of its id."""
    where = "no channel"
    if row.channel_id is not None:
        number = "direct message" if row.is_dm else f"channel {forms.bare_id(row.channel_id)}"
        where = name_of(row.channel_id) or number
    turns = "1 turn" if row.turns == 1 else f"{row.turns} turns"
    when = row.started_at[:16].replace("T", " ")
    suffix = row.run_id.rpartition("-")[2]
    return f"{when} · {where} · {turns} · {suffix}"[:100]


async def _defer(interaction: Interaction) -> None:
    await interaction.response.defer(ephemeral=True, thinking=True)


async def _say_receipt(
    interaction: Interaction, run: OpenRun, turn: int | None, *, to_owner: bool = True
) -> None:
    number, receipt = inspect_proof.receipt_of_turn(run.trace, turn)
    told = receipt if to_owner else inspect_proof.for_asker(receipt)
    text = inspect_proof.receipt_text(run.view.run_id, number, told)
    await _say(interaction, text, file_name="receipt.txt")


async def _say(
    interaction: Interaction,
    text: str,
    *,
    file_name: str,
    pictures: Sequence[discord.File] = (),
    page: str = "",
) -> None:
    """Answer with a code block, or with a file and its beginning where that is too long.

    ``page`` is where the owner's browser shows the same.
    """
    below = f"\n<{page}>" if page else ""
    block = f"```\n{text}\n```{below}"
    if len(block) <= MAX_CONTENT:
        await follow_up(interaction, block, files=pictures, ephemeral=True)
        return
    head = text.split("\n\n", 1)[0]
    note = f"It is long, so here is a file.{below}"
    content = f"```\n{head}\n```\n{note}" if len(head) + len(note) < MAX_CONTENT - 20 else note
    file = discord.File(io.BytesIO(text.encode()), filename=file_name)
    await follow_up(interaction, content, files=[*pictures, file], ephemeral=True)


async def _send_files(interaction: Interaction, run_id: str, files: tuple[PromptFile, ...]) -> None:
    lines = [f"Exactly what the model was given in run `{run_id}`; every hash matches."]
    if len(files) <= MAX_FILES:
        lines += [f"`{file.name}` sha256 `{file.sha256[:16]}…`" for file in files]
        attached = [discord.File(io.BytesIO(file.data), filename=file.name) for file in files]
    else:
        name, data = packed(files, name=run_id)
        lines.append(f"{len(files)} files in one archive.")
        attached = [discord.File(io.BytesIO(data), filename=name)]
    await follow_up(interaction, "\n".join(lines), files=attached, ephemeral=True)
