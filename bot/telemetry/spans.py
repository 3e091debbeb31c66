"""A recorded turn as spans: how long each of its steps took; pure.

    turn > wait, compile, trace, pi > model call (each)
    turn > delivery, told later, once the answer is in its channel

Waiting, compiling and writing the trace are known by their lengths alone and are laid out one
after the other; what is between them and the end of the turn is pi's. Model calls have times of
their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from sessions.clock import parse_timestamp
from sessions.inbound import OutcomeKind
from sessions.store.runs import RunRow, TurnRow
from sessions.traces.events import WireEvent

Attributes: TypeAlias = Mapping[str, str | int | float]
GOOD: Final = frozenset(
    {OutcomeKind.REPLIED, OutcomeKind.SILENT, OutcomeKind.CLARIFIED, OutcomeKind.UPDATED}
)
"""Outcomes that are no error."""
_US: Final = 1_000
_SECOND: Final = 1_000_000_000
_BAD_STATUS: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanPlan:
    """One span with those within it; times in Unix nanoseconds. ``error`` is a code or empty."""

    name: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    error: str = ""
    within: tuple[SpanPlan, ...] = ()


def plan_turn(run: RunRow, turn: TurnRow, calls: Iterable[WireEvent] = ()) -> SpanPlan:
    """Lay out the spans of a turn that has ended, but for its delivery."""
    began = _nanoseconds(parse_timestamp(turn.accepted_at)) - turn.wait_us * _US
    end = began + turn.total_us * _US
    steps, at = [], began
    for name, micros in (
        ("wait", turn.wait_us),
        ("compile", turn.compile_us),
        ("trace", turn.trace_us),
    ):
        if micros:
            steps.append(_step(name, at, micros))
            at += micros * _US
    made = tuple(map(_call, calls))
    if turn.usage.model_calls or made:
        steps.append(
            SpanPlan(
                name="pi",
                start_ns=at,
                end_ns=max(at, end),
                attributes={"inglenook.first_text_us": turn.first_text_us},
                within=made,
            )
        )
    outcome = turn.outcome
    failed = outcome is not None and outcome not in GOOD
    return SpanPlan(
        name="turn",
        start_ns=began,
        end_ns=max(end, at),
        attributes=_turn_attributes(run, turn),
        error=(turn.error_code or str(outcome)) if failed else "",
        within=tuple(steps),
    )


def plan_delivery(turn: SpanPlan, posted_at: str) -> SpanPlan:
    """Lay out what came after a turn, until its last message was in the channel."""
    posted = _nanoseconds(parse_timestamp(posted_at))
    return SpanPlan(
        name="delivery",
        start_ns=turn.end_ns,
        end_ns=max(turn.end_ns, posted),
        attributes={},
    )


def _turn_attributes(run: RunRow, turn: TurnRow) -> Attributes:
    usage = turn.usage
    found: dict[str, str | int | float | None] = {
        "inglenook.run_id": run.run_id,
        "inglenook.turn": turn.seq,
        "inglenook.imp": run.imp,
        "inglenook.surface": run.surface,
        "inglenook.outcome": None if turn.outcome is None else turn.outcome.value,
        "inglenook.error_code": turn.error_code or None,
        "inglenook.system_sha256": run.system_sha256,
        "inglenook.input_sha256": turn.input_sha256,
        "inglenook.reply_sha256": turn.reply_sha256,
        "inglenook.model_calls": usage.model_calls,
        "inglenook.cost_usd": usage.cost_usd,
        "inglenook.cache_read_tokens": usage.cache_read_tokens,
        "inglenook.cache_write_tokens": usage.cache_write_tokens,
        "gen_ai.usage.input_tokens": usage.input_tokens
        + usage.cache_read_tokens
        + usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    return {name: value for name, value in found.items() if value is not None}


def _call(event: WireEvent) -> SpanPlan:
    began = _nanoseconds(parse_timestamp(event.ts))
    attributes: dict[str, str | int | float] = {
        "inglenook.call": event.number,
        "inglenook.api": event.api,
        "inglenook.body_bytes": event.body_bytes,
        "inglenook.body_sha256": event.body_sha256,
        "inglenook.first_byte_us": event.first_byte_us,
        "inglenook.response_bytes": event.response_bytes,
        "http.response.status_code": event.status,
    }
    if event.usage is not None:
        attributes["gen_ai.usage.input_tokens"] = event.usage.input_tokens
        attributes["gen_ai.usage.output_tokens"] = event.usage.output_tokens
        attributes["inglenook.cached_tokens"] = event.usage.cached_tokens
    refused = event.refusal or (f"status {event.status}" if event.status >= _BAD_STATUS else "")
    return SpanPlan(
        name="model call",
        start_ns=began,
        end_ns=began + event.total_us * _US,
        attributes=attributes,
        error=refused,
    )


def _step(name: str, at_ns: int, micros: int) -> SpanPlan:
    return SpanPlan(name=name, start_ns=at_ns, end_ns=at_ns + micros * _US, attributes={})


def _nanoseconds(moment: datetime) -> int:
    # Not over a float of seconds, which has no room for nanoseconds.
    return int(moment.timestamp()) * _SECOND + moment.microsecond * _US
