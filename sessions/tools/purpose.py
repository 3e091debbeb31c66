"""``propose_purpose``: what a channel is for, proposed by the imp and written once a person agrees.

A purpose is a directive of the owner's, so no rule lets the imp write one by itself: the call
becomes a gate, and what is approved is exactly the text that the card shows. Signs that a reader
cannot see are refused, for he could not know what he agrees to. The gate also remembers what it
would replace; if the owner has written something else meanwhile, his words stand.

The same bytes written again change nothing, so a killed host writes them again.

Spec: CC "Purpose", acceptance 15 (an edit counts from the next session on).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from compiler.budget import ContextBudgets
from compiler.canonical_json import JsonValue
from compiler.normalize import normalize_source
from compiler.request import ChannelId, ImpName
from sessions.gate_execution import ActionFailed
from sessions.gates import Gate
from sessions.sources import purpose_file
from sessions.tools.call import BAD_ARGUMENTS, ToolAnswer, ToolCall, ToolTurn
from sessions.visible import is_seen

NO_CHANNEL: Final = "There is no channel here that could have a purpose."
EMPTY: Final = "A purpose needs words."
TOO_LONG: Final = "That is too long: a purpose has at most {chars} characters."
UNSEEN: Final = "That holds signs that nobody can see. Write it without them."
SAME: Final = "That is this channel's purpose already."
DONE: Final = "The purpose is written. It counts from the next session on."
CHANGED: Final = "The purpose was changed meanwhile, so it was left as it is now."
UNWRITTEN: Final = "The purpose could not be written."
_OF_PICTURES: Final = frozenset({"\u200d", "\ufe0f"})
"""Make one picture of two, and a picture of a letter: of the unseen the only ones with a use."""


class PurposeErrorCode(StrEnum):
    """Why an approved purpose was not written."""

    CHANGED = "purpose_changed"
    UNWRITABLE = "purpose_unwritable"


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    text: str
    reason: str = ""


class PurposeTool:
    """Checks what is proposed, and writes what was approved."""

    def __init__(self, home: Path, *, budgets: Callable[[ImpName], ContextBudgets]) -> None:
        self._home = home
        self._budgets = budgets

    async def answer(self, turn: ToolTurn, call: ToolCall) -> ToolAnswer:
        """Refuse: no rule lets it be carried out without a person."""
        del turn, call
        return ToolAnswer(ok=False, text=UNWRITTEN)

    async def prepare(
        self, turn: ToolTurn, arguments: Mapping[str, JsonValue]
    ) -> Mapping[str, JsonValue] | str:
        """Give what a person is asked about, or why nobody is."""
        try:
            asked = _Arguments.model_validate(dict(arguments))
        except ValidationError:
            return BAD_ARGUMENTS
        file = self._file(turn.scope.home_channel_id)
        text = normalize_source(asked.text).strip()
        limit = self._budgets(turn.imp).purpose_max_chars
        if file is None:
            return NO_CHANNEL
        if not text:
            return EMPTY
        if len(text) > limit:
            return TOO_LONG.format(chars=limit)
        if not all(sign in _OF_PICTURES or is_seen(sign) for sign in text):
            return UNSEEN
        present = await asyncio.to_thread(_read, file)
        if present.strip() == text.encode():
            return SAME
        return {"text": text, "reason": asked.reason, "replaces_sha256": _hash(present)}

    async def perform(self, gate: Gate) -> str:
        """Write the approved text.

        Raises:
            ActionFailed: it is not what it would replace any more, or cannot be written.
        """
        origin = gate.origin
        file = self._file(origin.parent_channel_id or origin.channel_id)
        frozen = json.loads(gate.payload)
        if file is None:
            raise ActionFailed(PurposeErrorCode.UNWRITABLE, UNWRITTEN)
        try:
            await asyncio.to_thread(
                _write, file, f"{frozen['text']}\n".encode(), replaces=frozen["replaces_sha256"]
            )
        except OSError as error:
            raise ActionFailed(PurposeErrorCode.UNWRITABLE, UNWRITTEN) from error
        return DONE

    def _file(self, channel: ChannelId | None) -> Path | None:
        file = purpose_file(channel)
        return None if file is None else self._home / file


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _write(file: Path, content: bytes, *, replaces: str) -> None:
    """Put a file in place of the one it was meant to replace, whole and on the disk.

    Raises:
        ActionFailed: another one stands there.
        OSError: the old file is then unchanged.
    """
    present = _read(file)
    if present == content:
        return
    if _hash(present) != replaces:
        raise ActionFailed(PurposeErrorCode.CHANGED, CHANGED)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
