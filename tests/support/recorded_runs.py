"""Recorded runs in a home: real compilations, real traces, real rows, no pi."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.runs.forms import WIDTH
from compiler.budget import ContextBudgets
from compiler.compile import CompiledContext, compile_start, compile_turn
from compiler.errors import CompileError
from compiler.hashing import sha256_text
from compiler.request import (
    ExcludedNote,
    HistoryMessage,
    MessageId,
    RunId,
    RunScope,
    SourceSnapshot,
    TurnId,
    UserId,
)
from sessions.clock import SystemClock, timestamp
from sessions.inbound import OutcomeKind, TurnOutcome, Usage
from sessions.store.database import open_database
from sessions.store.runs import RunRow, RunStore, TraceExtent, TurnRow
from sessions.trace import TraceWriter
from sessions.traces.events import TraceMark
from sessions.traces.reader import TracedEvent, read_trace
from sessions.traces.writing import (
    Occasion,
    compiled_event,
    ended_event,
    failed_event,
    outcome_event,
)
from support.compiler_factories import (
    ADA,
    dm_scope,
    message,
    notes,
    snapshot,
    start_request,
    turn_request,
)
from support.run_rows import remember_reply
from support.session_world import BOUND_SECONDS

BEGAN = datetime(2026, 11, 29, 23, 16, 35, 123_000, tzinfo=UTC)
RUN = RunId("2026-11-29-23-16-35-abcd")
CANARY = "CANARY-TEXT"
"""Stands in every message and in the identity: it must appear in no summary."""
USAGE = Usage(
    input_tokens=1203,
    output_tokens=34,
    cache_read_tokens=980,
    cache_write_tokens=12,
    cost_usd=0.00123,
    model_calls=1,
)


def narrow(text: str) -> str:
    """Give back what people read of runs, if it keeps the width and tells no content."""
    assert max(map(len, text.split("\n"))) <= WIDTH
    assert CANARY not in text
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn to be recorded. ``fails`` makes its compilation fail."""

    text: str
    number: int
    fails: bool = False


THREE = (
    Said(text="one", number=1),
    Said(text="far too long", number=2, fails=True),
    Said(text="three", number=3),
)
"""Three turns, the second of which was not compiled."""


def sources(*, history: int, memory: int, identity: str) -> SourceSnapshot:
    """Sources with an identity, and as much history and memory as wanted."""
    base = snapshot()
    assert base.identity is not None
    return replace(
        base,
        identity=replace(base.identity, text=f"# Ember\n\n{identity} {CANARY}\n"),  # type: ignore[arg-type]
        memory=notes(memory, text="x" * 500),
        history=tuple(
            HistoryMessage(
                message_id=MessageId(f"discord:{8000 + number}"),
                author_label="Bo",
                author_id=UserId("discord:1002"),
                text=f"{CANARY} {number} " + "y" * 400,
            )
            for number in range(history)
        ),
    )


async def record_run(
    home: Path,
    turns: Sequence[Said] = (Said(text="one", number=1), Said(text="two", number=2)),
    *,
    run_id: RunId = RUN,
    scope: RunScope | None = None,
    identity: str = "You are Ember.",
    history: int = 20,
    ended: bool = True,
    with_rows: bool = True,
    withheld: Sequence[str] = (),
) -> RunId:
    """Record a run as sessions do; the last of its turns is on its way unless it ended.

    ``withheld`` are reasons of notes that were not given.
    """
    where = scope or dm_scope()
    given = sources(history=history, memory=3, identity=identity)
    excluded = tuple(
        ExcludedNote(note_id=f"m-{number}", reason=reason) for number, reason in enumerate(withheld)
    )
    given = replace(given, memory=replace(given.memory, excluded=excluded))
    trace = await TraceWriter.create(home / "runs" / run_id, run_id)
    rows: list[TurnRow] = []
    try:
        start = compile_start(replace(start_request(where), run_id=run_id), given, ContextBudgets())
        extends = await trace.append(compiled_event(start, Occasion(at=BEGAN, compile_us=900)))
        for said in turns:
            at = BEGAN + timedelta(seconds=said.number)
            rows.append(await _turn(trace, start, given, said, where, at, extends))
            given = replace(given, history=())
        if ended:
            await trace.append(ended_event(run_id, at=BEGAN + timedelta(minutes=5), reason="idle"))
        if with_rows:
            await _record_rows(home, start, rows, trace, ended=ended)
    finally:
        trace.close()
    return run_id


