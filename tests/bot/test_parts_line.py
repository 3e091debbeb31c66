"""What stands under a message that is too long: the offer, or why there is none."""

from __future__ import annotations

from bot.parts_line import DECIDE, OFFER, Line, offer
from compiler.request import RunId
from sessions.chunks import ChunkErrorCode, ChunksRefused
from sessions.inbound import OutcomeKind, Overflow, TurnOutcome
from support.session_world import inbound

TOO_LONG = Overflow(unit="characters", size=10_000, limit=4_000)
SENTENCE = "That message is too long to read at once."


def refused(overflow: Overflow | None) -> TurnOutcome:
    return TurnOutcome(
        kind=OutcomeKind.OVERFLOW,
        turn_id=inbound(1, "").turn_id,
        run_id=RunId("r-1"),
        safe_message=SENTENCE,
        overflow=overflow,
    )


def test_a_long_message_may_be_read_in_parts() -> None:
    """TR "Current-turn overflow": its author decides, and the run is named."""
    line = offer(inbound(1, "The apples were red. " * 500), refused(TOO_LONG))
    assert line == Line(text=f"{SENTENCE} (run `r-1`)\n{OFFER}", choices=DECIDE)


def test_what_needs_its_whole_text_is_offered_nothing() -> None:
    """No part alone could tell how many words there are: the reason stands there, no button."""
    line = offer(
        inbound(1, "Count the words.\n" + "The apples were red. " * 500), refused(TOO_LONG)
    )
    why = ChunksRefused(ChunkErrorCode.NEEDS_WHOLE_TEXT).safe_message
    assert line == Line(text=f"{SENTENCE} (run `r-1`)\n{why}")


def test_without_sizes_only_the_sentence_stands() -> None:
    """Nothing is offered where it is not known how long a part may be."""
    assert offer(inbound(1, "hello"), refused(None)) == Line(text=f"{SENTENCE} (run `r-1`)")
