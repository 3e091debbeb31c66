"""What the host answers to a memory tool: the call read, the service asked, the result told.

Arguments come from a model and are checked as a stranger's. They can say what to keep and which id
is meant, never for whom or where: that is the turn's ``MemoryContext``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Final, Literal, TypeVar, assert_never

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from compiler.conflict_codes import ConflictCode
from compiler.errors import SafeError
from compiler.render import quote
from sessions.faults import fault_facts
from sessions.memory.notes import Claim
from sessions.memory.results import (
    Changed,
    Erased,
    Forgotten,
    Gone,
    Kept,
    Listed,
    NoteState,
    NotFound,
    Refused,
    Remembered,
)
from sessions.memory.rules import MemoryContext
from sessions.memory.service import MemoryService
from sessions.tools.call import BAD_ARGUMENTS, FAILED, ToolAnswer, ToolCall

_log = structlog.get_logger(__name__)
MAX_ARGUMENT_CHARS: Final = 100_000
"""Longer arguments are not even parsed; a note has 2,000 characters."""


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Claim(_Arguments):
    subject: str
    predicate: str
    value: str


class _Remember(_Arguments):
    text: str
    about: Literal["person", "channel"] = "person"
    claim: _Claim | None = None
    expires: str | None = None


class _Recall(_Arguments):
    query: str


class _Forget(_Arguments):
    id: str


class _Correct(_Arguments):
    id: str
    text: str


_Call = TypeVar("_Call", bound=_Arguments)


class MemoryTools:
    """Answers the memory tools of one turn."""

    def __init__(self, memory: MemoryService, ctx: MemoryContext) -> None:
        """Take the service and the host's record of the turn, the one source of scope."""
        self._memory = memory
        self._ctx = ctx
        self._handlers: Mapping[str, Callable[[str], Awaitable[ToolAnswer]]] = {
            "remember": self._remember,
            "recall": self._recall,
            "forget": self._forget,
            "correct": self._correct,
        }

    async def answer(self, call: ToolCall) -> ToolAnswer:
        """Carry out a call; whatever goes wrong is an answer too."""
        handler = self._handlers.get(call.name)
        if handler is None or len(call.arguments) > MAX_ARGUMENT_CHARS:
            return ToolAnswer(ok=False, text=BAD_ARGUMENTS)
        try:
            return await handler(call.arguments)
        except (ValidationError, ValueError):
            return ToolAnswer(ok=False, text=BAD_ARGUMENTS)
        except SafeError as error:
            _log.warning("tool.failed", tool=call.name, code=str(error.code), **error.facts)
            return ToolAnswer(ok=False, text=error.safe_message)
        except Exception as error:  # noqa: BLE001 - the boundary of one call
            _log.error("tool.broken", tool=call.name, **fault_facts(error))
            return ToolAnswer(ok=False, text=FAILED)

    async def _remember(self, arguments: str) -> ToolAnswer:
        call = _parsed(_Remember, arguments)
        claim = None
        if call.claim is not None:
            claim = Claim(
                subject=call.claim.subject,
                predicate=call.claim.predicate,
                value=call.claim.value,
            )
        result = await self._memory.remember(
            self._ctx,
            call.text,
            explicit=False,
            claim=claim,
            expires=None if call.expires is None else _day(call.expires),
            about_channel=call.about == "channel",
        )
        return _written(result)

    async def _correct(self, arguments: str) -> ToolAnswer:
        call = _parsed(_Correct, arguments)
        return _written(await self._memory.correct(self._ctx, call.id, call.text))

    async def _recall(self, arguments: str) -> ToolAnswer:
        call = _parsed(_Recall, arguments)
        found = await self._memory.recall(self._ctx, call.query)
        if self._ctx.run_id is not None:
            # The answer becomes part of the session, so forgetting has to find it there.
            await self._memory.keep_use(self._ctx.run_id, [each.short_id for each in found.notes])
        return ToolAnswer(ok=True, text=_found_text(found))

    async def _forget(self, arguments: str) -> ToolAnswer:
        call = _parsed(_Forget, arguments)
        result: Erased = await self._memory.forget(self._ctx, call.id)
        match result:
            case Forgotten():
                return ToolAnswer(ok=True, text=f"Forgotten: {call.id}. Do not repeat it.")
            case Refused() | NotFound() | Gone():
                return ToolAnswer(ok=False, text=result.sentence)
            case _:
                assert_never(result)


def _written(result: Remembered | Changed) -> ToolAnswer:
    match result:
        case Kept():
            return ToolAnswer(ok=True, text=_kept_text(result))
        case Refused() | NotFound() | Gone():
            return ToolAnswer(ok=False, text=result.sentence)
        case _:
            assert_never(result)


def _parsed(form: type[_Call], arguments: str) -> _Call:
    """Read a call's arguments.

    Raises:
        ValueError: they have another form (pydantic's ``ValidationError`` is one).
    """
    return form.model_validate_json(arguments)


def _day(text: str) -> datetime:
    """Read a date as its beginning in UTC.

    Raises:
        ValueError: it is no date.
    """
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)


_UNCERTAIN: Final = (
    f"{ConflictCode.UNCERTAIN_RETRIEVAL}: none of these notes holds the words that you asked for."
)
_STANDS: Final = {
    NoteState.WAITING: "it waits until the person agrees, and is not used before",
    NoteState.INFERRED: "as your guess, until the person confirms it",
    NoteState.CONFIRMED: "confirmed by the person",
}


def _kept_text(kept: Kept) -> str:
    stands = _STANDS.get(kept.note.state, kept.note.state.value)
    lead = "Known already" if kept.known else "Kept"
    tail = f" It replaces {', '.join(kept.replaced)}." if kept.replaced else ""
    return f"{lead} as {kept.note.short_id}: {stands}.{tail}"


def _found_text(found: Listed) -> str:
    """Write notes as data, in the form of the memory block, after a word on their worth."""
    if not found.notes:
        return "No notes."
    lines = [_UNCERTAIN] if found.uncertain else []
    for each in found.notes:
        conflict = f'"conflict":{quote(each.conflict)},' if each.conflict else ""
        lines.append(
            f'{{"id":{quote(each.short_id)},"status":{quote(each.state.value)},'
            f'"recorded_on":{quote(each.recorded_on)},{conflict}"text":{quote(each.text)}}}'
        )
    return "\n".join(lines)
