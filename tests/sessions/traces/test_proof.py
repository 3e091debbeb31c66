"""Verifying: no change of a trace goes unnoticed, and a damaged start is not taken up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.request import TurnId
from sessions.gateway import Ruling
from sessions.grants import Verdict
from sessions.tools.call import ToolAnswer, ToolCall
from sessions.tools.record import told_by_host, told_event, tool_event
from sessions.trace import TraceWriter
from sessions.traces.events import TraceMark
from sessions.traces.proof import Flaw, rebuild_system, verify
from sessions.traces.reader import TraceDamaged, read_trace
from support.compiler_factories import RUN
from support.written_trace import AT, contexts, rewrite


def flaws(path: Path, head: TraceMark | None = None) -> set[Flaw]:
    return {problem.flaw for problem in verify(path, head=head).problems}


def test_a_whole_trace_verifies(trace: Path) -> None:
    report = verify(trace)
    assert report.problems == ()
    assert report.ok
    assert (report.run_id, report.events, report.compilations) == (RUN, 6, 3)
    assert verify(trace, head=report.head).ok


def test_a_trace_may_have_grown_since_its_head_was_kept(trace: Path) -> None:
    earlier = read_trace(trace)[2].mark
    assert verify(trace, head=earlier).ok


def test_the_system_prompt_is_rebuilt_with_its_cache_plan(trace: Path) -> None:
    """Issue "Sessions": a resumed session has the same system prompt bytes."""
    assert rebuild_system(trace) == contexts()[0].system


@settings(
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(place=st.integers(min_value=0), byte=st.integers(min_value=1, max_value=255))
def test_any_changed_byte_is_found(trace: Path, place: int, byte: int) -> None:
    """Whatever is changed where: the chain and the kept head leave no gap."""
    content = trace.read_bytes()
    head = verify(trace).head
    changed = bytearray(content)
    changed[place % len(content)] ^= byte
    trace.write_bytes(bytes(changed))
    try:
        assert not verify(trace, head=head).ok
    finally:
        trace.write_bytes(content)


@pytest.mark.parametrize("gone", range(6))
def test_a_missing_line_is_found(trace: Path, gone: int) -> None:
    head = verify(trace).head
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join(lines[:gone] + lines[gone + 1 :]))
    found = flaws(trace, head)
    assert Flaw.CUT_OFF in found
    assert gone == 5 or Flaw.BROKEN_CHAIN in found


def test_a_moved_or_doubled_line_is_found(trace: Path) -> None:
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join([*lines[:2], lines[1], *lines[2:]]))
    assert flaws(trace) == {Flaw.BROKEN_CHAIN, Flaw.WRONG_NUMBER}


def test_a_torn_end_is_found(trace: Path) -> None:
    with trace.open("ab") as stream:
        stream.write(b"{")
    assert flaws(trace) == {Flaw.TORN_END}
    assert len(read_trace(trace)) == 6


def test_a_trace_of_another_run_is_found(trace: Path) -> None:
    moved = trace.parent.with_name("2026-11-29-23-16-35-efgh")
    trace.parent.rename(moved)
    assert flaws(moved / trace.name) == {Flaw.BROKEN_CHAIN, Flaw.WRONG_RUN}


def _content(fields: list[dict[str, Any]]) -> None:
    fields[1]["blocks"][-1]["content"] += "!"


def _size(fields: list[dict[str, Any]]) -> None:
    fields[1]["blocks"][-1]["chars"] += 1


def _order(fields: list[dict[str, Any]]) -> None:
    fields[0]["blocks"].reverse()


def _doubled(fields: list[dict[str, Any]]) -> None:
    fields[1]["blocks"].append(fields[1]["blocks"][-1])


def _system_hash(fields: list[dict[str, Any]]) -> None:
    fields[0]["system_prompt_sha256"] = "0" * 64


def _turns_system(fields: list[dict[str, Any]]) -> None:
    fields[1]["system_prompt_sha256"] = "0" * 64


def _resumed_system(fields: list[dict[str, Any]]) -> None:
    fields[3]["system_prompt_sha256"] = "0" * 64


def _input_hash(fields: list[dict[str, Any]]) -> None:
    fields[1]["input_prompt_sha256"] = "0" * 64


def _dropped_block(fields: list[dict[str, Any]]) -> None:
    del fields[1]["blocks"][0]


def _boundary_hash(fields: list[dict[str, Any]]) -> None:
    fields[0]["cache"]["boundaries"][1]["prefix_sha256"] = "0" * 64


def _boundary_place(fields: list[dict[str, Any]]) -> None:
    fields[0]["cache"]["boundaries"][0]["prefix_chars"] += 1


def _route_key(fields: list[dict[str, Any]]) -> None:
    fields[1]["cache"]["route_key"] = "inglenook-pc-0"


def _budget(fields: list[dict[str, Any]]) -> None:
    fields[1]["budget"]["used_chars"] += 1
    fields[1]["budget"]["remaining_chars"] -= 1


def _limit(fields: list[dict[str, Any]]) -> None:
    fields[1]["budget"]["limit_chars"] += 1


def _no_start(fields: list[dict[str, Any]]) -> None:
    fields[1]["extends"]["seq"] = 1


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        (_content, Flaw.BLOCK_HASH),
        (_size, Flaw.BLOCK_SIZE),
        (_order, Flaw.BLOCK_ORDER),
        (_doubled, Flaw.BLOCK_ORDER),
        (_system_hash, Flaw.SYSTEM_HASH),
        (_turns_system, Flaw.SYSTEM_HASH),
        (_resumed_system, Flaw.SYSTEM_HASH),
        (_input_hash, Flaw.INPUT_HASH),
        (_dropped_block, Flaw.INPUT_HASH),
        (_boundary_hash, Flaw.BOUNDARY),
        (_boundary_place, Flaw.BOUNDARY),
        (_route_key, Flaw.CACHE_CHANGED),
        (_budget, Flaw.BUDGET),
        (_limit, Flaw.BUDGET),
        (_no_start, Flaw.UNKNOWN_START),
    ],
)
def test_a_forged_chain_does_not_hide_a_changed_fact(
    trace: Path, change: Callable[[list[dict[str, Any]]], None], flaw: Flaw
) -> None:
    """CC 12: every hash is worked out anew, whatever the lines say of each other."""
    head = verify(trace).head
    rewrite(trace, change)
    assert flaw in flaws(trace)
    assert Flaw.CUT_OFF in flaws(trace, head)


def test_a_rewritten_trace_without_a_change_still_verifies(trace: Path) -> None:
    """The forger's tool itself leaves no mark, so the test above sees only the change."""
    rewrite(trace, lambda _: None)
    assert flaws(trace) == set()


