"""The exact prompts of a run; CC acceptance test 16, second half."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.hashing import sha256_text
from sessions.review.inspection import InspectionError, InspectionErrorCode
from sessions.review.prompts import all_prompts, exact_prompts
from sessions.traces.events import CompiledEvent
from sessions.traces.reader import TraceDamaged, TracedEvent
from support.recorded_runs import CANARY, RUN, THREE, Said, change_line, record_run, trace_of


async def test_exact_prompts_are_those_that_were_compiled(tmp_path: Path) -> None:
    """CC acceptance 16, second half: exact model input, hash for hash."""
    await record_run(tmp_path)
    prompts = exact_prompts(trace_of(tmp_path), 1)
    assert prompts.system_prompt.startswith("[INGLENOOK SYSTEM BLOCK: IDENTITY]\n# Ember")
    assert sha256_text(prompts.system_prompt) == prompts.system_prompt_sha256
    assert prompts.input_prompt is not None
    assert sha256_text(prompts.input_prompt) == prompts.input_prompt_sha256
    assert f"{CANARY} one" in prompts.input_prompt
    assert (prompts.turn, prompts.turn_id) == (1, "discord:message:9001")


async def test_the_latest_compiled_turn_is_meant_unless_one_is_named(tmp_path: Path) -> None:
    last_fails = (Said(text="one", number=1), Said(text="far too long", number=2, fails=True))
    await record_run(tmp_path, last_fails)
    assert exact_prompts(trace_of(tmp_path)).turn == 1


async def test_a_session_without_turns_gives_its_system_prompt(tmp_path: Path) -> None:
    await record_run(tmp_path, ())
    prompts = exact_prompts(trace_of(tmp_path))
    assert prompts.input_prompt is None
    assert prompts.turn is None
    assert all_prompts(trace_of(tmp_path)) == (prompts,)


async def test_all_prompts_are_those_of_the_compiled_turns(tmp_path: Path) -> None:
    await record_run(tmp_path, THREE)
    assert [item.turn for item in all_prompts(trace_of(tmp_path))] == [1, 3]


@pytest.mark.parametrize(
    ("turn", "code"),
    [
        (0, InspectionErrorCode.TURN_UNKNOWN),
        (4, InspectionErrorCode.TURN_UNKNOWN),
        (2, InspectionErrorCode.NOT_COMPILED),
    ],
)
async def test_a_turn_that_gave_nothing_to_the_model(
    tmp_path: Path, turn: int, code: InspectionErrorCode
) -> None:
    await record_run(tmp_path, THREE)
    with pytest.raises(InspectionError) as caught:
        exact_prompts(trace_of(tmp_path), turn)
    assert caught.value.code is code


async def test_a_text_that_does_not_match_its_hash_is_not_given(tmp_path: Path) -> None:
    await record_run(tmp_path)
    trace = trace_of(tmp_path)
    event = trace[1].event
    assert isinstance(event, CompiledEvent)
    blocks = tuple(
        block.model_copy(update={"content": block.content.replace("one", "two")})
        for block in event.blocks
    )
    forged = TracedEvent(mark=trace[1].mark, event=event.model_copy(update={"blocks": blocks}))
    with pytest.raises(TraceDamaged):
        exact_prompts((trace[0], forged, *trace[2:]), 1)


async def test_a_changed_line_is_not_even_read(tmp_path: Path) -> None:
    await record_run(tmp_path)
    change_line(tmp_path, RUN, 2, CANARY, "FORGED-TEXT")
    with pytest.raises(TraceDamaged):
        trace_of(tmp_path)
