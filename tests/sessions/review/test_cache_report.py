"""Hit share, expected share and the cause of each break, from traces alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.cache_text import cache_text
from compiler.budget import ContextBudgets
from compiler.compile import compile_start
from compiler.request import RunId, RunScope, SourceSnapshot, TextSource, TurnId
from sessions.review.cache_report import BreakCause, CacheReport, report_cache
from sessions.trace import TraceWriter
from sessions.traces.events import TraceEvent, TraceMark, UnobservedEvent, WireEvent
from sessions.traces.forms import TracedWireUsage
from sessions.traces.reader import TracedEvent
from sessions.traces.writing import Occasion, compiled_event, ended_event, resumed_event
from support.compiler_factories import dm_scope, snapshot, start_request
from support.recorded_runs import trace_of

BEGAN = datetime(2026, 11, 29, 23, 16, 35, tzinfo=UTC)
ONE = RunId("2026-11-29-23-16-35-aaaa")
TWO = RunId("2026-11-29-23-20-00-bbbb")
HASH = "0" * 64


def usage(tokens: int, cached: int, *, is_estimate: bool = False) -> TracedWireUsage:
    return TracedWireUsage(
        input_tokens=tokens,
        cached_tokens=cached,
        cache_write_tokens=0,
        output_tokens=1,
        is_estimate=is_estimate,
    )


def call(number: int, tokens: int, cached: int, **changes: Any) -> WireEvent:  # noqa: ANN401
    made = WireEvent(
        ts=f"2026-11-29T23:17:{number:02}.000Z",
        run_id=ONE,
        turn_id=TurnId(f"turn:{number}"),
        turn=None,
        number=number,
        api="openai-completions",
        model="m",
        body_sha256=HASH,
        body_bytes=tokens * 4 + 20,
        items=2 * number,
        kept_items=2 * number - 2,
        extends_former=None if number == 1 else True,
        difference_at=None,
        prefix_bytes=tokens * 4,
        prefix_sha256=HASH,
        tools=0,
        tools_sha256=None,
        system=None,
        input=None,
        problems=(),
        end="complete",
        refusal="",
        status=200,
        response_bytes=10,
        usage=usage(tokens, cached),
        first_byte_us=1,
        total_us=2,
    )
    return made.model_copy(update=changes)


async def run_of(
    home: Path,
    *events: TraceEvent,
    run_id: RunId = ONE,
    sources: SourceSnapshot | None = None,
    ended: str = "",
    scope: RunScope | None = None,
) -> tuple[TracedEvent, ...]:
    """Record a run with these events between its start and its end."""
    trace = await TraceWriter.create(home / "runs" / run_id, run_id)
    request = replace(start_request(scope), run_id=run_id)
    start = compile_start(request, sources or snapshot(), ContextBudgets())
    await trace.append(compiled_event(start, Occasion(at=BEGAN)))
    for event in events:
        await trace.append(event.model_copy(update={"run_id": run_id}))
    if ended:
        await trace.append(ended_event(run_id, at=BEGAN + timedelta(minutes=1), reason=ended))
    trace.close()
    return trace_of(home, run_id)


def causes(report: CacheReport) -> list[BreakCause]:
    return [found.cause for found in report.breaks]


async def test_a_call_should_find_what_the_one_before_it_left(tmp_path: Path) -> None:
    """Expected: the whole prompt of the former call, as the provider counted it."""
    trace = await run_of(tmp_path, call(1, 100, 0), call(2, 150, 100), call(3, 200, 140))
    report = report_cache([trace])
    (session,) = report.sessions
    figures = session.figures
    assert (figures.calls, figures.input_tokens) == (3, 450)
    assert (figures.cached_tokens, figures.expected_tokens) == (240, 250)
    assert figures.hit_share == pytest.approx(240 / 450)
    assert figures.expected_share == pytest.approx(250 / 450)
    assert session.breaks == ()
    by_turn = [(turn.turn_id, turn.figures.hit_share) for turn in session.turns]
    assert by_turn == [("turn:1", 0.0), ("turn:2", 100 / 150), ("turn:3", 140 / 200)]
    assert "  by turn, hit/expected in %: 0/0 67/67 70/75\n" in cache_text(report)
    assert [(imp.imp, imp.sessions, imp.figures) for imp in report.imps] == [("ember", 1, figures)]


@pytest.mark.parametrize(
    ("changes", "cause", "expected", "lost"),
    [
        ({"model": "n"}, BreakCause.MODEL, 0, 100),
        ({"tools": 1, "tools_sha256": "1" * 64}, BreakCause.TOOLS, 0, 100),
        ({"extends_former": False, "difference_at": 200}, BreakCause.REWRITTEN, 50, 100),
        (
            {"extends_former": False, "difference_at": 200, "items": 2},
            BreakCause.REWRITTEN,
            50,
            100,
        ),
        ({"model": "n", "usage": usage(150, 120)}, BreakCause.MODEL, 0, 0),
        (
            {"extends_former": False, "difference_at": 40, "items": 1, "kept_items": 1},
            BreakCause.COMPACTION,
            10,
            100,
        ),
        ({"usage": usage(150, 49)}, BreakCause.PROVIDER, 100, 51),
    ],
)
async def test_each_break_within_a_session_has_its_cause(
    tmp_path: Path, changes: dict[str, Any], cause: BreakCause, expected: int, lost: int
) -> None:
    """TR "Cache identity": the common prefix counts only while all else is equal."""
    second = call(2, 150, 0).model_copy(update=changes)
    report = report_cache([await run_of(tmp_path, call(1, 100, 0), second)])
    (found,) = report.breaks
    assert (found.cause, found.turn_id, found.lost_tokens) == (cause, "turn:2", lost)
    assert found.at_byte == changes.get("difference_at")
    assert report.sessions[0].figures.expected_tokens == expected


async def test_half_of_what_was_expected_is_no_break(tmp_path: Path) -> None:
    """Providers keep blocks, not tokens: a remainder is always read anew."""
    report = report_cache([await run_of(tmp_path, call(1, 100, 0), call(2, 150, 50))])
    assert report.breaks == ()


async def test_a_new_process_that_found_nothing_is_a_restart(tmp_path: Path) -> None:
    """The same loss without it is the provider's."""
    resumed = resumed_event(
        ONE, at=BEGAN, extends=TraceMark(seq=0, sha256=HASH), system_sha256=HASH, kept_answers=1
    )
    after = call(1, 150, 0)
    report = report_cache([await run_of(tmp_path, call(1, 100, 0), resumed, after)])
    assert causes(report) == [BreakCause.RESTART]
    lost = call(2, 200, 0)
    events = (call(1, 100, 0), resumed, call(1, 150, 100), lost)
    report = report_cache([await run_of(tmp_path / "c", *events)])
    assert causes(report) == [BreakCause.PROVIDER], "a restart is behind one call alone"
    kept = call(1, 150, 100)
    report = report_cache([await run_of(tmp_path / "b", call(1, 100, 0), resumed, kept)])
    assert causes(report) == []


