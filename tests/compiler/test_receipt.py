"""A receipt tells counts, sizes and codes, and nothing that could be guessed (TR)."""

from __future__ import annotations

import hmac
import json
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.compile import Model
from compiler.hashing import sha256_text
from compiler.receipt import KEY_BYTES, Ending, make_receipt, opens, receipt_hash
from compiler.request import (
    ExcludedNote,
    MemoryNote,
    MemorySelection,
    MessagePart,
    NoteConflict,
    PartKind,
)
from support.compiler_factories import (
    compiled_turn,
    message,
    notes,
    snapshot,
    turn_request,
)
from support.compiler_golden import BRIEFING, HISTORY, MEMORY, RULES
from support.receipt_scan import scan_receipt

KEY = bytes(range(KEY_BYTES))
FULL = snapshot(memory=MEMORY, briefing=BRIEFING, history=HISTORY, house_rules=RULES)


def test_the_counts_are_those_of_the_turn() -> None:
    part = MessagePart(kind=PartKind.QUOTE, text="quoted")
    compiled = compiled_turn(turn_request(message(parts=(part,))), FULL)
    receipt = make_receipt(compiled.plan, compiled.tokens, key=KEY)
    assert receipt["recordCounts"] == {
        "currentUser": 1,
        "recentDialogue": 2,
        "profile": 1,
        "memory": 1,
        "summary": 0,
        "briefing": 2,
        "continuation": 1,
        "houseRules": 1,
        "carried": 1,
    }
    assert receipt["excludedCounts"] == {"audience": 1}
    assert receipt["stopReason"] == "generation_started"


def test_nothing_that_was_said_or_named_is_in_it() -> None:
    """Texts, ids of people, channels, runs, records, imps, servers."""
    memory = replace(
        MEMORY,
        conflicts=(NoteConflict(code="SUPERSEDED_PLAN", note_ids=("n1", "n2")),),
        index_id="channel-2001-notes",
        index_revision="44",
    )
    request = turn_request(message("Where is the key? ghp_" + "a" * 36))
    compiled = compiled_turn(request, replace(FULL, memory=memory))
    receipt = make_receipt(compiled.plan, compiled.tokens, key=KEY)
    scan_receipt(receipt, compiled)


def test_a_guess_cannot_be_checked_without_the_key() -> None:
    """TR: selected-record hashes may enable dictionary attacks."""
    compiled = compiled_turn(sources=snapshot(memory=notes(2)))
    plan = compiled.plan
    receipt, other = (make_receipt(plan, None, key=key) for key in (KEY, bytes(KEY_BYTES)))
    told = json.dumps(receipt)
    for row in plan.selected:
        assert row.record_hash not in told
    assert plan.canonical_plan_hash not in told
    committed, others = (
        set(each["selectedRecordCommitments"])  # type: ignore[arg-type]  # a list
        for each in (receipt, other)
    )
    assert committed.isdisjoint(others)


def test_the_owner_can_open_a_commitment() -> None:
    compiled = compiled_turn()
    receipt = make_receipt(compiled.plan, None, key=KEY)
    assert opens(
        receipt["planCommitment"], key=KEY, what="plan", value=compiled.plan.canonical_plan_hash
    )
    assert not opens(receipt["planCommitment"], key=KEY, what="plan", value=sha256_text("guess"))
    expected = hmac.new(
        KEY, b"inglenook-plan-v1\x00" + compiled.plan.canonical_plan_hash.encode(), sha256
    ).hexdigest()
    assert receipt["planCommitment"] == expected


