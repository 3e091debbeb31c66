"""How a turn ends that has spoken before its end, or chose to be silent."""

from __future__ import annotations

import pytest

from compiler.request import RunId, TurnId
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.turn_marks import TurnMarks, concluded

REPLIED, SILENT = OutcomeKind.REPLIED, OutcomeKind.SILENT


def outcome(kind: OutcomeKind, text: str = "") -> TurnOutcome:
    return TurnOutcome(kind=kind, run_id=RunId("r"), turn_id=TurnId("t"), text=text)


@pytest.mark.parametrize(
    ("ended", "marks", "left"),
    [
        ((REPLIED, "word"), TurnMarks(), (REPLIED, "word")),
        ((SILENT, ""), TurnMarks(), (SILENT, "")),
        ((SILENT, ""), TurnMarks(said=2), (REPLIED, "")),
        ((REPLIED, "word"), TurnMarks(said=1), (REPLIED, "word")),
        ((SILENT, ""), TurnMarks(silent=True), (SILENT, "")),
        ((REPLIED, "word"), TurnMarks(silent=True), (SILENT, "")),
        ((REPLIED, "word"), TurnMarks(said=1, silent=True), (REPLIED, "")),
    ],
)
def test_what_tools_did_counts(
    ended: tuple[OutcomeKind, str], marks: TurnMarks, left: tuple[OutcomeKind, str]
) -> None:
    """Issue "Tools": a reply is an answer; after silence nothing is said, whatever was added."""
    end = concluded(outcome(*ended), marks)
    assert (end.kind, end.text) == left
    assert (end.said, end.chose_silence) == (marks.said, marks.silent)


@pytest.mark.parametrize("kind", [OutcomeKind.FAILED, OutcomeKind.CUT_OFF])
def test_a_failure_stays_one(kind: OutcomeKind) -> None:
    """Silence is no way to hide that a turn went wrong."""
    failed = outcome(kind)
    assert concluded(failed, TurnMarks(said=1, silent=True)) == failed