def with_text(name: str, text: str) -> SourceSnapshot:
    return replace(snapshot(), **{name: TextSource(source=f"{name}.md", text=text)})  # type: ignore[arg-type]  # both are texts


@pytest.mark.parametrize(
    ("name", "cause"), [("identity", BreakCause.IDENTITY), ("purpose", BreakCause.PURPOSE)]
)
async def test_an_edit_is_named_with_block_and_first_byte(
    tmp_path: Path, name: str, cause: BreakCause
) -> None:
    """Issue "Cache report": the block, the first differing byte, the cause."""
    before = await run_of(
        tmp_path, call(1, 100, 0), sources=with_text(name, "Ember is ü kind."), ended="reset"
    )
    after = await run_of(
        tmp_path, call(1, 100, 0), run_id=TWO, sources=with_text(name, "Ember is ü kInd.")
    )
    (found,) = report_cache([after, before]).breaks
    assert (found.run_id, found.cause, found.block, found.detail) == (TWO, cause, name, "reset")
    blocks = [
        block.content.encode()
        for traced in (*before, *after)
        if (event := traced.event).event == "compiled"
        for block in event.blocks
        if block.kind.value == name
    ]
    assert found.at_byte is not None
    assert blocks[0][: found.at_byte] == blocks[1][: found.at_byte]
    assert (blocks[0][found.at_byte : found.at_byte + 1], blocks[1][found.at_byte :][:1]) == (
        b"i",
        b"I",
    )


