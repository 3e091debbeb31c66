"""The account of one tool call, and the lines of the trace that it becomes. Pure.

What a tool gives is not kept here, only its size and hash: the model's own words, which are
exactly what was judged, are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from compiler.hashing import sha256_text
from compiler.request import RunId, TurnId
from sessions.clock import timestamp
from sessions.gateway import Ruling
from sessions.pi.protocol import ToolResult
from sessions.tools.call import ToolAnswer, ToolCall
from sessions.traces.events import ToldEvent, ToolEvent, TraceMark, UnlistedEvent
from sessions.traces.forms import TracedMark, clean

LABEL_CHARS = 200
"""Kept of a name or an id: whatever the engine says stands in the trace, and not at any length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the model was told of a call, by size and hash."""

    call_id: str
    failed: bool
    chars: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecord:
    """One call whose line is in the trace; ``told`` is what the host is known to have said."""

    call_id: str
    mark: TraceMark
    told: Told | None = None


def told_of(result: ToolResult) -> Told:
    """Measure a result."""
    return _told(result.tool_call_id, result.text, failed=result.is_error)


def told_by_host(call: ToolCall, answer: ToolAnswer) -> Told | None:
    """Measure what the host says; None where the engine goes on and finds out by itself."""
    if call.builtin and answer.ok:
        return None
    return _told(call.call_id, clean(answer.text), failed=not answer.ok)


def _told(call_id: str, text: str, *, failed: bool) -> Told:
    return Told(call_id=call_id, failed=failed, chars=len(text), sha256=sha256_text(text))


def tool_event(
    call: ToolCall, ruling: Ruling, *, run_id: RunId, turn_id: TurnId, judged_us: int, at: datetime
) -> ToolEvent:
    """Write the line of a call that was judged."""
    arguments = clean(call.arguments)
    return ToolEvent(
        ts=timestamp(at),
        run_id=run_id,
        turn_id=clean(turn_id),
        tool=clean(call.name)[:LABEL_CHARS],
        call_id=clean(call.call_id)[:LABEL_CHARS],
        builtin=call.builtin,
        arguments=arguments,
        arguments_sha256=sha256_text(arguments),
        verdict=ruling.verdict.value,
        rule=ruling.rule,
        gate_id=ruling.gate_id,
        judged_us=judged_us,
    )


def told_event(
    mark: TraceMark, told: Told, *, run_id: RunId, turn_id: TurnId, at: datetime
) -> ToldEvent:
    """Write the line of what was told of the call whose line is ``mark``."""
    return ToldEvent(
        ts=timestamp(at),
        run_id=run_id,
        turn_id=clean(turn_id),
        call=TracedMark(seq=mark.seq, sha256=mark.sha256),
        failed=told.failed,
        result_chars=told.chars,
        result_sha256=told.sha256,
    )


def unlisted_event(calls: int, *, run_id: RunId, turn_id: TurnId, at: datetime) -> UnlistedEvent:
    """Write how many calls of a turn have no line of their own."""
    return UnlistedEvent(ts=timestamp(at), run_id=run_id, turn_id=clean(turn_id), calls=calls)


def told_events(
    records: Iterable[ToolRecord],
    told: Iterable[Told],
    *,
    run_id: RunId,
    turn_id: TurnId,
    at: datetime,
) -> tuple[ToldEvent, ...]:
    """Write what the engine says that the model was told, where no line says so yet.

    A call that the model heard nothing of, since the turn was cut off, has no line.
    """
    results = {each.call_id: each for each in told if each.call_id}
    heard = ((record, results.get(record.call_id)) for record in records)
    return tuple(
        told_event(record.mark, result, run_id=run_id, turn_id=turn_id, at=at)
        for record, result in heard
        if result is not None and result != record.told
    )
