"""What people read when something went wrong."""

from __future__ import annotations

from unittest.mock import create_autospec

import discord
import pytest
from structlog.testing import capture_logs

from bot import errors
from compiler.errors import BlockTooLarge, SafeError
from compiler.request import RunId, TurnId
from sessions.errors import StoreUnavailable
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.review.inspection import InspectionError, InspectionErrorCode
from sessions.schedule import ScheduleUnreadable
from sessions.tasks import TaskErrorCode, TaskRefused

RUN = RunId("2026-11-29-23-16-35-abcd")


def outcome(kind: OutcomeKind, safe_message: str = "") -> TurnOutcome:
    return TurnOutcome(
        kind=kind, run_id=RUN, turn_id=TurnId("discord:message:5"), safe_message=safe_message
    )


def test_a_failed_turn_is_one_sentence_and_the_run() -> None:
    """Issue "Bot": compile failure, turn failure, timeout: one plain sentence and the run id."""
    told = errors.sentence_for(outcome(OutcomeKind.FAILED, "The model took too long."))
    assert told == f"The model took too long. (run `{RUN}`)"


def test_a_failure_without_a_sentence_still_has_one() -> None:
    """Nobody is left without a word."""
    assert errors.sentence_for(outcome(OutcomeKind.CUT_OFF)).startswith(errors.SOMETHING_BROKE)


def test_silence_is_said_kindly() -> None:
    """P08: a model that says nothing gets one short notice."""
    assert errors.sentence_for(outcome(OutcomeKind.SILENT)) == errors.NOTHING_TO_SAY


def test_a_safe_error_shows_its_safe_message() -> None:
    """The message of a SafeError is fit for the channel; the facts are for the log."""
    error = BlockTooLarge(block="message", source="discord", chars=9, limit_chars=8)
    with capture_logs() as logs:
        told = errors.reply_for(error)
    assert told.startswith(error.safe_message)
    assert logs[0]["code"] == "block_too_large"
    assert logs[0]["incident"] in told


def test_any_other_error_shows_a_fixed_sentence_and_no_text() -> None:
    """The fault log's posted host paths: the text of an exception is nowhere."""
    with capture_logs() as logs, pytest.raises(OSError, match="CANARY") as raised:
        raise OSError("/home/ada/CANARY key=CANARY")
    with capture_logs() as logs:
        told = errors.reply_for(raised.value)
    assert told.startswith(errors.SOMETHING_BROKE)
    assert "CANARY" not in told + repr(logs)
    assert logs[0]["kind"] == "OSError"
    assert logs[0]["at"].startswith("test_errors:") or "test_errors" in logs[0]["at"]


@pytest.mark.parametrize(
    "error",
    [
        ScheduleUnreadable("That time is over already."),
        TaskRefused(TaskErrorCode.UNKNOWN, "There is no such task here."),
        InspectionError(InspectionErrorCode.RUN_UNKNOWN, "There is no such run."),
        InspectionError(InspectionErrorCode.TURN_UNKNOWN, "There is no turn 9."),
    ],
)
async def test_what_a_person_can_put_right_names_no_incident(
    error: SafeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else has to look: the sentence says what would do, and no more."""
    told: list[str] = []

    async def answer(_: object, text: str) -> None:
        told.append(text)

    monkeypatch.setattr(errors, "answer", answer)
    interaction = create_autospec(discord.Interaction, instance=True, command=None)
    await errors.answer_command_error(interaction, error)
    for serious in (
        StoreUnavailable("locked"),
        InspectionError(InspectionErrorCode.TRACE_UNVERIFIED, "It does not verify."),
    ):
        await errors.answer_command_error(interaction, serious)
        assert "incident" in told[-1]
    assert told[0] == error.safe_message
