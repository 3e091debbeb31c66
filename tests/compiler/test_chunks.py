"""A long text in parts: deterministic, bound to the whole, nothing lost (TR)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler.chunks import (
    MAX_CHUNKS,
    Boundary,
    ChunkPlan,
    ChunkPolicy,
    ChunkRefusal,
    needs_whole_text,
    plan_chunks,
)
from compiler.hashing import sha256_text
from compiler.render import quote

POLICY = ChunkPolicy(limit_chars=400, overlap_chars=60)
PIECES = st.sampled_from(
    ["word ", "A sentence. ", "line\n", "para\n\n", "x" * 90, '"' * 30, "🔥👩\u200d🚀", "e\u0301",
     "你好。", "\ud83d", "```\ncode\n```\n", " ", "👍🏽"]
)  # fmt: skip
TEXT = st.lists(PIECES, min_size=1, max_size=220).map("".join)


def cut(text: str, policy: ChunkPolicy = POLICY) -> ChunkPlan:
    plan = plan_chunks(text, policy, lambda part: len(quote(part)))
    assert isinstance(plan, ChunkPlan)
    return plan


@settings(max_examples=150, deadline=None)
@given(TEXT)
def test_the_parts_are_the_text_and_each_has_room(text: str) -> None:
    plan = plan_chunks(text, POLICY, lambda part: len(quote(part)))
    assume(isinstance(plan, ChunkPlan))
    assert isinstance(plan, ChunkPlan)
    new = "".join(text[each.start + each.overlap_chars : each.end] for each in plan.chunks)
    assert new == text
    octets = text.encode("utf-8", "surrogatepass")
    for each in plan.chunks:
        body = text[each.start : each.end]
        assert len(quote(body)) <= POLICY.limit_chars
        assert sha256_text(body) == each.sha256
        assert octets[each.byte_start : each.byte_end] == body.encode("utf-8", "surrogatepass")
    assert plan.original_bytes == len(octets)
    assert plan == plan_chunks(text, POLICY, lambda part: len(quote(part)))


def test_a_short_text_is_one_part() -> None:
    plan = cut("Good evening.")
    assert [(each.boundary, each.overlap_chars) for each in plan.chunks] == [(Boundary.END, 0)]


@pytest.mark.parametrize(
    ("unit", "boundary"),
    [
        ("A line of text here.\n\n", Boundary.PARAGRAPH),
        ("A line of text here\n", Boundary.LINE),
        ("A sentence of text. ", Boundary.SENTENCE),
        ("word word word ", Boundary.BLANK),
        ("x", Boundary.CHARACTER),
    ],
)
def test_a_part_ends_at_the_best_boundary(unit: str, boundary: Boundary) -> None:
    plan = cut(unit * (1_000 // len(unit)))
    assert {each.boundary for each in plan.chunks[:-1]} == {boundary}


def test_parts_overlap_so_that_nothing_falls_between_them() -> None:
    plan = cut("Some words of a long story. " * 60)
    for before, after in zip(plan.chunks, plan.chunks[1:], strict=False):
        assert 0 < after.overlap_chars <= POLICY.overlap_chars
        assert after.start + after.overlap_chars == before.end


def test_no_character_is_cut_in_two() -> None:
    text = "👩\u200d🚀" * 300
    for each in cut(text).chunks[:-1]:
        assert text[each.end] == "👩"


def test_a_part_is_bound_to_the_whole() -> None:
    """Hash, byte length, index and policy: each alone changes the binding."""
    text = "Some words of a long story. " * 60
    plan = cut(text)
    bindings = [plan.binding(index) for index in range(len(plan.chunks))]
    assert len(set(bindings)) == len(bindings)
    for changed in (
        replace(plan, original_sha256="0" * 64),
        replace(plan, original_bytes=1),
        replace(plan, policy=replace(POLICY, overlap_chars=61)),
        replace(plan, chunks=plan.chunks[:-1]),
    ):
        assert changed.binding(0) != plan.binding(0)


@pytest.mark.parametrize("unit", ["\x00", "\x1b", "\u2028", "\ud800", "\x00a \x1b["])
def test_what_renders_long_is_cut_all_the_same(unit: str) -> None:
    """Pasted logs are full of controls: each part has room, and most of it is new."""
    text = (unit * 3_000)[:3_000]
    plan = plan_chunks(text, ChunkPolicy(limit_chars=800), lambda part: len(quote(part)))
    assert isinstance(plan, ChunkPlan)
    assert all(len(quote(text[each.start : each.end])) <= 800 for each in plan.chunks)
    assert all(2 * each.overlap_chars <= each.end - each.start for each in plan.chunks[:-1])
    assert plan.chunks[-1].end == len(text)


def test_too_many_parts_are_refused() -> None:
    assert plan_chunks("x" * 400 * (MAX_CHUNKS + 9), POLICY) is ChunkRefusal.TOO_MANY


@pytest.mark.parametrize("policy", [ChunkPolicy(limit_chars=100), ChunkPolicy(limit_chars=300)])
def test_a_policy_without_room_is_a_fault(policy: ChunkPolicy) -> None:
    with pytest.raises(ValueError, match="room"):
        plan_chunks("text", policy)


@pytest.mark.parametrize(
    ("asked", "whole"),
    [
        ("Sort these lines by name:", True),
        ("How many people are in this log?", True),
        ("Which is the longest paragraph?", True),
        ("Translate this to German:", False),
        ("Please tidy up the spelling.", False),
    ],
)
def test_what_needs_the_whole_text_is_recognized(asked: str, whole: bool) -> None:  # noqa: FBT001
    """TR: the compiler stops rather than infer from a prefix and suffix."""
    paste = "The apples were red and the evening was mild. " * 900
    assert needs_whole_text(f"{asked}\n\n{paste}") is whole
    assert needs_whole_text(f"{paste}\n\n{asked}") is whole
