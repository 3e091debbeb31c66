"""What changed between two turns, block by block."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler.blocks import AUTHORITY, CACHE_CLASS, BlockKind
from compiler.hashing import sha256_text
from compiler.request import RunId
from sessions.review.differences import Change, _compare, diff_turns
from sessions.review.inspection import InspectionError
from sessions.traces.forms import TracedBlock
from support.recorded_runs import CANARY, RUN, Said, record_run, trace_of

LATER = RunId("2026-11-30-08-00-00-efgh")


async def test_a_second_turn_keeps_the_system_prompt(tmp_path: Path) -> None:
    """WS "Warm sessions": history goes after the first turn, the start stays byte for byte."""
    await record_run(tmp_path)
    difference = diff_turns(trace_of(tmp_path), 2)
    assert difference.before == (RUN, 1)
    assert {block.kind: block.change for block in difference.blocks} == {
        "identity": Change.SAME,
        "runtime-policy": Change.SAME,
        "runtime-scope": Change.SAME,
        "memory": Change.SAME,
        "history": Change.REMOVED,
        "message": Change.CHANGED,
    }
    assert difference.stable_system


async def test_sizes_and_the_first_different_character_are_told_but_no_text(
    tmp_path: Path,
) -> None:
    await record_run(tmp_path)
    difference = diff_turns(trace_of(tmp_path), 2)
    message = next(block for block in difference.blocks if block.kind == "message")
    before, after = (
        next(
            block.content
            for traced in trace_of(tmp_path)
            if getattr(traced.event, "turn_id", "") == f"discord:message:900{number}"
            for block in getattr(traced.event, "blocks", ())
            if block.kind == "message"
        )
        for number in (1, 2)
    )
    place = message.first_difference
    assert place is not None
    assert before[:place] == after[:place]
    assert before[place] != after[place]
    assert (message.chars_before, message.chars_after) == (len(before), len(after))
    assert CANARY not in str(asdict(difference))


async def test_a_first_turn_is_compared_with_the_conversation_s_last_run(tmp_path: Path) -> None:
    await record_run(tmp_path)
    await record_run(tmp_path, run_id=LATER, identity="You are Ember, changed.")
    difference = diff_turns(trace_of(tmp_path, LATER), 1, trace_of(tmp_path))
    assert difference.before == (RUN, 2)
    changes = {block.kind: block.change for block in difference.blocks}
    assert changes["identity"] is Change.CHANGED
    assert changes["runtime-policy"] is Change.SAME
    assert changes["history"] is Change.ADDED
    assert not difference.stable_system


async def test_the_very_first_turn_is_all_new(tmp_path: Path) -> None:
    await record_run(tmp_path)
    difference = diff_turns(trace_of(tmp_path), 1)
    assert difference.before is None
    assert {block.change for block in difference.blocks} == {Change.ADDED}


async def test_a_failed_turn_is_passed_over(tmp_path: Path) -> None:
    turns = (
        Said(text="one", number=1),
        Said(text="far too long", number=2, fails=True),
        Said(text="three", number=3),
    )
    await record_run(tmp_path, turns)
    assert diff_turns(trace_of(tmp_path), 3).before == (RUN, 1)
    assert diff_turns(trace_of(tmp_path), None).after == (RUN, 3)
    with pytest.raises(InspectionError):
        diff_turns(trace_of(tmp_path), 2)


@pytest.mark.parametrize("turn", [0, 3, -1])
async def test_no_such_turn(tmp_path: Path, turn: int) -> None:
    await record_run(tmp_path)
    with pytest.raises(InspectionError):
        diff_turns(trace_of(tmp_path), turn)


@settings(max_examples=30)
@given(shared=st.text(max_size=5), one=st.text(min_size=1, max_size=3), two=st.text(max_size=3))
def test_the_first_byte_is_where_the_bytes_part(shared: str, one: str, two: str) -> None:
    """Issue "Web inspector": first differing byte marked; characters may share bytes."""
    old, new = (shared + text for text in (one, two))
    assume(old != new)
    found = _compare(BlockKind.MESSAGE, traced_block(old), traced_block(new)).first_byte
    assert found is not None
    before, after = old.encode(), new.encode()
    assert before[:found] == after[:found]
    assert before[found : found + 1] != after[found : found + 1]


def traced_block(text: str) -> TracedBlock:
    kind = BlockKind.MESSAGE
    return TracedBlock(
        kind=kind,
        authority=AUTHORITY[kind],
        cache_class=CACHE_CLASS[kind],
        source="test",
        chars=len(text),
        sha256=sha256_text(text),
        content=text,
    )
