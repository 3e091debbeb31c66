"""What a run was: its trace, and the rows beside it, made into views for its owner.

Pure: events (``sessions.traces.reader``) and rows (``sessions.store.runs``) in, values out; the
readers are at the edge.

Spec: CC "Trace and owner interface", acceptance test 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from compiler.errors import SafeError
from compiler.request import ContextPhase, TurnId
from sessions.clock import parse_timestamp
from sessions.inbound import Usage
from sessions.review.tool_calls import view_tools, view_unlisted
from sessions.review.views import (
    BlockView,
    BoundaryView,
    BudgetView,
    CompilationView,
    FailureView,
    OmissionView,
    RunView,
    TimesView,
    TokensView,
    TurnView,
)
from sessions.review.wire_calls import view_wire
from sessions.store.runs import RunRow, TurnRow
from sessions.traces.events import (
    CompiledEvent,
    EndedEvent,
    FailedEvent,
    GapEvent,
    OutcomeEvent,
    ResumedEvent,
)
from sessions.traces.forms import TracedBlock
from sessions.traces.plan import account_of
from sessions.traces.reader import TracedEvent

STEERED: Final = "steered"
"""Shown for an input whose turn went on with a further one."""
LEFT: Final = "not taken up"
"""Shown for a further input that came too late; its message has a turn of its own."""


class InspectionErrorCode(StrEnum):
    """Stable names of the ways in which an inspection fails."""

    RUN_UNKNOWN = "run_unknown"
    RUN_AMBIGUOUS = "run_ambiguous"
    TURN_UNKNOWN = "turn_unknown"
    TRACE_MISSING = "trace_missing"
    TRACE_UNVERIFIED = "trace_unverified"
    TRACE_PRUNED = "trace_pruned"
    NOT_COMPILED = "not_compiled"


class InspectionError(SafeError):
    """The owner asked for something that is not there, or that cannot be trusted."""

    def __init__(self, code: InspectionErrorCode, message: str) -> None:
        super().__init__(code, message)


def view_run(
    trace: Sequence[TracedEvent],
    row: RunRow | None = None,
    turns: Iterable[TurnRow] = (),
    posted: Mapping[TurnId, str] = MappingProxyType({}),
) -> RunView:
    """Put together what a trace says of a run; rows add times and how it ended.

    ``posted`` says when the last message of a turn was in its channel.

    Raises:
        InspectionError: the trace is empty (``TRACE_MISSING``).
    """
    events = [traced.event for traced in trace]
    first = next((item for item in events if isinstance(item, CompiledEvent | FailedEvent)), None)
    if first is None:
        raise InspectionError(
            InspectionErrorCode.TRACE_MISSING, "The trace of this run holds no compilation."
        )
    start = first if first.phase is ContextPhase.START else None
    ended = next((item for item in events if isinstance(item, EndedEvent)), None)
    planned = next((item for item in events if isinstance(item, CompiledEvent)), None)
    return RunView(
        run_id=first.run_id,
        imp=first.imp,
        surface=first.surface.value,
        place=first.scope.place.value,
        channel_id=first.scope.channel_id,
        is_dm=first.scope.is_dm,
        started_at=row.started_at if row else first.ts,
        ended_at=row.ended_at if row else (ended.ts if ended else None),
        end_reason=row.end_reason if row else (ended.reason if ended else None),
        start=None if start is None else _compilation(start),
        route_key=planned.cache.route_key if planned else None,
        boundaries=_boundaries(planned),
        turns=_turns(
            trace, {str(item.turn_id): (item, posted.get(item.turn_id)) for item in turns}
        ),
        resumed_at=tuple(item.ts for item in events if isinstance(item, ResumedEvent)),
        gaps=tuple(item.file for item in events if isinstance(item, GapEvent)),
        wire=view_wire(trace),
        tools=view_tools(events),
        unlisted=view_unlisted(events),
    )


def turn_events(trace: Iterable[TracedEvent]) -> tuple[CompiledEvent | FailedEvent, ...]:
    """The compilations of turns, in order; turn number n is at n - 1."""
    return tuple(
        traced.event
        for traced in trace
        if isinstance(traced.event, CompiledEvent | FailedEvent)
        and traced.event.phase is ContextPhase.TURN
    )


def _turns(
    trace: Sequence[TracedEvent], rows: Mapping[str, tuple[TurnRow, str | None]]
) -> tuple[TurnView, ...]:
    outcomes = {
        traced.event.turn_id: traced.event
        for traced in trace
        if isinstance(traced.event, OutcomeEvent)
    }
    found = turn_events(trace)
    numbers = {item.seq: place for place, item in enumerate(found, 1)}
    latest = {
        item.turn_id: item.seq
        for item in found
        if not _was_left(item, outcomes.get(item.turn_id or ""))
    }
    views: list[TurnView] = []
    for number, item in enumerate(found, 1):
        # A turn that was compiled again, or steered, has one outcome: with its last input.
        is_last = latest.get(item.turn_id) == item.seq
        outcome = outcomes.get(item.turn_id or "")
        view = _turn(
            number,
            item,
            outcome if is_last else None,
            rows.get(item.turn_id or "") if is_last else None,
        )
        if isinstance(item, CompiledEvent):
            view = replace(
                view,
                joined=tuple(each.message_id for each in item.joined),
                passed=item.passed,
                steers=None if item.steers is None else numbers.get(item.steers.seq),
            )
        if _was_left(item, outcome):
            view = replace(view, outcome=LEFT)
        elif not is_last and any(_steers(other, item) for other in found):
            view = replace(view, outcome=STEERED)
        views.append(view)
    return tuple(views)


def _steers(item: CompiledEvent | FailedEvent, other: CompiledEvent | FailedEvent) -> bool:
    return item.steers is not None and item.steers.seq == other.seq


def _was_left(item: CompiledEvent | FailedEvent, outcome: OutcomeEvent | None) -> bool:
    """Tell whether an input was to steer a turn, and pi was not given it or did not take it up."""
    if item.steers is None:
        return False
    if isinstance(item, FailedEvent):
        return True
    return outcome is not None and item.scope.message_id not in outcome.steered


def _turn(
    number: int,
    event: CompiledEvent | FailedEvent,
    outcome: OutcomeEvent | None,
    known: tuple[TurnRow, str | None] | None,
) -> TurnView:
    traced = Usage(**outcome.usage.model_dump()) if outcome else None
    view = TurnView(
        number=number,
        turn_id=event.turn_id,
        user_id=event.scope.user_id,
        message_id=event.scope.message_id,
        compilation=_compilation(event),
        outcome=outcome.outcome.value if outcome else None,
        error_code=outcome.error_code if outcome else "",
        reply_sha256=outcome.reply_sha256 if outcome else None,
        usage=traced or Usage(),
        times=None,
    )
    if known is None:
        return view
    row, posted_at = known
    times = TimesView(
        wait_us=row.wait_us,
        compile_us=row.compile_us,
        trace_us=row.trace_us,
        first_text_us=row.first_text_us,
        total_us=row.total_us,
        deliver_us=_deliver_us(row, posted_at),
    )
    told = row.outcome.value if row.outcome else None
    return replace(
        view,
        times=times,
        # The trace is exact, the row may know more: a turn cut off with the host has no line.
        outcome=view.outcome or told,
        error_code=view.error_code or row.error_code,
        reply_sha256=view.reply_sha256 or row.reply_sha256,
        usage=traced or row.usage,
    )


def _deliver_us(row: TurnRow, posted_at: str | None) -> int:
    """Measure by the wall clock: an answer of an earlier host may be posted by the next one."""
    if posted_at is None or not row.total_us:
        return 0
    ended = parse_timestamp(row.accepted_at) + timedelta(microseconds=row.total_us - row.wait_us)
    return max(0, (parse_timestamp(posted_at) - ended) // timedelta(microseconds=1))


def _compilation(event: CompiledEvent | FailedEvent) -> CompilationView:
    if isinstance(event, FailedEvent):
        failure = FailureView(
            code=event.error.code,
            message=event.error.message,
            source=event.error.source,
            sizes=tuple((size.kind, size.chars) for size in event.sizes),
        )
        return CompilationView(
            at=event.ts,
            blocks=(),
            omissions=(),
            budget=None,
            system_prompt_sha256=None,
            input_prompt_sha256=None,
            compile_us=event.compile_us,
            waited_us=event.waited_us,
            failure=failure,
        )
    return CompilationView(
        at=event.ts,
        blocks=tuple(map(_block, event.blocks)),
        omissions=tuple(OmissionView(**item.model_dump(mode="json")) for item in event.omissions),
        budget=BudgetView(**event.budget.model_dump()),
        system_prompt_sha256=event.system_prompt_sha256,
        input_prompt_sha256=event.input_prompt_sha256,
        compile_us=event.compile_us,
        waited_us=event.waited_us,
        failure=None,
        tokens=_tokens(event),
    )


def _tokens(event: CompiledEvent) -> TokensView | None:
    if event.tokens is None or event.plan is None:
        return None
    account = account_of(event.tokens)
    return TokensView(
        limit_tokens=account.input_limit,
        used_tokens=account.used_tokens,
        held_tokens=account.held_tokens,
        counting=account.counting.value,
        counted_by=event.plan.tokenizer_id,
    )


def _block(block: TracedBlock) -> BlockView:
    return BlockView(**block.model_dump(mode="json", exclude={"content"}))


def _boundaries(event: CompiledEvent | None) -> tuple[BoundaryView, ...]:
    if event is None:
        return ()
    return tuple(
        BoundaryView(**boundary.model_dump(mode="json")) for boundary in event.cache.boundaries
    )