async def _turn(  # noqa: PLR0917
    trace: TraceWriter,
    start: CompiledContext,
    given: SourceSnapshot,
    said: Said,
    scope: RunScope,
    at: datetime,
    extends: TraceMark,
) -> TurnRow:
    turn_id = TurnId(f"discord:message:{9000 + said.number}")
    message_id = MessageId(f"discord:{9000 + said.number}")
    author = {} if scope.user_id is None else {"author_id": scope.user_id}
    content = message(f"{CANARY} {said.text}", message_id=message_id, **author)
    request = replace(turn_request(content, scope), run_id=start.request.run_id)
    occasion = Occasion(at=at, turn_id=turn_id, extends=extends, compile_us=800, waited_us=1200)
    row = TurnRow(
        run_id=start.request.run_id,
        turn_id=turn_id,
        seq=said.number,
        user_id=ADA,
        accepted_at=timestamp(at),
        outcome=OutcomeKind.REPLIED,
        error_code="",
        input_sha256=None,
        reply_sha256=sha256_text("fine"),
        wait_us=1200,
        compile_us=800,
        trace_us=600,
        first_text_us=300_000,
        total_us=1_500_000,
        usage=USAGE,
    )
    budgets = ContextBudgets(task_max_chars=10) if said.fails else ContextBudgets()
    try:
        turn = compile_turn(request, given, budgets, start.system)
    except CompileError as error:
        await trace.append(failed_event(request, error, occasion))
        return replace(row, outcome=OutcomeKind.OVERFLOW, error_code=str(error.code), usage=Usage())
    await trace.append(compiled_event(turn, occasion))
    outcome = TurnOutcome(
        kind=OutcomeKind.REPLIED,
        run_id=row.run_id,
        turn_id=turn_id,
        text="fine",
        usage=USAGE,
    )
    await trace.append(outcome_event(row.run_id, outcome, at=at + timedelta(seconds=1)))
    return replace(row, input_sha256=turn.input_sha256)


async def _record_rows(
    home: Path,
    start: CompiledContext,
    turns: Sequence[TurnRow],
    trace: TraceWriter,
    *,
    ended: bool,
) -> None:
    run_id = start.request.run_id
    head = trace.head
    extent = TraceExtent(events=trace.events, head_sha256=head.sha256 if head else None)
    async with store_of(home) as store:
        await store.begin_run(
            RunRow(
                run_id=run_id,
                surface=start.request.surface.value,
                imp=start.request.imp,
                channel_id=start.request.scope.channel_id,
                is_dm=start.request.scope.is_dm,
                started_at=timestamp(BEGAN),
                ended_at=None,
                end_reason=None,
                system_sha256=start.system.sha256,
                route_key=start.system.cache.route_key,
                turns=0,
                trace_events=0,
                trace_head_sha256=None,
            )
        )
        for row in turns:
            await store.record_turn(row, extent)
            await remember_reply(store, MessageId(f"discord:{7000 + row.seq}"), run_id, row.turn_id)
        if ended:
            at = timestamp(BEGAN + timedelta(minutes=5))
            await store.end_run(run_id, ended_at=at, reason="idle", extent=extent)


@asynccontextmanager
async def store_of(home: Path) -> AsyncIterator[RunStore]:
    """Open the home's database for writing."""
    async with open_database(
        home / "inglenook.db", clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        yield RunStore(database)


def trace_of(home: Path, run_id: RunId = RUN) -> tuple[TracedEvent, ...]:
    """Read the trace of a recorded run."""
    return read_trace(home / "runs" / run_id / "context.jsonl")


def change_line(home: Path, run_id: RunId, line: int, old: str, new: str) -> None:
    """Tamper with a line of a trace, counted from 1."""
    path = home / "runs" / run_id / "context.jsonl"
    lines = path.read_text().split("\n")
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_text("\n".join(lines))
