"""The one line under a message that is too long for one turn, and the choices below it. Pure.

It goes through all of a reading: the offer, how far it is, and how it ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.errors import with_run
from sessions.chunks import ChunksRefused, limit_of, plan_reading
from sessions.inbound import InboundMessage, TurnOutcome

OFFER: Final = "I can read it in parts, one after the other, and answer at the end."
BEGUN: Final = "I am reading it in parts. My answer comes when I have read them all."
PROGRESS: Final = "{begun} Read: {read} of {of}."
READ_ALL: Final = "Read in {of} parts."
READ_AT_ONCE: Final = "It has room by now, so I read it at once."
LEFT: Final = "All right, I leave it."
STOPPED: Final = "Stopped after {read} of {of} parts. I have not answered it."
STOPPED_EARLY: Final = "Stopped. I have not answered it."
CUT_OFF: Final = "{why} I had read {read} of {of} parts, and have not answered it."
GONE: Final = "That message is gone, so I read no more of it."
CLOSED: Final = "I have no conversation with its author here any more."
NO_LONGER: Final = "That reading is over; nothing of it is running. I can begin it anew."
NOT_YOURS: Final = "Only who wrote the message, or my owner, can decide that."
ALREADY: Final = "I am reading it already."


class Choice(StrEnum):
    """What a button does; the word stands in its id."""

    READ = "read"
    CANCEL = "cancel"
    STOP = "stop"


DECIDE: Final = (Choice.READ, Choice.CANCEL)
"""What its author chooses from while nothing of it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What stands under the message, and the buttons below that."""

    text: str
    choices: tuple[Choice, ...] = ()


def offer(inbound: InboundMessage, outcome: TurnOutcome) -> Line:
    """Say that a message is too long, and what can be done about it."""
    sentence = with_run(outcome.safe_message, outcome.run_id)
    if outcome.overflow is None:
        return Line(text=sentence)
    try:
        plan_reading(inbound, limit_of(inbound.message, outcome.overflow))
    except ChunksRefused as refused:
        return Line(text=f"{sentence}\n{refused.safe_message}")
    return Line(text=f"{sentence}\n{OFFER}", choices=DECIDE)
