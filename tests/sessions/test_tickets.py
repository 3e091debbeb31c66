"""Who of a conversation gets which outcome, and who waits again."""

from __future__ import annotations

from dataclasses import replace
from typing import cast
from unittest.mock import create_autospec

import pytest

from compiler.request import ChunkMark, ResolvedGate, RunId, UserId
from sessions.errors import SessionErrorCode, StoreUnavailable
from sessions.inbound import InboundMessage, OutcomeKind, TurnOutcome
from sessions.limits import TalkSettings
from sessions.outcomes import cut_off
from sessions.store.inbox import InboxStore
from sessions.ticket import Ticket
from sessions.tickets import STEER, Tickets
from sessions.turn import HaltReason
from sessions.waiting import TurnAtHand, Waiting
from support.session_world import ADA, ManualClock, inbound

BO = UserId("discord:8")
RUN = RunId("r")


def of(user: UserId | None, number: int) -> InboundMessage:
    """Message ``number`` of a person."""
    message = inbound(number, f"Message {number}.")
    return replace(message, scope=replace(message.scope, user_id=user))


class Desk:
    """Tickets with a store that writes nothing down."""

    def __init__(self, *, busy: str = STEER) -> None:
        talk = TalkSettings(busy=busy)
        self.waiting = Waiting(limit=10, talk=lambda: talk)
        self.inbox = create_autospec(InboxStore, instance=True)
        self.tickets = Tickets(
            self.waiting,
            talk=lambda: talk,
            inbox=cast("InboxStore", self.inbox),
            clock=ManualClock(),
        )

    def add(self, message: InboundMessage) -> Ticket:
        ticket = Ticket(message)
        self.tickets.add(ticket)
        return ticket

    def steered(self, *others: InboundMessage) -> tuple[TurnAtHand, list[Ticket]]:
        """A running turn of Ada's first message, and messages that pi was given meanwhile."""
        self.add(of(ADA, 1))
        turn = self.tickets.take_next()
        given = [self.add(each) for each in others]
        assert [self.tickets.next_steer() for _ in given] == given
        assert turn.others == given
        return turn, given


async def told(ticket: Ticket) -> tuple[OutcomeKind, str]:
    assert ticket.done
    outcome = await ticket.outcome()
    assert outcome.turn_id == ticket.inbound.turn_id
    return outcome.kind, outcome.error_code


def replied(turn: TurnAtHand) -> TurnOutcome:
    return TurnOutcome(
        kind=OutcomeKind.REPLIED, run_id=RUN, turn_id=turn.inbound.turn_id, text="Here."
    )


def failed(turn: TurnAtHand) -> TurnOutcome:
    return replace(replied(turn), kind=OutcomeKind.FAILED, error_code="model_failed")


async def test_an_answer_is_its_own_message_s_and_the_others_are_told_so() -> None:
    desk = Desk()
    turn, [second] = desk.steered(of(ADA, 2))
    desk.tickets.conclude(turn, replied(turn))
    assert await told(turn.ticket) == (OutcomeKind.REPLIED, "")
    assert await told(second) == (OutcomeKind.REJECTED, SessionErrorCode.JOINED)


async def test_what_steered_a_turn_without_an_answer_shares_its_end() -> None:
    """Nothing stands for it, so it is told what became of the turn that it went into."""
    desk = Desk()
    turn, [second] = desk.steered(of(ADA, 2))
    desk.tickets.conclude(turn, cut_off(turn.inbound, RUN, HaltReason.STOPPED))
    assert await told(second) == (OutcomeKind.CUT_OFF, HaltReason.STOPPED)


