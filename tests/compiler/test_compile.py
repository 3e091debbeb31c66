"""The three ways through the compiler, their prompts and their account."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compiler.compile as compile_module
from compiler.blocks import (
    AUTHORITY,
    CACHE_CLASS,
    INPUT_KINDS,
    SYSTEM_KINDS,
    BlockKind,
    OmissionReason,
)
from compiler.budget import ContextBudgets
from compiler.compile import CompiledContext, compile_start, compile_task, compile_turn
from compiler.errors import BlockTooLarge, CompileError, ContextTooLarge, InvalidRequest
from compiler.hashing import sha256_text
from compiler.request import (
    Briefing,
    Connection,
    HistoryMessage,
    HouseRules,
    MemoryNote,
    MemorySelection,
    MessageId,
    OpenGate,
    SourceSnapshot,
    TaskInput,
)
from compiler.templates import INPUT_SEPARATOR, LABEL_PREFIX, SYSTEM_SEPARATOR
from support.compiler_factories import (
    IDENTITY,
    PURPOSE,
    compiled_turn,
    dm_scope,
    group_scope,
    message,
    notes,
    snapshot,
    start_request,
    turn_request,
)
from support.compiler_golden import BRIEFING, CONNECTIONS, FULL, HISTORY, HOSTILE, MEMORY, TASK

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_T = TypeVar("_T")
BUDGETS = ContextBudgets()


def kinds(compiled: CompiledContext) -> list[BlockKind]:
    return [block.kind for block in compiled.blocks]


def test_a_start_has_a_system_prompt_and_no_input() -> None:
    """CC "Sessions", "Start"."""
    start = compile_start(start_request(), FULL, BUDGETS)
    assert kinds(start) == list(SYSTEM_KINDS)
    assert start.system_prompt == SYSTEM_SEPARATOR.join(block.content for block in start.blocks)
    assert start.system.sha256 == hashlib.sha256(start.system_prompt.encode()).hexdigest()
    assert (start.input_prompt, start.input_sha256) == (None, None)
    assert start.budget.used_chars == len(start.system_prompt)


def test_a_turn_has_the_input_alone_under_the_same_system_prompt() -> None:
    """CC "Sessions", "Turn": system unchanged."""
    start = compile_start(start_request(), FULL, BUDGETS)
    turn = compile_turn(turn_request(), FULL, BUDGETS, start.system)
    assert turn.system is start.system
    assert kinds(turn) == [kind for kind in INPUT_KINDS if kind is not BlockKind.TASK]
    assert turn.input_prompt is not None
    assert turn.input_prompt == INPUT_SEPARATOR.join(block.content for block in turn.blocks)
    assert turn.input_sha256 == hashlib.sha256(turn.input_prompt.encode()).hexdigest()
    assert turn.budget.used_chars == len(start.system_prompt) + len(turn.input_prompt)


def test_a_task_has_both_under_one_total() -> None:
    """CC "One-shot runs"."""
    task = compile_task(turn_request(TASK), FULL, BUDGETS)
    assert kinds(task) == [kind for kind in BlockKind if kind is not BlockKind.MESSAGE]
    assert task.input_prompt is not None
    assert task.budget.used_chars == len(task.system_prompt) + len(task.input_prompt)
    assert task.budget.remaining_chars == 48_000 - task.budget.used_chars


def test_a_turn_neither_renders_nor_hashes_the_system_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = compile_start(start_request(), FULL, BUDGETS)
    hashed: list[str] = []

    def recording(text: str) -> str:
        hashed.append(text)
        return sha256_text(text)

    monkeypatch.setattr(compile_module, "sha256_text", recording)
    monkeypatch.delattr(compile_module, "system_blocks")
    monkeypatch.delattr(compile_module, "plan_cache")
    compile_turn(turn_request(), FULL, BUDGETS, start.system)
    assert hashed
    assert not any(start.system_prompt in text for text in hashed)


def test_each_block_carries_its_exact_size_and_hash() -> None:
    for block in compile_task(turn_request(TASK), FULL, BUDGETS).blocks:
        assert block.chars == len(block.content)
        assert block.sha256 == hashlib.sha256(block.content.encode()).hexdigest()


def test_each_block_carries_what_belongs_to_its_kind() -> None:
    """CC "Outputs": authority and cache class."""
    for block in compile_task(turn_request(TASK), FULL, BUDGETS).blocks:
        assert block.authority is AUTHORITY[block.kind]
        assert block.cache_class is CACHE_CLASS[block.kind]


def test_each_input_line_is_one_json_object_that_names_its_block() -> None:
    turn = compiled_turn(sources=FULL)
    lines = (turn.input_prompt or "").split("\n")
    blocks = [json.loads(line) for line in lines]
    assert [block["block"] for block in blocks] == kinds(turn)
    assert [block["authority"] for block in blocks] == [each.authority for each in turn.blocks]


def test_a_label_is_only_where_the_compiler_wrote_one() -> None:
    """CC: structure cannot be forged, whatever identity, purpose or connections hold."""
    sources = snapshot(
        identity=replace(IDENTITY, text=HOSTILE),
        purpose=replace(PURPOSE, text=HOSTILE),
        connections=(Connection(name=HOSTILE, hosts=(HOSTILE,), methods=(), usage=HOSTILE),),
    )
    prompt = compile_start(start_request(), sources, BUDGETS).system_prompt
    labels = re.findall(re.escape(LABEL_PREFIX) + r"([A-Z ]+)\]", prompt)
    assert labels == [kind.upper().replace("-", " ") for kind in SYSTEM_KINDS]
    assert prompt.count("[INGLENOOK") == len(SYSTEM_KINDS)


@pytest.mark.parametrize(
    "call",
    [
        lambda: compile_start(turn_request(), FULL, BUDGETS),
        lambda: compile_task(start_request(), FULL, BUDGETS),
        lambda: compile_turn(
            start_request(), FULL, BUDGETS, compile_start(start_request(), FULL, BUDGETS).system
        ),
    ],
)
def test_a_request_of_the_wrong_phase_is_refused(call: Callable[[], CompiledContext]) -> None:
    with pytest.raises(InvalidRequest):
        call()


@pytest.mark.parametrize("over", [0, 1])
def test_system_and_input_share_one_total(over: int) -> None:
    """Issue 2: the sum of system and input is bounded together."""
    start = compile_start(start_request(), snapshot(), BUDGETS)
    turn = compile_turn(turn_request(), snapshot(), BUDGETS, start.system)
    tight = replace(BUDGETS, max_injected_chars=turn.budget.used_chars - over)
    if over:
        with pytest.raises(ContextTooLarge):
            compile_turn(turn_request(), snapshot(), tight, start.system)
    else:
        exact = compile_turn(turn_request(), snapshot(), tight, start.system)
        assert exact.budget.remaining_chars == 0


def test_limits_count_rendered_characters() -> None:
    """Two thousand quotation marks are four thousand characters of prompt."""
    rendered = next(
        block for block in compiled_turn(turn_request(message('"' * 2000))).blocks
    ).chars
    assert rendered > 4000
    with pytest.raises(BlockTooLarge) as caught:
        compiled_turn(
            turn_request(message('"' * 2000)), budgets=replace(BUDGETS, task_max_chars=rendered - 1)
        )
    assert caught.value.facts["size"] == rendered


def test_one_oversized_advisory_item_never_empties_its_block() -> None:
    big = "x" * 30_000
    sources = replace(
        FULL,
        memory=replace(
            MEMORY, notes=(replace(MEMORY.notes[0], note_id="big", text=big), *MEMORY.notes)
        ),
        history=(*HISTORY, replace(HISTORY[0], text=big)),
        briefing=replace(
            BRIEFING,
            open_gates=(*BRIEFING.open_gates, OpenGate(gate_id="big", filed_at="0", intent=big)),
        ),
    )
    turn = compiled_turn(sources=sources)
    blocks = {
        json.loads(block.content)["block"]: json.loads(block.content) for block in turn.blocks
    }
    assert [item["id"] for item in blocks["memory"]["items"]] == ["n1", "n2"]
    assert len(blocks["history"]["items"]) == 3
    assert [item["gate"] for item in blocks["briefing"]["items"]] == ["g1", "big", "g2", "g3"]


def test_every_omission_has_a_reason_and_no_text() -> None:
    """CC "Memory": records why each candidate was excluded."""
    sources = snapshot(memory=notes(400, text="secret words"), history=HISTORY * 20)
    turn = compiled_turn(sources=sources, budgets=replace(BUDGETS, max_injected_chars=9000))
    assert turn.omissions
    assert {each.reason for each in turn.omissions} <= set(OmissionReason)
    assert "secret" not in repr(turn.omissions)


def test_a_failure_names_sizes_and_sources_but_no_text() -> None:
    """CC "Failure behavior"."""
    request = turn_request(message("canary " * 4000))
    with pytest.raises(CompileError) as caught:
        compiled_turn(request)
    error = caught.value
    told = repr((str(error), error.safe_message, dict(error.facts), error.source, error.sizes))
    assert "canary" not in told
    assert error.sizes


# --- properties -------------------------------------------------------------------------------

_TEXT = st.text(max_size=300)
_ID = st.text(st.sampled_from("abc019"), min_size=1, max_size=6)
_NOTES = st.lists(
    st.builds(MemoryNote, note_id=_ID, scope=st.just("channel"), text=_TEXT), max_size=12
).map(lambda found: MemorySelection(notes=tuple(found)))
_GATES = st.lists(
    st.builds(OpenGate, gate_id=_ID, filed_at=st.sampled_from(["1", "2"]), intent=_TEXT),
    max_size=6,
    unique_by=lambda gate: gate.gate_id,
).map(lambda found: Briefing(open_gates=tuple(found)))
_TALK = st.lists(
    st.builds(HistoryMessage, message_id=_ID.map(MessageId), author_label=_TEXT, text=_TEXT),
    max_size=8,
).map(tuple)
_RULES = st.dictionaries(_TEXT, st.sampled_from(["use", "prohibit"]), max_size=4).map(
    lambda found: HouseRules(policies=tuple(found.items()))
)
_SOURCES = st.builds(snapshot, memory=_NOTES, briefing=_GATES, history=_TALK, house_rules=_RULES)
_LIMITS = st.builds(
    ContextBudgets,
    max_injected_chars=st.integers(2600, 9000),
    memory_max_chars=st.integers(0, 2000),
    briefing_max_chars=st.integers(0, 2000),
    history_max_chars=st.integers(0, 2000),
    history_max_messages=st.integers(0, 9),
)


@given(_SOURCES, _LIMITS, _TEXT)
def test_mandatory_is_whole_or_the_compilation_fails(
    sources: SourceSnapshot, limits: ContextBudgets, text: str
) -> None:
    """CC "Security invariants": mandatory context is never silently truncated."""
    wide = compiled_turn(turn_request(message(text)), sources)
    mandatory = {
        block.kind: block.content
        for block in wide.blocks
        if block.kind in {BlockKind.STATE, BlockKind.MESSAGE}
    }
    start = compile_start(start_request(), sources, BUDGETS)
    try:
        tight = compile_turn(turn_request(message(text)), sources, limits, start.system)
    except CompileError:
        least = len(start.system_prompt) + len("\n".join(mandatory.values()))
        assert least > limits.max_injected_chars or any(
            len(content) > limits.state_max_chars for content in mandatory.values()
        )
        return
    found = {block.kind: block.content for block in tight.blocks if block.kind in mandatory}
    assert found == mandatory
    assert tight.budget.used_chars <= limits.max_injected_chars
    assert tight.budget.used_chars == len(tight.system_prompt) + len(tight.input_prompt or "")


@given(_SOURCES, _LIMITS)
def test_included_plus_omitted_is_what_was_offered(
    sources: SourceSnapshot, limits: ContextBudgets
) -> None:
    turn = compile_turn(
        turn_request(),
        sources,
        replace(limits, max_injected_chars=9000),
        compile_start(start_request(), sources, BUDGETS).system,
    )
    offered = {
        BlockKind.MEMORY: len(sources.memory.notes),
        BlockKind.BRIEFING: len(sources.briefing.open_gates),
        BlockKind.HISTORY: len(sources.history),
    }
    for block in turn.blocks:
        if block.kind in offered:
            offered[block.kind] -= len(json.loads(block.content)["items"])
    for omission in turn.omissions:
        if omission.reason != OmissionReason.SHORTENED:
            offered[omission.block] -= 1
    assert set(offered.values()) == {0}


def shuffled(items: tuple[_T, ...], random: Random) -> tuple[_T, ...]:
    return tuple(random.sample(items, len(items)))


@given(_SOURCES, st.randoms(use_true_random=False))
def test_the_order_of_what_has_none_does_not_matter(
    sources: SourceSnapshot, random: Random
) -> None:
    """CC "Determinism": gates, policies and connections are sorted, never taken as they come."""
    sources = replace(sources, connections=CONNECTIONS)
    other = replace(
        sources,
        connections=shuffled(sources.connections, random),
        briefing=replace(
            sources.briefing, open_gates=shuffled(sources.briefing.open_gates, random)
        ),
        house_rules=replace(
            sources.house_rules, policies=shuffled(sources.house_rules.policies, random)
        ),
    )
    assert compiled_turn(sources=sources) == compiled_turn(sources=other)


@given(_SOURCES, _TEXT, _ID)
def test_volatile_changes_leave_system_bytes_and_boundaries_alone(
    sources: SourceSnapshot, text: str, run_id: str
) -> None:
    """CC acceptance tests 8 and 10, for any memory, gate, history, rule and text."""
    plain = compile_start(start_request(), snapshot(), BUDGETS)
    request = replace(start_request(), run_id=run_id)  # type: ignore[arg-type]  # any id
    assert compile_start(request, sources, BUDGETS).system == plain.system
    one = compile_task(turn_request(TaskInput(origin="a", text=text)), sources, BUDGETS)
    two = compile_task(turn_request(TASK), snapshot(), BUDGETS)
    assert one.system == two.system


@given(st.text(max_size=400))
def test_an_envelope_parses_back_to_its_text(text: str) -> None:
    turn = compiled_turn(turn_request(message(text)))
    (line,) = (turn.input_prompt or "").split("\n")
    exact = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(line)["text"] == exact


def test_a_result_is_deeply_immutable_in_its_own_fields() -> None:
    turn = compiled_turn()
    for field in fields(turn):
        with pytest.raises(AttributeError):
            setattr(turn, field.name, None)


def test_places_have_system_prompts_of_their_own() -> None:
    group = compile_start(start_request(group_scope()), FULL, BUDGETS)
    direct = compile_start(start_request(dm_scope()), FULL, BUDGETS)
    assert group.system_prompt != direct.system_prompt
    assert group.system.cache.boundaries[0] == direct.system.cache.boundaries[0]
