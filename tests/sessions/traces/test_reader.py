"""Reading: the events and the exact prompts come back, or nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.compile import compile_task
from compiler.request import TaskInput
from sessions.trace import TraceWriter
from sessions.traces.events import CompiledEvent, TraceEvent, decode_event, encode_event, line_hash
from sessions.traces.proof import verify
from sessions.traces.reader import TraceDamaged, prompts_of, read_trace
from sessions.traces.writing import Occasion, compiled_event
from support.compiler_factories import PURPOSE, RUN, snapshot, turn_request
from support.written_trace import AT, BUDGETS, contexts, rewrite


def test_the_exact_prompts_come_back(trace: Path) -> None:
    """CC 16: ``runs context`` reproduces exact model input."""
    events = read_trace(trace)
    compiled = [each.event for each in events if isinstance(each.event, CompiledEvent)]
    for event, context in zip(compiled, contexts(), strict=True):
        prompts = prompts_of(events, event)
        assert prompts.system_prompt == context.system_prompt
        assert prompts.input_prompt == context.input_prompt


async def test_a_task_holds_both_prompts(tmp_path: Path) -> None:
    context = compile_task(
        turn_request(TaskInput(origin="owner", text="Sweep.")), snapshot(purpose=PURPOSE), BUDGETS
    )
    writer = await TraceWriter.create(tmp_path / RUN, RUN)
    await writer.append(compiled_event(context, Occasion(at=AT)))
    writer.close()
    path = tmp_path / RUN / "context.jsonl"
    assert verify(path).problems == ()
    events = read_trace(path)
    (event,) = [each.event for each in events if isinstance(each.event, CompiledEvent)]
    assert prompts_of(events, event).input_prompt == context.input_prompt
    assert prompts_of(events, event).system_prompt == context.system_prompt


def test_prompts_that_do_not_match_are_not_given_out(trace: Path) -> None:
    rewrite(trace, lambda fields: fields[1]["blocks"][-1].update(content="Good morning."))
    events = read_trace(trace)
    changed = events[1].event
    assert isinstance(changed, CompiledEvent)
    with pytest.raises(TraceDamaged):
        prompts_of(events, changed)


def test_a_turn_without_its_start_is_not_given_out(trace: Path) -> None:
    events = read_trace(trace)
    turn = events[1].event
    assert isinstance(turn, CompiledEvent)
    for others in ((), events[1:], events[2:]):
        with pytest.raises(TraceDamaged):
            prompts_of(others, turn)


def test_a_broken_chain_is_not_read(trace: Path) -> None:
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(lines[0] + lines[2])
    with pytest.raises(TraceDamaged):
        read_trace(trace)


def test_reading_gives_what_was_written(trace: Path) -> None:
    lines = trace.read_bytes().split(b"\n")[:-1]
    events: list[TraceEvent] = [each.event for each in read_trace(trace)]
    assert [encode_event(event) for event in events] == lines
    assert [decode_event(line) for line in lines] == events
    assert [each.mark.sha256 for each in read_trace(trace)] == [line_hash(line) for line in lines]