@pytest.mark.parametrize(
    ("kind", "code", "again"),
    [
        (OutcomeKind.FAILED, "model_failed", True),
        (OutcomeKind.CUT_OFF, HaltReason.DEADLINE, True),
        (OutcomeKind.CUT_OFF, HaltReason.STOPPED, False),
        (OutcomeKind.CUT_OFF, HaltReason.SHUTDOWN, False),
        (OutcomeKind.REPLIED, "", False),
    ],
)
async def test_what_steered_a_turn_that_nobody_ended_is_owed_an_answer(
    kind: OutcomeKind,
    code: str,
    again: bool,  # noqa: FBT001
) -> None:
    desk = Desk()
    turn, given = desk.steered(of(ADA, 2))
    outcome = replace(replied(turn), kind=kind, error_code=code)
    unheard = desk.tickets.unheard(turn, outcome, tuple(given))
    assert list(unheard) == (given if again else [])
    assert turn.others == ([] if again else given)
    await desk.tickets.let_wait_again(unheard)
    assert list(desk.waiting) == list(unheard)
    assert desk.inbox.release.await_count == again


async def test_a_message_waits_again_even_where_that_cannot_be_written_down() -> None:
    """P24: a store in trouble loses nothing that is in memory."""
    desk = Desk()
    turn, given = desk.steered(of(ADA, 2))
    desk.inbox.release.side_effect = StoreUnavailable("locked")
    await desk.tickets.let_wait_again(desk.tickets.unheard(turn, failed(turn), given))
    assert list(desk.waiting) == given


async def test_what_pi_gave_back_waits_is_dropped_or_is_gone() -> None:
    """A stop drops it where it was to; what was deleted meanwhile gets no turn."""
    for drops, gone, code in (
        (False, False, None),
        (True, False, SessionErrorCode.STOPPED),
        (True, True, SessionErrorCode.WITHDRAWN),
    ):
        desk = Desk()
        turn, [second] = desk.steered(of(ADA, 2))
        turn.drops_steers = drops
        turn.gone = {second.inbound.turn_id} if gone else set()
        desk.tickets.take_back(turn, (second,))
        assert turn.others == []
        assert list(desk.waiting) == ([] if code else [second])
        assert code is None or await told(second) == (OutcomeKind.REJECTED, code)


async def test_the_messages_of_a_parted_turn_wait_each_for_its_own() -> None:
    """Together too long, or one deleted: the others wait in their order, the deleted one ends."""
    desk = Desk()
    turn, [second, third] = desk.steered(of(ADA, 2), of(ADA, 3))
    turn.gone = {second.inbound.turn_id}
    await desk.tickets.part(turn, failed(turn))
    assert list(desk.waiting) == [turn.ticket, third]
    assert await told(second) == (OutcomeKind.REJECTED, SessionErrorCode.WITHDRAWN)
    assert not turn.ticket.done
    assert third.steers is None, "it is a turn of its own now"


async def test_a_deletion_counts_for_the_turn_that_runs_alone() -> None:
    """P13: only a message that is a part of it cuts a turn off."""
    desk = Desk()
    turn, [second] = desk.steered(of(ADA, 2))
    other = desk.add(of(BO, 3))
    assert not desk.tickets.forget(other.inbound.turn_id)
    assert not desk.tickets.has_at_hand(other.inbound.turn_id)
    assert desk.tickets.forget(second.inbound.turn_id)
    assert desk.tickets.has_at_hand(second.inbound.turn_id)
    assert turn.gone == {second.inbound.turn_id}


async def test_a_deleted_message_whose_turn_is_parted_gets_the_outcome() -> None:
    desk = Desk()
    turn, [second] = desk.steered(of(ADA, 2))
    turn.gone = {turn.inbound.turn_id}
    await desk.tickets.part(turn, failed(turn))
    assert await told(turn.ticket) == (OutcomeKind.FAILED, "model_failed")
    assert list(desk.waiting) == [second]


