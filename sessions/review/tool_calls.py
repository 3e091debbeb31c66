"""The tool calls of a run as its owner looks at them: the host's word, sizes and hashes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sessions.traces.events import ToldEvent, ToolEvent, TraceEvent, UnlistedEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    """One call, without its words; ``rule`` counts from 1, as an owner counts."""

    turn_id: str
    tool: str
    verdict: str
    rule: int | None
    gate_id: str | None
    arguments_chars: int
    arguments_sha256: str
    failed: bool | None
    """None: the model heard nothing of it."""
    result_chars: int
    result_sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlistedView:
    """How many calls of a turn were refused or cut off unjudged."""

    turn_id: str
    calls: int


def view_unlisted(events: Iterable[TraceEvent]) -> tuple[UnlistedView, ...]:
    """Give the turns of a trace with calls that have no line of their own."""
    return tuple(
        UnlistedView(turn_id=event.turn_id, calls=event.calls)
        for event in events
        if isinstance(event, UnlistedEvent)
    )


def view_tools(events: Iterable[TraceEvent]) -> tuple[ToolView, ...]:
    """Give the calls of a trace in their order, each with the last that was told of it."""
    seen = tuple(events)
    told = {each.call.seq: each for each in seen if isinstance(each, ToldEvent)}
    heard = ((each, told.get(each.seq, each)) for each in seen if isinstance(each, ToolEvent))
    return tuple(
        ToolView(
            turn_id=event.turn_id,
            tool=event.tool,
            verdict=event.verdict,
            rule=None if event.rule is None else event.rule + 1,
            gate_id=event.gate_id,
            arguments_chars=len(event.arguments),
            arguments_sha256=event.arguments_sha256,
            failed=said.failed,
            result_chars=said.result_chars,
            result_sha256=said.result_sha256,
        )
        for event, said in heard
    )
