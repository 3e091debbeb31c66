"""``reply`` and ``stay_silent``: a further message in this very conversation, or none at all.

Where a message goes is the turn's own scope, never an argument. It leaves through the edge's outbox
(``Voice``), which posts each of them once, whatever happens to the host meanwhile.

Silence is for groups, where nobody may have asked: it ends the turn without a word. Somebody who
writes in a direct message waits for an answer, so there it is refused; a task, which nobody waits
for, may be silent anywhere.

Spec: issue "Gateway of actions"; CC "Runtime scope" (direct and group behaviour, reply tool).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from compiler.request import RunId, RunSurface
from sessions.limits import TalkSettings
from sessions.tools.call import BAD_ARGUMENTS, ToolAnswer, ToolCall, ToolTurn
from sessions.visible import is_visible
from sessions.workspace_files import FileRefused, WorkspaceFile, read_files

NOTHING: Final = "There is nothing to send: give a text, or files."
NO_PLACE: Final = "There is no conversation here to say something in. Put it into your answer."
ENOUGH: Final = "You have sent as many messages as one turn may. Put the rest into your answer."
AFTER_SILENCE: Final = "You chose to stay silent, so nothing more is said."
QUIET: Final = "Nothing is said."
SOMEBODY_WAITS: Final = (
    "This is a direct message: the person waits for an answer. Answer in a sentence."
)


class Said(StrEnum):
    """What became of a message; the words are for the model."""

    POSTED = "Sent. Do not repeat it in your answer; end with nothing if it was all."
    ON_ITS_WAY = "It is on its way. Do not send it again."
    TOO_LONG = "That is too long for one message. Send it as a file, or in your answer."
    HELD = "Messages wait for approval here. Put it into your answer, which then waits too."
    FAILED = "It could not be sent."


class Voice(Protocol):
    """Says things in a conversation; the edge has one."""

    async def say(
        self, turn: ToolTurn, number: int, text: str, files: tuple[WorkspaceFile, ...]
    ) -> Said:
        """Post a message in the turn's conversation, once for each ``number`` of the turn."""


class LateVoice:
    """A voice for sessions that are put together before the edge is there."""

    def __init__(self) -> None:
        self.voice: Voice | None = None

    async def say(
        self, turn: ToolTurn, number: int, text: str, files: tuple[WorkspaceFile, ...]
    ) -> Said:
        """Hand on to the voice, if there is one by now."""
        if self.voice is None:
            return Said.FAILED
        return await self.voice.say(turn, number, text, files)


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Reply(_Arguments):
    text: str = ""
    files: tuple[str, ...] = ()


class _Silence(_Arguments):
    """None."""


class ReplyTool:
    """Answers ``reply``."""

    def __init__(
        self,
        voice: Voice,
        *,
        workspace: Callable[[RunId], Path],
        settings: Callable[[], TalkSettings],
    ) -> None:
        """Take the edge's voice, the place of a run's files, and the owner's limits."""
        self._voice = voice
        self._workspace = workspace
        self._settings = settings

    async def answer(self, turn: ToolTurn, call: ToolCall) -> ToolAnswer:
        """Say something more."""
        try:
            asked = _Reply.model_validate_json(call.arguments)
        except ValidationError:
            return _refused(BAD_ARGUMENTS)
        settings, marks = self._settings(), turn.marks
        if marks.silent:
            return _refused(AFTER_SILENCE)
        if turn.scope.channel_id is None or turn.surface is RunSurface.DIRECT:
            return _refused(NO_PLACE)  # whoever asks in a shell reads the answer there
        if not is_visible(asked.text) and not asked.files:
            return _refused(NOTHING)
        if marks.tried >= settings.reply_messages:
            return _refused(ENOUGH)
        marks.tried += 1
        number = marks.tried
        try:
            files = await asyncio.to_thread(
                read_files,
                self._workspace(turn.run_id),
                asked.files,
                max_files=settings.reply_files,
                max_bytes=settings.reply_file_bytes,
            )
        except FileRefused as refused:
            return _refused(refused.fault.value)
        said = await self._voice.say(turn, number, asked.text, files)
        done = said in (Said.POSTED, Said.ON_ITS_WAY)
        marks.said += done
        return ToolAnswer(ok=done, text=said.value)


async def stay_silent(turn: ToolTurn, call: ToolCall) -> ToolAnswer:
    """End the turn without a word."""
    try:
        _Silence.model_validate_json(call.arguments)
    except ValidationError:
        return _refused(BAD_ARGUMENTS)
    if turn.scope.is_dm and turn.scope.message_id is not None:
        return _refused(SOMEBODY_WAITS)
    turn.marks.silent = True
    return ToolAnswer(ok=True, text=QUIET, ends_turn=True)


def _refused(text: str) -> ToolAnswer:
    return ToolAnswer(ok=False, text=text)