@pytest.mark.parametrize(
    "change", [_order, _system_hash, _boundary_hash, lambda fields: fields.clear()]
)
def test_a_damaged_start_is_not_taken_up(
    trace: Path, change: Callable[[list[dict[str, Any]]], None]
) -> None:
    rewrite(trace, change)
    with pytest.raises(TraceDamaged):
        rebuild_system(trace)


@pytest.mark.parametrize("content", [b"{}\n", b"\n", b"x" * 10 + b"\n"])
def test_a_line_that_cannot_be_read_is_named(trace: Path, content: bytes) -> None:
    whole = trace.read_bytes()
    trace.write_bytes(whole + content)
    assert flaws(trace) == {Flaw.UNREADABLE_LINE}
    with pytest.raises(TraceDamaged) as caught:
        read_trace(trace)
    assert caught.value.facts["line"] == 7


def test_no_file_is_named_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(TraceDamaged) as caught:
        verify(tmp_path / RUN / "context.jsonl")
    assert str(tmp_path) not in caught.value.safe_message


def test_an_empty_trace_has_no_head(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir()
    path = tmp_path / RUN / "context.jsonl"
    path.write_bytes(b"")
    report = verify(path)
    assert (report.ok, report.head, report.events) == (True, None, 0)


def test_problems_hold_no_content(trace: Path) -> None:
    rewrite(trace, _content)
    said = str(verify(trace).problems)
    assert "evening" not in said
    assert "Ember" not in said


async def test_answers_are_of_calls_and_calls_have_their_words(tmp_path: Path) -> None:
    """Issue "Gateway of actions": what was asked and what was told of it hold together."""
    asked = ToolCall(name="bash", arguments='{"command":"ls"}', call_id="c")
    one, other = TurnId("t1"), TurnId("t2")
    told = told_by_host(asked, ToolAnswer(ok=True, text="tea"))
    assert told is not None
    allowed = Ruling(verdict=Verdict.ALLOW)
    call = tool_event(asked, allowed, run_id=RUN, turn_id=one, judged_us=1, at=AT)
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    mark = await writer.append(call)
    await writer.append(told_event(mark, told, run_id=RUN, turn_id=one, at=AT))
    assert verify(tmp_path / RUN / "context.jsonl").ok
    await writer.append(told_event(mark, told, run_id=RUN, turn_id=other, at=AT))
    nowhere = TraceMark(seq=0, sha256="0" * 64)
    await writer.append(told_event(nowhere, told, run_id=RUN, turn_id=one, at=AT))
    await writer.append(call.model_copy(update={"arguments": "{}"}))
    writer.close()
    found = verify(tmp_path / RUN / "context.jsonl").problems
    assert [(each.line, each.flaw) for each in found] == [
        (3, Flaw.TOOL_CALL),
        (4, Flaw.TOOL_CALL),
        (5, Flaw.TOOL_ARGUMENTS),
    ]
