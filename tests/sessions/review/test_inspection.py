"""Views of a run's trace; CC acceptance test 16."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from sessions.inbound import OutcomeKind, Usage
from sessions.review.inspection import InspectionError, InspectionErrorCode, turn_events, view_run
from sessions.review.views import total_usage
from sessions.store.runs import RunRow, TurnRow
from support.compiler_factories import group_scope
from support.recorded_runs import CANARY, RUN, THREE, USAGE, Said, record_run, store_of, trace_of


async def _rows(home: Path) -> tuple[RunRow | None, tuple[TurnRow, ...]]:
    async with store_of(home) as store:
        return await store.get_run(RUN), await store.turns(RUN)


async def test_a_view_explains_inclusion_and_omission_without_content(tmp_path: Path) -> None:
    """CC acceptance 16, first half: blocks with sources and sizes, omissions with reasons."""
    await record_run(tmp_path)
    view = view_run(trace_of(tmp_path), *await _rows(tmp_path))
    assert view.start is not None
    assert [(block.kind, block.source) for block in view.start.blocks] == [
        ("identity", "imps/ember/identity.md"),
        ("runtime-policy", "template:runtime-policy/v1"),
        ("runtime-scope", "template:runtime-scope/v1/discord-session/dm"),
    ]
    first, second = view.turns
    assert [block.kind for block in first.compilation.blocks] == ["memory", "history", "message"]
    assert [block.kind for block in second.compilation.blocks] == ["memory", "message"]
    assert {(item.block, item.reason) for item in first.compilation.omissions} == {
        ("history", "budget")
    }
    assert all(item.item_id.startswith("discord:80") for item in first.compilation.omissions)
    assert CANARY not in str(asdict(view))


async def test_a_view_has_budget_boundaries_usage_times_and_end(tmp_path: Path) -> None:
    await record_run(tmp_path)
    view = view_run(trace_of(tmp_path), *await _rows(tmp_path))
    assert [item.cache_class for item in view.boundaries] == ["imp-stable", "surface-stable"]
    assert view.route_key is not None
    assert (view.end_reason, view.place, view.is_dm) == ("idle", "dm", True)
    turn = view.turns[0]
    assert turn.outcome == OutcomeKind.REPLIED
    assert turn.usage == USAGE
    assert turn.times is not None
    assert turn.times.first_text_us == 300_000
    budget = turn.compilation.budget
    assert budget is not None
    assert budget.used_chars + budget.remaining_chars == budget.limit_chars == 48_000
    assert view.usage.input_tokens == 2 * USAGE.input_tokens


async def test_a_trace_alone_is_enough(tmp_path: Path) -> None:
    """The database is an index; without it only times are missing."""
    await record_run(tmp_path, with_rows=False)
    view = view_run(trace_of(tmp_path))
    assert (view.end_reason, len(view.turns)) == ("idle", 2)
    assert view.turns[0].usage == USAGE
    assert view.turns[0].times is None


async def test_a_failed_compilation_tells_source_code_and_sizes(tmp_path: Path) -> None:
    """CC: failed turns remain visible in the trace and run history."""
    await record_run(tmp_path, THREE)
    turn = view_run(trace_of(tmp_path), *await _rows(tmp_path)).turns[1]
    failure = turn.compilation.failure
    assert failure is not None
    assert failure.code == "CURRENT_TURN_OVERFLOW"
    assert failure.source == "message:discord:9002"
    assert turn.compilation.blocks == ()
    assert turn.outcome == OutcomeKind.OVERFLOW
    assert CANARY not in str(asdict(turn))


async def test_a_turn_compiled_again_has_one_outcome(tmp_path: Path) -> None:
    again = (Said(text="far too long", number=1, fails=True), Said(text="one", number=1))
    await record_run(tmp_path, again)
    failed, delivered = view_run(trace_of(tmp_path), *await _rows(tmp_path)).turns
    assert failed.turn_id == delivered.turn_id
    assert (failed.outcome, failed.times) == (None, None)
    assert delivered.outcome == OutcomeKind.REPLIED
    assert delivered.times is not None


async def test_a_running_turn_has_no_outcome_yet(tmp_path: Path) -> None:
    await record_run(tmp_path, ended=False)
    trace = trace_of(tmp_path)[:-1]  # the last outcome is not written yet
    view = view_run(trace)
    assert view.turns[-1].outcome is None
    assert view.ended_at is None


def test_a_trace_without_a_compilation_is_named() -> None:
    with pytest.raises(InspectionError) as caught:
        view_run(())
    assert caught.value.code is InspectionErrorCode.TRACE_MISSING


async def test_a_group_is_told_as_such(tmp_path: Path) -> None:
    await record_run(tmp_path, scope=group_scope())
    view = view_run(trace_of(tmp_path))
    assert (view.place, view.is_dm, view.channel_id) == ("group", False, "discord:2001")


async def test_turns_are_numbered_in_the_order_of_the_trace(tmp_path: Path) -> None:
    await record_run(tmp_path, THREE)
    trace = trace_of(tmp_path)
    assert [item.turn_id for item in turn_events(trace)] == [
        "discord:message:9001",
        "discord:message:9002",
        "discord:message:9003",
    ]


async def test_delivery_is_from_the_outcome_to_the_last_message(tmp_path: Path) -> None:
    """Issue "Web inspector": waiting, compile, trace, first token, model, delivery."""
    await record_run(tmp_path)
    row, turns = await _rows(tmp_path)
    # Accepted at 36.123 after 1.2 ms of waiting, 1.5 s in all: over at 37.6218.
    posted = {turns[0].turn_id: "2026-11-29T23:16:37.700Z", turns[1].turn_id: turns[1].accepted_at}
    first, second = view_run(trace_of(tmp_path), row, turns, posted).turns
    assert first.times is not None
    assert second.times is not None
    assert first.times.deliver_us == 78_200
    assert second.times.deliver_us == 0  # a clock that was set back takes nothing away


def test_usage_adds_up() -> None:
    assert total_usage(()) == Usage()
    assert total_usage((USAGE, USAGE)).model_calls == 2
