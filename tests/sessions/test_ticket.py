"""The promise of one outcome."""

from __future__ import annotations

import asyncio

import pytest

from sessions.errors import SessionErrorCode
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.outcomes import rejection
from sessions.ticket import Ticket
from support.session_world import inbound


def replied() -> TurnOutcome:
    return TurnOutcome(
        kind=OutcomeKind.REPLIED, run_id=None, turn_id=inbound(1).turn_id, text="Hi."
    )


async def test_the_outcome_comes_once() -> None:
    """A second one is a fault."""
    ticket = Ticket(inbound(1))
    assert not ticket.done
    assert ticket.accepted
    ticket.settle(replied())
    with pytest.raises(asyncio.InvalidStateError):
        ticket.settle(replied())
    assert await ticket.outcome() == replied()
    assert await ticket.outcome() == replied()


async def test_giving_up_the_wait_leaves_the_turn() -> None:
    """Who stops waiting cancels nothing for others."""
    ticket = Ticket(inbound(1))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await ticket.outcome()
    ticket.settle(replied())
    assert await ticket.outcome() == replied()


async def test_a_refused_message_was_not_accepted() -> None:
    """The edge shows no typing for it."""
    ticket = Ticket(inbound(1))
    ticket.settle(rejection(inbound(1), SessionErrorCode.INBOX_FULL))
    assert not ticket.accepted
