"""A message that is too long for one turn, read in parts if its author wants that.

One line under the message goes through all of it (``parts_line``). The answer comes as a message of
its own, after every part was read. Buttons carry the message and its author in their ids, so they
work after a restart; a reading itself lives in this process. One that a restart cut off is owed a
word like any message (``store.inbox``), and can be begun anew.

Whoever wrote the message decides over it, and owners do.

Spec: TR "Current-turn overflow".
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeAlias, assert_never

import discord
import structlog
from discord.ext import commands

from bot import ingress
from bot.auto_threads import channel_above
from bot.buttons import Interaction, hand_on, laid_out
from bot.client import InglenookBot
from bot.delivery import Delivery
from bot.errors import answer, sentence_for
from bot.lanes import Lanes
from bot.logs import describe
from bot.parts_line import (
    ALREADY,
    BEGUN,
    CLOSED,
    CUT_OFF,
    DECIDE,
    GONE,
    LEFT,
    NO_LONGER,
    NOT_YOURS,
    PROGRESS,
    READ_ALL,
    READ_AT_ONCE,
    STOPPED,
    STOPPED_EARLY,
    Choice,
    Line,
)
from bot.permissions import is_owner
from bot.sending import FAILURES, describe_failure
from compiler.errors import SafeError
from compiler.request import MessageInput, TurnId
from sessions.chunks import ChunkProgress, ChunksRefused, belongs_to, limit_of, plan_reading, read
from sessions.errors import SessionErrorCode
from sessions.inbound import InboundMessage, OutcomeKind, Overflow, TurnOutcome
from sessions.outcomes import rejection
from sessions.registry import Registry
from sessions.store.inbox import InboxStore
from sessions.ticket import Ticket

MAX_KEPT: Final = 100
"""Readings that were cut off and can go on where they were."""
FETCH_SECONDS: Final = 60.0
ReadAgain: TypeAlias = Callable[[discord.Message], Awaitable[InboundMessage | None]]
_log = structlog.get_logger(__name__)


_LOOKS: Final = {
    Choice.READ: ("Read it in parts", discord.ButtonStyle.primary),
    Choice.CANCEL: ("Cancel", discord.ButtonStyle.secondary),
    Choice.STOP: ("Stop", discord.ButtonStyle.secondary),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A message and who wrote it, by Discord's numbers."""

    message_id: int
    user_id: int


class PartsButton(
    discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]],
    template=r"parts:(?P<choice>read|cancel|stop):(?P<message>[0-9]{1,20}):(?P<user>[0-9]{1,20})",
):
    """A button whose id says what it does, for which message, and whose that is."""

    def __init__(self, choice: Choice, asked: Asked) -> None:
        label, style = _LOOKS[choice]
        custom_id = f"parts:{choice.value}:{asked.message_id}:{asked.user_id}"
        super().__init__(discord.ui.Button(label=label, style=style, custom_id=custom_id))
        self._choice = choice
        self._asked = asked

    @classmethod
    async def from_custom_id(
        cls, _: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
    ) -> Self:
        """Read a pressed button's id."""
        del item
        asked = Asked(message_id=int(match["message"]), user_id=int(match["user"]))
        return cls(Choice(match["choice"]), asked)

    async def callback(self, interaction: Interaction) -> None:
        """Hand the press on."""
        reader = interaction.client.get_cog(LongMessages.__cog_name__)
        if isinstance(reader, LongMessages):
            await hand_on(interaction, reader.press(interaction, self._choice, self._asked))


