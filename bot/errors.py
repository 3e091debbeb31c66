"""The one place where something that went wrong becomes a sentence for people.

A ``SafeError`` shows its own safe message; whatever else happened shows one fixed sentence. Both
end with an id under which the owner finds the whole story: the run's where there is one, else an
incident's, which stands in the log beside the error's type. What a person can put right by typing
it otherwise has no such id. Texts of exceptions are never shown:
they may hold paths, names or what somebody wrote.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import discord
import structlog
from discord import app_commands

from bot.follow_up import follow_up
from bot.logs import describe
from compiler.errors import SafeError
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.review.inspection import InspectionError, InspectionErrorCode
from sessions.schedule import ScheduleUnreadable
from sessions.tasks import TaskRefused

if TYPE_CHECKING:
    from compiler.request import RunId

SOMETHING_BROKE = "Something went wrong on my side, and your message got no answer."
NOTHING_TO_SAY = "I have nothing to say to that."
COMMAND_BROKE = "Something went wrong on my side."
TOO_LATE = "That took too long for Discord. Please try again."
_UNKNOWN_INTERACTION = 10062
_NOT_THERE = frozenset(
    {
        InspectionErrorCode.RUN_UNKNOWN,
        InspectionErrorCode.RUN_AMBIGUOUS,
        InspectionErrorCode.TURN_UNKNOWN,
    }
)
"""Somebody named a run or a turn that there is not."""
_log = structlog.get_logger(__name__)


class Refused(app_commands.CheckFailure):
    """A command that this person, or this place, may not use; the sentence says which."""

    def __init__(self, safe_message: str) -> None:
        super().__init__(safe_message)
        self.safe_message = safe_message


def with_run(sentence: str, run_id: RunId | None) -> str:
    """Add the run's id to a sentence."""
    return sentence if run_id is None else f"{sentence} (run `{run_id}`)"


def sentence_for(outcome: TurnOutcome) -> str:
    """Give what a channel reads of a turn that did not reply."""
    if outcome.kind is OutcomeKind.SILENT:
        return NOTHING_TO_SAY
    return with_run(outcome.safe_message or SOMETHING_BROKE, outcome.run_id)


def reply_for(error: Exception, *, otherwise: str = SOMETHING_BROKE) -> str:
    """Log an error and give the sentence that may be shown for it, with an incident id."""
    incident = secrets.token_hex(4)
    if isinstance(error, SafeError):
        _log.warning("error.safe", incident=incident, code=str(error.code), **error.facts)
        sentence = error.safe_message
    else:
        _log.error("error.unexpected", incident=incident, **describe(error))
        sentence = otherwise
    return f"{sentence} (incident `{incident}`)"


async def answer_command_error(interaction: discord.Interaction, error: Exception) -> None:
    """Tell the person who gave a command why it did not work; always ephemeral."""
    cause = error.original if isinstance(error, app_commands.CommandInvokeError) else error
    if isinstance(cause, discord.NotFound) and cause.code == _UNKNOWN_INTERACTION:
        _log.warning("command.too_late", command=_command_name(interaction))
        return
    if isinstance(cause, Refused):
        text = cause.safe_message
    elif (mistyped := _mistyped(cause)) is not None:
        _log.info("command.refused", code=str(mistyped.code), command=_command_name(interaction))
        text = mistyped.safe_message
    elif isinstance(cause, app_commands.TransformerError):
        text = "One of the options is not what this command needs."
    else:
        text = reply_for(cause, otherwise=COMMAND_BROKE)
    await answer(interaction, text)


def _mistyped(error: Exception) -> SafeError | None:
    """Give an error that whoever typed can put right, and nobody else."""
    if isinstance(error, ScheduleUnreadable | TaskRefused):
        return error
    return error if isinstance(error, InspectionError) and error.code in _NOT_THERE else None


async def answer(interaction: discord.Interaction, text: str) -> None:
    """Answer or follow up ephemerally, whichever is still open; a lost interaction is logged."""
    try:
        if interaction.response.is_done():
            await follow_up(interaction, text, ephemeral=True)
        else:
            await interaction.response.send_message(text, ephemeral=True)
    except discord.HTTPException as failure:
        _log.warning(
            "command.unanswered",
            command=_command_name(interaction),
            status=failure.status,
            code=failure.code,
        )


def _command_name(interaction: discord.Interaction) -> str:
    return interaction.command.qualified_name if interaction.command else "unknown"
