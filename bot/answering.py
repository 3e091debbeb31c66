"""A message's turn, seen to its end in the channel: shown while it runs, then posted, in order.

The order of answers is that of the turns' ends: a channel's outward lane is taken when the outcome
is there. What was shown before (``live_answer``) becomes the answer, or goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import discord
import structlog
from structlog.contextvars import bound_contextvars

from bot import ingress
from bot.delivery import Delivery
from bot.lanes import Lanes
from bot.live_answer import LiveAnswer
from bot.logs import describe
from bot.long_message import Asked, view_of
from bot.memory.desk import MemoryDesk
from bot.parts_line import offer
from compiler.request import MessageId
from config.load import LiveConfig
from sessions.errors import SessionErrorCode
from sessions.inbound import InboundMessage, OutcomeKind, Overflow, TurnOutcome
from sessions.registry import Registry
from sessions.ticket import Ticket

MAX_GONE = 1000
_WANTED = frozenset({SessionErrorCode.STOPPED, SessionErrorCode.WITHDRAWN})
"""Why somebody himself wants no answer any more: that is no refusal."""
_log = structlog.get_logger(__name__)


class Answering:
    """Sees tickets to their ends."""

    def __init__(
        self,
        live: LiveConfig,
        *,
        registry: Registry,
        delivery: Delivery,
        desk: MemoryDesk,
        outward: Lanes,
        refusals: Counter[str],
    ) -> None:
        """Take the collaborators; ``refusals`` counts messages that got no turn, by code."""
        self._live = live
        self._registry = registry
        self._delivery = delivery
        self._desk = desk
        self._outward = outward
        self._refusals = refusals
        self.on_overflow: Callable[[InboundMessage, Overflow], None] | None = None
        """Told of a message that is too long; set once, where the bot is put together."""
        self._gone: dict[int, None] = {}
        """Messages deleted while they were owed an answer."""

    def forget(self, message_id: int) -> None:
        """Note that a message was deleted: nobody is there to be answered."""
        if len(self._gone) >= MAX_GONE:
            self._gone.clear()
        self._gone[message_id] = None

    def is_gone(self, message_id: int) -> bool:
        """Tell whether a message was deleted while it was owed an answer."""
        return message_id in self._gone

    def watch(self, message: discord.Message, ticket: Ticket) -> LiveAnswer:
        """Prepare to show a turn while it runs; at the latest when it is queued."""
        return LiveAnswer(
            message,
            ticket,
            asker=message.author.id,
            delivery=self._delivery,
            talk=self._live.current.talk,
            streams=self._delivery.may_stream(ticket.inbound.scope),
        )

    async def finish(
        self,
        message: discord.Message,
        ticket: Ticket,
        shown: LiveAnswer,
        *,
        addressed: bool,
        is_bot: bool,
        on_answer: Callable[[], None],
    ) -> None:
        """Show that a turn runs until it has ended, then post what it gave.

        ``is_bot`` tells that nobody would read a notice; ``on_answer`` is called before the
        outcome is posted.
        """
        try:
            if not ticket.done:
                async with self._delivery.typing(message.channel) as no_more_typing:
                    await shown.follow(
                        lambda: self._outward.lane(message.channel.id), no_more_typing
                    )
                    await ticket.outcome()
            outcome = await ticket.outcome()
        except Exception as error:  # noqa: BLE001  (one answer must not end the others')
            _log.error("turn.undelivered", turn_id=ticket.inbound.turn_id, **describe(error))
            return
        with bound_contextvars(run_id=outcome.run_id, turn_id=outcome.turn_id):
            await self._settle(
                message,
                ticket,
                shown,
                outcome,
                addressed=addressed,
                is_bot=is_bot,
                on_answer=on_answer,
            )

    async def _settle(
        self,
        message: discord.Message,
        ticket: Ticket,
        shown: LiveAnswer,
        outcome: TurnOutcome,
        *,
        addressed: bool,
        is_bot: bool,
        on_answer: Callable[[], None],
    ) -> None:
        """Post what a turn gave, if anybody is there to read it."""
        try:
            if self._is_owed_later(outcome) or outcome.error_code == SessionErrorCode.JOINED:
                return
            if outcome.kind is OutcomeKind.REJECTED and outcome.error_code not in _WANTED:
                self._refusals[outcome.error_code] += 1
            over = await self._stands_there(message, shown, outcome)
            if message.id in self._gone or (is_bot and not outcome.text):
                await self._say_nothing(message, outcome, over)
                return
            on_answer()
            posted = await self._post(message, ticket, outcome, over, addressed=addressed)
        except Exception as error:  # noqa: BLE001  (as above)
            _log.error("turn.undelivered", **describe(error))
            return
        if posted is not None:
            _log.info(
                "turn.delivered",
                outcome=outcome.kind.value,
                code=outcome.error_code,
                messages=posted,
            )

    async def _stands_there(
        self, message: discord.Message, shown: LiveAnswer, outcome: TurnOutcome
    ) -> tuple[MessageId, ...]:
        """Give the messages that were shown while the turn ran, those that may become its answer.

        Where the asker is to be told, none may: an edit notifies nobody.
        """
        over = tuple(shown.messages)
        if shown.unsure:
            over = await self._delivery.live.of_turn(message.channel, outcome.turn_id)
        if over and not shown.has_words and self._live.current.talk.ping_asker:
            await self._delivery.live.remove(message.channel, over)
            return ()
        return over

    async def _say_nothing(
        self, message: discord.Message, outcome: TurnOutcome, over: tuple[MessageId, ...]
    ) -> None:
        """Take away what was shown: nobody is there to be answered."""
        await self._delivery.live.remove(message.channel, over)
        await self._delivery.drop(outcome.turn_id)
        if message.id in self._gone:
            await self._desk.take_back(MessageId(ingress.prefixed(message.id)))

    async def _post(
        self,
        message: discord.Message,
        ticket: Ticket,
        outcome: TurnOutcome,
        over: tuple[MessageId, ...],
        *,
        addressed: bool,
    ) -> int | None:
        """Post an outcome; None where it asks for a decision."""
        async with self._outward.lane(message.channel.id):
            if outcome.kind is OutcomeKind.OVERFLOW:
                await self._offer_parts(message, ticket, outcome, over)
                return None
            notes = await self._desk.written_in(outcome.turn_id)
            posted = await self._delivery.deliver(
                message,
                ticket.inbound.scope,
                outcome,
                addressed=addressed,
                buttons=self._desk.buttons_under(outcome.turn_id, notes),
                over=over,
            )
            await self._desk.show(message, notes)
        return posted

    async def _offer_parts(
        self,
        message: discord.Message,
        ticket: Ticket,
        outcome: TurnOutcome,
        over: tuple[MessageId, ...],
    ) -> None:
        """Say that a message is too long, and let its author decide what becomes of it."""
        line = offer(ticket.inbound, outcome)
        if self.on_overflow is not None and outcome.overflow is not None:
            self.on_overflow(ticket.inbound, outcome.overflow)
        await self._delivery.notice(
            message,
            line.text,
            key="long",
            buttons=view_of(line, Asked(message_id=message.id, user_id=message.author.id)),
            ends=outcome.turn_id,
            run_id=outcome.run_id,
            over=over,
        )

    def _is_owed_later(self, outcome: TurnOutcome) -> bool:
        """Tell whether the next start takes the message up: nobody began it before the end."""
        refused = outcome.error_code == SessionErrorCode.HOST_CLOSING
        return refused and self._registry.closing