async def test_only_the_same_author_s_next_words_steer() -> None:
    """Issue "Inbound": ``busy = "steer"``; nobody speaks into another's turn, or out of order."""
    desk = Desk()
    turn, _ = desk.steered()
    assert desk.add(of(BO, 2)).steers is None
    assert desk.add(of(None, 3)).steers is None
    assert desk.add(of(ADA, 4)).steers == turn.inbound.turn_id

    turn.ticket.settle(replied(turn))
    assert desk.add(of(ADA, 5)).steers is None, "the turn has its answer"

    queued = Desk(busy="queue")
    queued.add(of(ADA, 1))
    queued.tickets.take_next()
    assert queued.add(of(ADA, 2)).steers is None


async def test_within_a_person_the_order_holds() -> None:
    """What comes behind one of the same author's that waits for a turn of its own waits too."""
    desk = Desk()
    turn, [second] = desk.steered(of(ADA, 2))
    desk.tickets.take_back(turn, (second,))
    assert desk.add(of(ADA, 3)).steers is None


async def test_parts_of_long_messages_and_the_host_s_own_words_are_turns_by_themselves() -> None:
    mark = ChunkMark(index=1, count=2, start=0, end=1, original_chars=2, original_sha256="0" * 64)
    part = of(ADA, 2)
    part = replace(part, message=replace(part.message, chunk=mark))
    desk = Desk()
    desk.steered()
    assert desk.add(part).steers is None

    ended = ResolvedGate(gate_id="g", intent="Write.", outcome="executed")
    told_by_host = Desk()
    told_by_host.add(replace(of(ADA, 1), continuation=ended))
    told_by_host.tickets.take_next()
    assert told_by_host.add(of(ADA, 2)).steers is None


async def test_a_stop_is_for_one_s_own_words_unless_it_is_for_all() -> None:
    """Issue "Stop": what waits of others stays; what nobody known said is nobody's to stop."""
    desk = Desk()
    desk.steered()
    bo, nobody = desk.add(of(BO, 2)), desk.add(of(None, 3))
    assert desk.tickets.runs(ADA, everyones=False)
    assert not desk.tickets.runs(BO, everyones=False)
    assert desk.tickets.concerns(BO, everyones=False)
    assert not desk.tickets.concerns(None, everyones=False)
    assert desk.tickets.concerns(None, everyones=True)
    assert desk.tickets.drop(None, everyones=False) == 0
    assert desk.tickets.drop(BO, everyones=False) == 1
    assert await told(bo) == (OutcomeKind.REJECTED, SessionErrorCode.STOPPED)
    assert list(desk.waiting) == [nobody]
    assert desk.tickets.drop(ADA, everyones=True) == 1


async def test_nothing_is_told_twice() -> None:
    """A ticket that has its outcome keeps it, whatever becomes of its turn."""
    desk = Desk()
    turn, [second] = desk.steered(of(ADA, 2))
    desk.tickets.conclude(turn, replied(turn))
    desk.tickets.conclude(turn, failed(turn))
    assert await told(turn.ticket) == (OutcomeKind.REPLIED, "")
    assert await told(second) == (OutcomeKind.REJECTED, SessionErrorCode.JOINED)
    assert not desk.tickets.runs(ADA, everyones=False)


async def test_what_waits_can_be_taken_back_and_what_steers_can_be_amended() -> None:
    """P13: an edit reaches a message that may have to wait again; a withdrawn one is told so."""
    desk = Desk()
    _, [second] = desk.steered(of(ADA, 2))
    third = desk.add(of(BO, 3))
    edit = of(ADA, 2)
    edit = replace(edit, message=replace(edit.message, text="Better."))
    assert desk.tickets.amend(edit)
    assert second.inbound.message.text == "Better."
    assert desk.tickets.waits(second.inbound.turn_id)
    assert desk.tickets.waits(third.inbound.turn_id)
    assert not desk.tickets.withdraw(second.inbound.turn_id), "it is with pi"
    assert desk.tickets.withdraw(third.inbound.turn_id)
    assert await told(third) == (OutcomeKind.REJECTED, SessionErrorCode.WITHDRAWN)
    assert not desk.tickets.waits(third.inbound.turn_id)