def test_every_commitment_opens_to_its_own_value_alone() -> None:
    """TR: the index is named by a hash or a redacted id; equal values of two kinds do not show."""
    asked = replace(MEMORY, index_id="same", index_revision="same")
    plan = compiled_turn(sources=replace(FULL, memory=asked)).plan
    receipt = make_receipt(plan, None, key=KEY)
    for name, what in (
        ("retrievalIndexIdentity", "index"),
        ("retrievalIndexRevision", "revision"),
    ):
        assert opens(receipt[name], key=KEY, what=what, value="same")
        assert not opens(receipt[name], key=bytes(KEY_BYTES), what=what, value="same")
    assert receipt["retrievalIndexIdentity"] != receipt["retrievalIndexRevision"]
    bare = make_receipt(compiled_turn(sources=snapshot()).plan, None, key=KEY)
    assert (bare["retrievalIndexIdentity"], bare["retrievalIndexRevision"]) == ("", "")


def test_no_order_in_it_tells_the_order_of_a_prompt() -> None:
    """Ranks and places are content: commitments and codes stand in an order of their own."""
    codes = ("SUPERSEDED_PLAN", "DUPLICATE_EQUIVALENT", "UNCERTAIN_RETRIEVAL")
    disputes = tuple(NoteConflict(code=code, note_ids=("n1",)) for code in (*codes, codes[0]))
    plan = compiled_turn(sources=snapshot(memory=replace(notes(9), conflicts=disputes))).plan
    receipt = make_receipt(plan, None, key=KEY)
    assert receipt["conflictCodes"] == sorted(codes)
    told = receipt["selectedRecordCommitments"]
    assert isinstance(told, list)
    assert told == sorted(map(str, told))
    assert len(told) == len(plan.selected)


@pytest.mark.parametrize("length", [0, KEY_BYTES - 1, KEY_BYTES + 1])
def test_a_key_has_its_length(length: int) -> None:
    assert KEY_BYTES == 32
    with pytest.raises(ValueError, match="key"):
        make_receipt(compiled_turn().plan, None, key=bytes(length))


@settings(max_examples=60, deadline=None)
@given(reason=st.text(max_size=60), note=st.text(max_size=40), code=st.text(max_size=60))
def test_no_text_passes_as_a_code(reason: str, note: str, code: str) -> None:
    """Whatever a caller hands in, codes are short words and nothing else."""
    memory = MemorySelection(
        notes=(MemoryNote(note_id=note, scope="imp", text=note),),
        excluded=(ExcludedNote(note_id=note, reason=reason),),
        conflicts=(NoteConflict(code=code, note_ids=(note,)),),
    )
    compiled = compiled_turn(sources=snapshot(memory=memory))
    ending = Ending(stop_reason=reason, errors=(code,))
    scan_receipt(make_receipt(compiled.plan, None, key=KEY, ending=ending))


def test_tokens_are_allocated_as_counted() -> None:
    from compiler.budget import ContextBudgets  # noqa: PLC0415
    from compiler.compile import compile_start, compile_turn  # noqa: PLC0415
    from support.compiler_factories import start_request  # noqa: PLC0415
    from support.word_tokens import word_scene  # noqa: PLC0415

    start = compile_start(start_request(), snapshot(), ContextBudgets())
    scene = word_scene(9000, output=100, margin=10, wrapper=20, held=3000)
    compiled = compile_turn(
        turn_request(), FULL, ContextBudgets(), start.system, Model(scene=scene)
    )
    tokens = compiled.tokens
    assert tokens is not None
    receipt = make_receipt(compiled.plan, tokens, key=KEY)
    allocation = receipt["tokenAllocation"]
    assert isinstance(allocation, dict)
    parts = ("systemAndTemplate", "conversation", "currentUser", "selectedOther")
    assert sum(allocation[part] for part in parts) == tokens.used_tokens
    assert tokens.system_tokens + 20 + tokens.held_tokens == 3000
    assert receipt["promptTokenCommitment"] not in {"", tokens.prompt_sha256}


def test_a_receipt_has_a_hash_of_its_own() -> None:
    plan = compiled_turn().plan
    first, second = (make_receipt(plan, None, key=key) for key in (KEY, bytes(KEY_BYTES)))
    assert receipt_hash(first) != receipt_hash(second)
    assert receipt_hash(first) == receipt_hash(make_receipt(plan, None, key=KEY))
