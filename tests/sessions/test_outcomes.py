"""Outcomes of messages that pi never settled."""

from __future__ import annotations

import pytest

from compiler.errors import BlockTooLarge
from compiler.request import RunId
from sessions.errors import _REJECTIONS, SessionErrorCode
from sessions.inbound import OutcomeKind
from sessions.outcomes import cut_off, failure, rejection
from sessions.turn import HaltReason
from support.session_world import inbound

RUN = RunId("2026-11-29-23-16-35-abcd")


@pytest.mark.parametrize("code", list(_REJECTIONS))
def test_a_rejection_says_why(code: SessionErrorCode) -> None:
    """One plain sentence, no run."""
    outcome = rejection(inbound(1), code)
    assert (outcome.kind, outcome.error_code, outcome.run_id) == (OutcomeKind.REJECTED, code, None)
    assert outcome.safe_message.endswith(".")


def test_a_safe_error_shows_its_sentence() -> None:
    """Code and words are the error's."""
    error = BlockTooLarge(block="message", source="message", chars=2, limit_chars=1)
    outcome = failure(inbound(1), RUN, error)
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, "block_too_large")
    assert (outcome.safe_message, outcome.run_id) == (error.safe_message, RUN)


def test_any_other_error_shows_nothing_of_itself() -> None:
    """CC "Failure behavior": never text, paths or secrets."""
    outcome = failure(inbound(1), RUN, ValueError("CANARY in /somewhere"))
    assert outcome.error_code == "internal"
    assert "CANARY" not in repr(outcome)


@pytest.mark.parametrize("reason", list(HaltReason))
def test_a_cut_off_uses_the_turn_machines_words(reason: HaltReason) -> None:
    """The same sentence, whether pi had the turn or not."""
    outcome = cut_off(inbound(1), None, reason)
    assert (outcome.kind, outcome.error_code, outcome.run_id) == (OutcomeKind.CUT_OFF, reason, None)
    assert outcome.safe_message.endswith(".")
