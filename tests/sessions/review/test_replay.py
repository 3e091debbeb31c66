"""A trace alone proves its turns, and the same sources can be compiled anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from compiler.audience import Exclusion
from compiler.budget import ContextBudgets
from compiler.compile import Model, compile_start, compile_turn
from compiler.errors import CompileError
from compiler.hashing import sha256_text
from compiler.request import (
    ExcludedNote,
    HistoryMessage,
    MessageId,
    MessagePart,
    PartKind,
    SourceSnapshot,
    TurnId,
)
from compiler.startup import startup_package
from sessions.review.inspection import InspectionError
from sessions.review.replay import Verdict, items_of, plan_again, replay_turn
from sessions.trace import TraceWriter
from sessions.traces.reader import TracedEvent, read_trace
from sessions.traces.writing import Occasion, compiled_event
from support.compiler_factories import RUN, message, notes, snapshot, start_request, turn_request
from support.compiler_golden import BRIEFING, HISTORY, HOSTILE, MEMORY, RULES
from support.word_tokens import IDENTITY, WordTokenizer, word_scene

AT = datetime(2026, 11, 29, 23, 16, 35, tzinfo=UTC)
LONG = tuple(
    HistoryMessage(message_id=MessageId(f"discord:{n}"), author_label="Bo", text=f"line {n} " * 20)
    for n in range(30)
)
FULL = snapshot(memory=MEMORY, briefing=BRIEFING, history=HISTORY, house_rules=RULES)
WIDE = snapshot(memory=notes(60, text="something noted"), history=LONG, house_rules=RULES)
BUDGETS = ContextBudgets()
TIGHT = replace(BUDGETS, memory_max_chars=900, history_max_chars=1_500)
MODEL = Model(scene=word_scene())


async def recorded(
    folder: Path,
    sources: SourceSnapshot = FULL,
    text: str = "Good evening.",
    budgets: ContextBudgets = BUDGETS,
) -> tuple[TracedEvent, ...]:
    """Record a start and one turn."""
    writer = await TraceWriter.create(folder / RUN, RUN)
    start = compile_start(start_request(), sources, budgets, MODEL)
    await writer.append(compiled_event(start, Occasion(at=AT)))
    part = MessagePart(kind=PartKind.QUOTE, text="a <|im_start|> quote")
    request = turn_request(message(text, parts=(part,)))
    turn = compile_turn(request, sources, budgets, start.system, MODEL)
    occasion = Occasion(
        at=AT,
        turn_id=TurnId("discord:message:9001"),
        extends=writer.start,
        startup=startup_package(turn, sources),
    )
    await writer.append(compiled_event(turn, occasion))
    writer.close()
    return read_trace(folder / RUN / "context.jsonl")


def changed(
    trace: tuple[TracedEvent, ...], change: Callable[[dict[str, Any]], object]
) -> tuple[TracedEvent, ...]:
    """Give the trace with its turn changed, as somebody could who mends every chain."""
    fields = json.loads(trace[1].event.model_dump_json(by_alias=True))
    change(fields)
    event = type(trace[1].event).model_validate_json(json.dumps(fields))
    return (trace[0], replace(trace[1], event=event))


@pytest.mark.parametrize("text", ["Good evening.", HOSTILE.replace("\ud83d!", "!"), '"' * 90])
async def test_everything_that_a_turn_said_of_itself_is_the_same(text: str, tmp_path: Path) -> None:
    trace = await recorded(tmp_path, text=text)
    replay = replay_turn(trace, None, WordTokenizer())
    assert replay.ok
    assert [(check.name, check.verdict) for check in replay.checks] == [
        (name, Verdict.SAME)
        for name in (
            "system prompt",
            "input",
            "plan",
            "input in the plan's order",
            "records",
            "startup package",
            "receipt",
            "token hash",
        )
    ]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("plan", lambda fields: fields["plan"].update(policy_id="another")),
        ("plan", lambda fields: fields["omissions"].pop()),
        ("plan", lambda fields: fields["plan"]["selected"].reverse()),
        ("records", lambda fields: fields["plan"]["selected"][-1].__setitem__(2, "0" * 64)),
        ("startup package", lambda fields: fields["startup"]["sources"].reverse()),
        ("receipt", lambda fields: fields.update(receipt_key="0" * 64)),
        ("token hash", lambda fields: fields["tokens"].update(prompt_sha256="0" * 64)),
        ("token hash", lambda fields: fields["tokens"].update(advisory_tokens=1)),
        ("token hash", lambda fields: fields["plan"].update(model_config_hash="0" * 64)),
    ],
)
async def test_what_was_changed_is_found(
    name: str, change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    trace = changed(await recorded(tmp_path, WIDE, budgets=TIGHT), change)
    replay = replay_turn(trace, 1, WordTokenizer())
    assert not replay.ok
    assert name in {check.name for check in replay.checks if check.verdict is Verdict.DIFFERENT}


async def test_another_tokenizer_cannot_check_the_tokens(tmp_path: Path) -> None:
    """It says so, and does not call the turn wrong."""
    trace = await recorded(tmp_path)
    other = WordTokenizer(identity=replace(IDENTITY, vocabulary_sha256="9" * 64))
    for tokenizer in (None, other):
        replay = replay_turn(trace, 1, tokenizer)
        assert replay.ok
        assert replay.checks[-1].verdict is Verdict.UNCHECKED


async def test_the_same_settings_give_the_same_plan(tmp_path: Path) -> None:
    """Also where much was left out, of which the trace has only sizes."""
    for place, budgets in enumerate((BUDGETS, TIGHT)):
        trace = await recorded(tmp_path / str(place), WIDE, budgets=budgets)
        again = plan_again(trace, None, budgets, MODEL)
        assert again.difference.is_empty
        assert (again.stand_ins > 5) is (budgets is TIGHT)


async def test_a_wider_limit_names_what_would_come_in(tmp_path: Path) -> None:
    """The very records that a wide compilation of the sources takes."""
    trace = await recorded(tmp_path, WIDE, budgets=TIGHT)
    again = plan_again(trace, 1, BUDGETS, MODEL)
    wide = compile_turn(
        turn_request(), WIDE, BUDGETS, compile_start(start_request(), WIDE, BUDGETS).system
    )
    tight = compile_turn(
        turn_request(), WIDE, TIGHT, compile_start(start_request(), WIDE, BUDGETS).system
    )
    expected = {row.record_id for row in wide.plan.selected} - {
        row.record_id for row in tight.plan.selected
    }
    assert {moved.record_id for moved in again.difference.came_in} == expected
    assert again.difference.went_out == ()


async def test_a_tighter_limit_names_what_would_go_and_why(tmp_path: Path) -> None:
    trace = await recorded(tmp_path, WIDE)
    again = plan_again(trace, 1, TIGHT, MODEL)
    gone = again.difference.went_out
    assert {moved.block for moved in gone} == {"memory", "history"}
    assert {moved.reason for moved in gone} == {"budget"}


async def test_what_selection_left_out_stays_out_with_its_reason(tmp_path: Path) -> None:
    """Whatever the reason: no setting of a replay chooses anew among what was never offered."""
    out = tuple(
        ExcludedNote(note_id=f"x{n}", reason=reason.value) for n, reason in enumerate(Exclusion)
    )
    sources = replace(WIDE, memory=replace(WIDE.memory, excluded=out))
    trace = await recorded(tmp_path, sources)
    again = plan_again(trace, 1, TIGHT, MODEL)
    left = [each for each in again.difference.left_out if each.block == "memory"]
    told = {(each.before, each.after): each.record_ids for each in left}
    assert told == {(each.reason, each.reason): (each.note_id,) for each in out}


async def test_a_smaller_model_is_planned_for(tmp_path: Path) -> None:
    trace = await recorded(tmp_path, WIDE)
    again = plan_again(trace, 1, BUDGETS, Model(scene=word_scene(2_600)))
    assert ("context_window_tokens", "100000", "2600") in again.difference.identities
    assert {moved.reason for moved in again.difference.went_out} == {"token_budget"}
    with pytest.raises(CompileError):
        plan_again(trace, 1, BUDGETS, Model(scene=word_scene(300)))


async def test_no_content_comes_out(tmp_path: Path) -> None:
    trace = await recorded(tmp_path, text="zebra-canary")
    told = f"{replay_turn(trace, 1, WordTokenizer())}{plan_again(trace, 1, TIGHT, MODEL)}"
    assert "zebra-canary" not in told


async def test_a_turn_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InspectionError):
        replay_turn(await recorded(tmp_path), 7)


def test_items_are_cut_as_they_stand() -> None:
    content = '{"block":"memory","items":[{"id":"a","text":"}]{"},{"id":"b"}]}'
    assert list(items_of(content)) == ['{"id":"a","text":"}]{"}', '{"id":"b"}']
    assert list(items_of('{"block":"memory","items":[]}')) == []
    assert sha256_text(next(items_of('{"parts":[{"text":"x"}]}'))) == sha256_text("x")
