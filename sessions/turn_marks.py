"""What tools have made of a turn by its end: messages already said, or silence chosen. Pure.

    said    the turn has answered already, whatever its last words are
    silent  nothing more is said, whatever its last words are

A turn that failed or was cut off stays that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sessions.inbound import OutcomeKind, TurnOutcome


@dataclass(slots=True)
class TurnMarks:
    """Left by tools while the turn runs."""

    tried: int = 0
    """Messages that ``reply`` began, so that each has a number of its own."""
    said: int = 0
    """Those of them that are in the channel or on their way there."""
    silent: bool = False
    """Whether silence was chosen."""


def concluded(outcome: TurnOutcome, marks: TurnMarks) -> TurnOutcome:
    """Give the outcome of a turn with what its tools did."""
    if outcome.kind not in (OutcomeKind.REPLIED, OutcomeKind.SILENT):
        return outcome
    if marks.silent:
        outcome = replace(outcome, kind=OutcomeKind.SILENT, text="", cut_short=False)
    if marks.said and outcome.kind is OutcomeKind.SILENT:
        outcome = replace(outcome, kind=OutcomeKind.REPLIED)
    return replace(outcome, said=marks.said, chose_silence=marks.silent)