async def test_words_added_at_the_end_differ_behind_the_last(tmp_path: Path) -> None:
    """The first byte that differs is the one after all that is the same, in UTF-8."""
    before = await run_of(tmp_path, sources=with_text("purpose", "Talk of ü."))
    after = await run_of(tmp_path, run_id=TWO, sources=with_text("purpose", "Talk of ü. And tea."))
    (found,) = report_cache([before, after]).breaks
    (purpose,) = (
        block.content
        for traced in before
        if (event := traced.event).event == "compiled"
        for block in event.blocks
        if block.kind.value == "purpose"
    )
    assert found.at_byte == len(purpose.encode())


async def test_each_conversation_goes_on_from_its_own_session(tmp_path: Path) -> None:
    """An imp in a channel, a task and a thread are three: none breaks the cache of another."""
    there = await run_of(tmp_path, call(1, 100, 0), scope=dm_scope())
    here = await run_of(tmp_path, call(1, 100, 0), run_id=TWO)
    assert report_cache([there, here]).breaks == ()


async def test_no_more_is_expected_than_was_sent(tmp_path: Path) -> None:
    """A provider may count the same prompt lower the next time; a share is never above one."""
    trace = await run_of(tmp_path, call(1, 200, 0), call(2, 150, 150))
    figures = report_cache([trace]).sessions[0].figures
    assert (figures.expected_tokens, figures.cached_tokens) == (150, 150)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"model": "n"}, BreakCause.MODEL),
        ({"tools": 1, "tools_sha256": "1" * 64}, BreakCause.TOOLS),
        ({}, BreakCause.NEW_SESSION),
    ],
)
async def test_a_new_session_with_the_same_texts_says_why(
    tmp_path: Path, changes: dict[str, Any], cause: BreakCause
) -> None:
    before = await run_of(tmp_path, call(1, 100, 0), ended="idle")
    later = call(1, 100, 0).model_copy(update=changes)
    after = await run_of(tmp_path, later, run_id=TWO)
    report = report_cache([before, after])
    (found,) = report.breaks
    assert (found.cause, found.block, found.at_byte) == (cause, "", None)
    assert report.only(TWO).sessions == report.sessions[1:]
    assert report.only(TWO).imps[0].sessions == 1


async def test_calls_without_figures_prove_nothing(tmp_path: Path) -> None:
    """Failed and estimated calls are counted apart; the next good one goes by the last good one."""
    failed = call(2, 150, 0, status=503)
    guessed = call(2, 150, 0, usage=usage(150, 0, is_estimate=True))
    trace = await run_of(tmp_path, call(1, 100, 0), failed, guessed, call(3, 160, 100))
    (session,) = report_cache([trace]).sessions
    assert (session.figures.calls, session.unmeasured) == (2, 2)
    assert session.figures.expected_tokens == 100
    assert session.breaks == ()


async def test_what_was_not_observed_is_said_to_be(tmp_path: Path) -> None:
    unobserved = UnobservedEvent(ts="2026-11-29T23:17:00.000Z", run_id=ONE, provider="google")
    (session,) = report_cache([await run_of(tmp_path, unobserved)]).sessions
    assert (session.observed, session.figures.hit_share) == (False, None)


def test_nothing_gives_an_empty_report() -> None:
    assert report_cache([()]) == CacheReport(sessions=(), imps=())