def view_of(line: Line, asked: Asked) -> discord.ui.View | None:
    """Lay out the buttons of a line."""
    if not line.choices:
        return None
    return laid_out(PartsButton(choice, asked) for choice in line.choices)


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One reading while it runs."""

    ticket: Ticket | None = None
    read: int = 0
    of: int = 0
    stopped: bool = False
    gone: bool = False
    over: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def progress(self, read: int, of: int) -> None:
        """Note how far it is."""
        self.read, self.of = read, of
        self.news.set()

    def end(self) -> None:
        """Note that there is nothing more to show."""
        self.over = True
        self.news.set()

    @property
    def stopped_line(self) -> Line:
        """Say that it was stopped, and where."""
        if self.gone:
            return Line(text=GONE)
        words = STOPPED.format(read=self.read, of=self.of) if self.of else STOPPED_EARLY
        return Line(text=words, choices=DECIDE)


class LongMessages(commands.Cog):
    """Reads long messages in parts, for those who press the buttons."""

    def __init__(
        self,
        bot: InglenookBot,
        *,
        registry: Registry,
        delivery: Delivery,
        inbox: InboxStore,
        outward: Lanes,
        read_again: ReadAgain,
        tasks: asyncio.TaskGroup,
    ) -> None:
        """Take the collaborators; ``read_again`` makes a turn's input of a message anew."""
        self._bot = bot
        self._registry = registry
        self._delivery = delivery
        self._inbox = inbox
        self._outward = outward
        self._read_again = read_again
        self._tasks = tasks
        self._readings: dict[int, _Reading] = {}
        self._kept: dict[int, ChunkProgress] = {}
        self._limits: dict[int, tuple[tuple[int, ...], Overflow]] = {}
        """By how much messages of these sizes were too long, for the first press under them."""

    async def cog_load(self) -> None:
        """Know the buttons of earlier hosts again."""
        self._bot.add_dynamic_items(PartsButton)

    async def cog_unload(self) -> None:
        """Know them no longer."""
        self._bot.remove_dynamic_items(PartsButton)

    @commands.Cog.listener()
    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """Read no more of a message that its author took back (P13)."""
        self._kept.pop(payload.message_id, None)
        reading = self._readings.get(payload.message_id)
        if reading is not None:
            reading.gone = True
            self._stop(reading)

    def expect(self, inbound: InboundMessage, overflow: Overflow) -> None:
        """Keep in mind how long a message may be, so that a press need not try it whole again."""
        while len(self._limits) >= MAX_KEPT:
            del self._limits[next(iter(self._limits))]
        known = _sizes(inbound.message), overflow
        self._limits[ingress.snowflake(inbound.turn_id)] = known

    async def press(self, interaction: Interaction, choice: Choice, asked: Asked) -> None:
        """Do what a button says, if whoever pressed it may."""
        user = interaction.user.id
        if user != asked.user_id and not is_owner(user, self._bot.live.current):
            await answer(interaction, NOT_YOURS)
            return
        reading = self._readings.get(asked.message_id)
        match choice:
            case Choice.READ if reading is None:
                await self._begin(interaction, asked)
            case Choice.STOP if reading is not None:
                await interaction.response.defer()
                self._stop(reading)
            case Choice.READ | Choice.CANCEL if reading is not None:
                await answer(interaction, ALREADY)
            case Choice.CANCEL:
                self._kept.pop(asked.message_id, None)
                await interaction.response.edit_message(content=LEFT, view=None)
            case Choice.STOP:
                line = Line(text=NO_LONGER, choices=DECIDE)
                view = view_of(line, asked)
                await interaction.response.edit_message(content=line.text, view=view)
            case Choice.READ:
                raise AssertionError("a reading that is none")
            case _:
                assert_never(choice)

    def _stop(self, reading: _Reading) -> None:
        reading.stopped = True
        ticket = reading.ticket
        if ticket is None or ticket.done:
            return
        inbound = ticket.inbound
        channel_id = inbound.scope.channel_id
        if channel_id is not None and not self._registry.withdraw(inbound.turn_id, channel_id):
            self._registry.stop_turn(inbound.turn_id, channel_id, drop=False)

    async def _begin(self, interaction: Interaction, asked: Asked) -> None:
        shown = interaction.message
        if shown is None:
            return
        reading = self._readings[asked.message_id] = _Reading()
        try:
            line = Line(text=BEGUN, choices=(Choice.STOP,))
            view = view_of(line, asked)
            await interaction.response.edit_message(content=line.text, view=view)
        except BaseException:
            del self._readings[asked.message_id]
            raise
        work = self._carry_out(shown, asked, reading)
        self._tasks.create_task(work, name=f"parts:{asked.message_id}")

    async def _carry_out(self, shown: discord.Message, asked: Asked, reading: _Reading) -> None:
        """Read, show how far it is, and leave the last word under the message."""
        turn_id = TurnId(f"{ingress.PROVIDER}:message:{asked.message_id}")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._show_progress(shown, asked, reading), name="progress")
                try:
                    await self._inbox.reopen(turn_id)
                    line = await self._read(shown, asked, reading)
                finally:
                    reading.end()
        except* Exception as error:  # noqa: BLE001  (one reading must not end the others)
            line = Line(text=_worded(error), choices=DECIDE)
        finally:
            self._readings.pop(asked.message_id, None)
        await self._delivery.drop(turn_id)  # nothing more is owed: the line below is the last word
        await self._edit(shown, asked, line)

    async def _show_progress(self, shown: discord.Message, asked: Asked, reading: _Reading) -> None:
        """Keep the one line true; what came meanwhile is shown at once."""
        while True:
            await reading.news.wait()
            reading.news.clear()
            if reading.over:
                return
            text = PROGRESS.format(begun=BEGUN, read=reading.read, of=reading.of)
            await self._edit(shown, asked, Line(text=text, choices=(Choice.STOP,)))

    async def _edit(self, shown: discord.Message, asked: Asked, line: Line) -> None:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                await shown.edit(content=line.text, view=view_of(line, asked))
        except FAILURES as failure:
            _log.warning("parts.unshown", failure=describe_failure(failure))

    async def _read(self, shown: discord.Message, asked: Asked, reading: _Reading) -> Line:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                place = channel_above(shown.channel, asked.message_id) or shown.channel
                message = await place.fetch_message(asked.message_id)
                message.channel = shown.channel
        except discord.NotFound:
            return Line(text=GONE)
        inbound = await self._read_again(message)
        if inbound is None:
            return Line(text=CLOSED)
        async with self._delivery.typing(message.channel):
            result = await self._result(inbound, reading)
        if isinstance(result, Line):
            return result
        return await self._concluded(message, inbound, reading, *result)

    async def _result(
        self, inbound: InboundMessage, reading: _Reading
    ) -> tuple[TurnOutcome, ChunkProgress | None] | Line:
        """Read all parts that were not read yet, and ask for the answer."""

        def submit(part: InboundMessage) -> Ticket:
            if reading.stopped:
                reading.ticket = Ticket(part)
                reading.ticket.settle(rejection(part, SessionErrorCode.STOPPED))
            else:
                reading.ticket = self._registry.submit(part)
            return reading.ticket

        message_id = ingress.snowflake(inbound.turn_id)
        progress = self._kept.pop(message_id, None)
        known = self._limits.pop(message_id, None)
        overflow = known[1] if known and known[0] == _sizes(inbound.message) else None
        if progress is None or not belongs_to(progress, inbound):
            if overflow is None:
                # The limit of today: the settings and the model may be others by now.
                whole = await submit(inbound).outcome()
                if whole.overflow is None:
                    return whole, None
                overflow = whole.overflow
            try:
                progress = plan_reading(inbound, limit_of(inbound.message, overflow))
            except ChunksRefused as refused:
                return Line(text=refused.safe_message)
        reading.progress(len(progress.notes), len(progress.plan.chunks))
        result = await read(inbound, progress, submit, on_progress=reading.progress)
        return result.outcome, result.progress

    async def _concluded(
        self,
        message: discord.Message,
        inbound: InboundMessage,
        reading: _Reading,
        outcome: TurnOutcome,
        progress: ChunkProgress | None,
    ) -> Line:
        if outcome.kind in {OutcomeKind.REPLIED, OutcomeKind.SILENT} and not reading.gone:
            async with self._outward.lane(message.channel.id):
                posted = await self._delivery.deliver(message, inbound.scope, outcome)
            _log.info(
                "parts.answered", run_id=outcome.run_id, turn_id=outcome.turn_id, messages=posted
            )
            return Line(text=READ_ALL.format(of=reading.of) if progress else READ_AT_ONCE)
        if progress is not None and not reading.gone:
            while len(self._kept) >= MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[message.id] = progress
        _log.info("parts.cut_off", turn_id=outcome.turn_id, code=outcome.error_code)
        if reading.stopped:
            return reading.stopped_line
        why = sentence_for(outcome)
        if progress is not None:
            why = CUT_OFF.format(why=why, read=reading.read, of=reading.of)
        return Line(text=why, choices=DECIDE)


def _sizes(message: MessageInput) -> tuple[int, ...]:
    return (len(message.text), *(len(part.text) for part in message.parts))


def _worded(group: ExceptionGroup[Exception]) -> str:
    """Give the words for a reading that failed outside of any turn."""
    error = group.exceptions[0]
    if isinstance(error, SafeError):
        _log.warning("parts.failed", code=str(error.code), **error.facts)
        return error.safe_message
    _log.error("parts.failed", **describe(error))
    return STOPPED_EARLY
