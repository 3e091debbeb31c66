"""The tickets of one conversation: those that wait, those of the turn at hand, and their outcomes.

Each gets exactly one outcome. That of its own turn goes to the message that was answered; what was
joined to it is told so, and what steered it shares an outcome that is no answer. A message that got
no part in a turn after all, because pi never took it up, because together they were too long or
because another of them was deleted, waits again for a turn of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Final

import structlog

from compiler.errors import SafeError
from compiler.request import HistoryMessage, TurnId, UserId
from sessions.clock import Clock
from sessions.errors import SessionErrorCode
from sessions.inbound import InboundMessage, OutcomeKind, TurnOutcome
from sessions.limits import TalkSettings
from sessions.outcomes import rejection
from sessions.store.inbox import InboxStore
from sessions.ticket import Ticket
from sessions.turn import HaltReason
from sessions.waiting import TurnAtHand, Waiting, amend, unquote

STEER: Final = "steer"
_NO_ANSWER: Final = (OutcomeKind.FAILED, OutcomeKind.CUT_OFF)
_log = structlog.get_logger(__name__)


class Tickets:
    """Keeps the promises of one conversation. ``current`` is the turn that is running."""

    def __init__(
        self,
        waiting: Waiting,
        *,
        talk: Callable[[], TalkSettings],
        inbox: InboxStore,
        clock: Clock,
    ) -> None:
        self.current: TurnAtHand | None = None
        self._waiting = waiting
        self._talk = talk
        self._inbox = inbox
        self._clock = clock

    # What comes from outside, while a turn runs or none.

    @property
    def has_room(self) -> bool:
        """Whether one more message can wait."""
        return self._waiting.has_room

    @property
    def ripe_in_seconds(self) -> float | None:
        """How long the next turn has to wait for its burst to end; None if nothing waits."""
        return self._waiting.ripe_in_seconds(now_ns=self._clock.monotonic_ns())

    def add(self, ticket: Ticket) -> None:
        """Let a message wait for its turn, or for the running one where it is to steer that."""
        ticket.steers = self._steered_by(ticket.inbound)
        self._waiting.add(ticket, now_ns=self._clock.monotonic_ns())

    def _steered_by(self, inbound: InboundMessage) -> TurnId | None:
        """Name the running turn that a message is to go into, if its author is the same.

        One that waits behind another of its author's waits on: the order within a person holds.
        """
        current = self.current
        if self._talk().busy != STEER or current is None or current.ticket.done:
            return None
        own = [each for each in self._waiting if _is_of(each, inbound.scope.user_id)]
        if current.inbound.continuation is not None:
            return None  # the host's own words are answered there
        same = replace(inbound.scope, message_id=None) == replace(
            current.inbound.scope, message_id=None
        )
        behind = any(each.steers != current.inbound.turn_id for each in own)
        whole = inbound.message.chunk is None and current.inbound.message.chunk is None
        steers = same and whole and not behind and inbound.scope.user_id is not None
        return current.inbound.turn_id if steers else None

    def withdraw(self, turn_id: TurnId) -> bool:
        """Take a waiting message out; its ticket tells so."""
        ticket = self._waiting.find(turn_id)
        if ticket is None:
            return False
        self._waiting.remove(ticket)
        ticket.settle(rejection(ticket.inbound, SessionErrorCode.WITHDRAWN))
        return True

    def waits(self, turn_id: TurnId) -> bool:
        """Tell whether a message still waits for its turn, or may have to wait again."""
        return self._waiting.find(turn_id) is not None or self._steering(turn_id) is not None

    def amend(self, inbound: InboundMessage) -> bool:
        """Give a message that waits the words that it was edited to have.

        One that steers the running turn is with pi as it was; should it get a turn of its own after
        all, it is taken as it stands then.
        """
        steering = self._steering(inbound.turn_id)
        if steering is not None:
            amend(steering, inbound)
        return steering is not None or self._waiting.amend(inbound)

    def unquote(self, gone: HistoryMessage) -> None:
        """Let those that wait quote no longer what was deleted."""
        for ticket in (*self._waiting, *(self.current.others if self.current else ())):
            unquote(ticket, gone)

    def _steering(self, turn_id: TurnId) -> Ticket | None:
        others = () if self.current is None else self.current.others
        return next(
            (each for each in others if each.steers and each.inbound.turn_id == turn_id), None
        )

    def waiting_of(self, user_id: UserId | None) -> int:
        """Count the messages of one person that wait."""
        return self._waiting.count_of(user_id)

    def has_at_hand(self, turn_id: TurnId) -> bool:
        """Tell whether the message of a turn is a part of the one that runs."""
        return self.current is not None and self.current.concerns(turn_id)

    def forget(self, turn_id: TurnId) -> bool:
        """Note that a message of the running turn was deleted; tell whether it was one of its."""
        if self.current is None or not self.current.concerns(turn_id):
            return False
        self.current.gone.add(turn_id)
        return True

    def runs(self, user_id: UserId | None, *, everyones: bool) -> bool:
        """Tell whether a turn of a person's runs, or anybody's."""
        running = () if self.current is None else (self.current.ticket,)
        return any(not each.done for each in _theirs(running, user_id, everyones=everyones))

    def concerns(self, user_id: UserId | None, *, everyones: bool) -> bool:
        """Tell whether something of a person's runs or waits, or of anybody's."""
        waits = any(not each.done for each in _theirs(self._waiting, user_id, everyones=everyones))
        return waits or self.runs(user_id, everyones=everyones)

    def drop(self, user_id: UserId | None, *, everyones: bool) -> int:
        """Refuse what waits of a person's, or of anybody's, as stopped; tell how many."""
        theirs = tuple(_theirs(self._waiting, user_id, everyones=everyones))
        for ticket in theirs:
            self._waiting.remove(ticket)
            _settle(ticket, rejection(ticket.inbound, SessionErrorCode.STOPPED))
        return len(theirs)

    def refuse_all(self, code: SessionErrorCode) -> None:
        """Refuse all that waits."""
        for ticket in self._waiting.drain():
            _settle(ticket, rejection(ticket.inbound, code))

    # What becomes of a turn.

    def take_next(self) -> TurnAtHand:
        """Take out the message of the next turn, which is the one at hand from now on.

        Raises:
            IndexError: nothing waits.
        """
        self.current = self._waiting.take_next()
        return self.current

    def next_steer(self) -> Ticket | None:
        """Take the next message for the running turn out of those that wait."""
        turn = self.current
        ticket = self._waiting.next_steer(turn.inbound.turn_id) if turn is not None else None
        if turn is not None and ticket is not None:
            turn.others.append(ticket)
        return ticket

    def take_back(self, turn: TurnAtHand, tickets: Iterable[Ticket]) -> None:
        """Let messages that pi did not take up wait again, or drop them with the stopped turn."""
        for ticket in tickets:
            turn.others.remove(ticket)
            if turn.is_gone(ticket):
                _settle(ticket, rejection(ticket.inbound, SessionErrorCode.WITHDRAWN))
            elif turn.drops_steers:
                _settle(ticket, rejection(ticket.inbound, SessionErrorCode.STOPPED))
            else:
                self._put_back(ticket)

    def unheard(
        self, turn: TurnAtHand, outcome: TurnOutcome, steered: Collection[Ticket]
    ) -> Collection[Ticket]:
        """Give the messages that pi took up in a turn without an answer, though nobody stopped it.

        They are no part of it any more and have to wait again.
        """
        wanted = (HaltReason.STOPPED, HaltReason.SHUTDOWN)
        if outcome.kind not in _NO_ANSWER or outcome.error_code in wanted:
            return ()
        turn.others = [each for each in turn.others if each not in steered]
        return steered

    def conclude(self, turn: TurnAtHand, outcome: TurnOutcome) -> None:
        """Hand out the outcome of a turn.

        What was joined to it gets none of its own, unless it came later and no answer stands for
        it.
        """
        _settle(turn.ticket, outcome)
        for each in turn.others:
            if outcome.kind in _NO_ANSWER and each.steers is not None:
                _settle(each, replace(outcome, turn_id=each.inbound.turn_id))
            else:
                _settle(each, rejection(each.inbound, SessionErrorCode.JOINED))

    async def part(self, turn: TurnAtHand, outcome: TurnOutcome) -> None:
        """Let the messages of a turn wait again, each for a turn of its own.

        Together they were too long, or one was deleted, and the others are owed an answer still.
        """
        left = [each for each in (*turn.others, turn.ticket) if not turn.is_gone(each)]
        if turn.is_gone(turn.ticket):
            _settle(turn.ticket, outcome)
        for each in turn.others:
            if turn.is_gone(each):
                _settle(each, rejection(each.inbound, SessionErrorCode.WITHDRAWN))
        await self.let_wait_again(left)

    async def let_wait_again(self, tickets: Collection[Ticket]) -> None:
        """Let messages wait for turns of their own after all."""
        if not tickets:
            return
        try:
            await self._inbox.release([each.inbound for each in tickets])
        except SafeError as error:
            _log.warning("turn.unreleased", code=str(error.code))
        for each in tickets:
            self._put_back(each)

    def _put_back(self, ticket: Ticket) -> None:
        self._waiting.put_back(ticket, now_ns=self._clock.monotonic_ns())


def _settle(ticket: Ticket, outcome: TurnOutcome) -> None:
    if not ticket.done:
        ticket.settle(outcome)


def _theirs(
    tickets: Iterable[Ticket], user_id: UserId | None, *, everyones: bool
) -> Iterable[Ticket]:
    return (each for each in tickets if everyones or _is_of(each, user_id))


def _is_of(ticket: Ticket, user_id: UserId | None) -> bool:
    """Tell whether a message is a person's; of nobody known there is none."""
    return user_id is not None and ticket.inbound.scope.user_id == user_id
