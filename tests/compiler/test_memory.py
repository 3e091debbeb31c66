"""Ranked notes: whole or not at all, one by one, each omission with its reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.blocks import BlockKind, OmissionReason
from compiler.memory import fit_memory
from compiler.request import ExcludedNote, MemoryNote, MemorySelection
from support.compiler_factories import notes


def note(name: str, text: str) -> MemoryNote:
    return MemoryNote(note_id=name, scope="imp", text=text)


def ids(content: str) -> list[str]:
    return [item["id"] for item in json.loads(content)["items"]] if content else []


def test_no_note_is_no_block() -> None:
    """CC "Failure behavior": empty memory is not an error."""
    fit = fit_memory(MemorySelection(), 12_000, 12_000)
    assert (fit.content, fit.omissions) == ("", ())


def test_rank_is_kept() -> None:
    assert ids(fit_memory(notes(3), 12_000, 12_000).content) == ["n0", "n1", "n2"]


def test_a_smaller_note_behind_one_without_room_still_goes_in() -> None:
    selection = MemorySelection(notes=(note("a", "a"), note("b", "b" * 300), note("c", "c")))
    fit = fit_memory(selection, 12_000, 250)
    assert ids(fit.content) == ["a", "c"]
    (left,) = fit.omissions
    assert (left.block, left.item_id, left.reason) == (
        BlockKind.MEMORY,
        "b",
        OmissionReason.BUDGET,
    )
    assert left.chars == len('{"id":"b","scope":"imp","status":"inferred","text":""}') + 300


@pytest.mark.parametrize(("spare", "expected"), [(0, ["n0", "n1"]), (-1, ["n0"])])
def test_the_room_is_used_to_its_last_character(spare: int, expected: list[str]) -> None:
    room = len(fit_memory(notes(2), 12_000, 12_000).content) + spare
    assert ids(fit_memory(notes(2), 12_000, room).content) == expected


def test_a_note_over_the_memorys_own_limit_is_named_so() -> None:
    """One oversized note never empties the block, and the owner learns why it is not there."""
    selection = MemorySelection(notes=(note("big", "b" * 900), note("c", "c")))
    fit = fit_memory(selection, 500, 500)
    assert ids(fit.content) == ["c"]
    assert [each.reason for each in fit.omissions] == [OmissionReason.OVERSIZED]


def test_a_note_of_exactly_the_own_limit_only_lacked_room() -> None:
    """The owner's limit is to blame for one that is over it, and the turn for all others."""
    big = MemorySelection(notes=(note("big", "b" * 100),))
    whole = len(fit_memory(big, 12_000, 12_000).content)
    for own_limit, reason in (
        (whole, OmissionReason.BUDGET),
        (whole - 1, OmissionReason.OVERSIZED),
    ):
        assert [each.reason for each in fit_memory(big, own_limit, 10).omissions] == [reason]


def test_the_order_of_what_was_excluded_says_nothing() -> None:
    """Table 9: permuted sources, the same omissions, so the same plan."""
    excluded = tuple(
        ExcludedNote(note_id=name, reason=reason)
        for reason in ("rank", "audience", "expired")
        for name in ("n2", "n1")
    )
    one, two = (
        fit_memory(MemorySelection(excluded=each), 12_000, 12_000).omissions
        for each in (excluded, excluded[::-1])
    )
    assert one == two


def test_what_selection_excluded_keeps_its_reason() -> None:
    """CC: records why each candidate was excluded."""
    selection = MemorySelection(excluded=(ExcludedNote(note_id="x", reason="audience"),))
    fit = fit_memory(selection, 500, 500)
    assert fit.content == ""
    assert [(each.item_id, each.reason, each.chars) for each in fit.omissions] == [
        ("x", "audience", 0)
    ]


@given(st.lists(st.text(max_size=200), max_size=15), st.integers(-50, 1500))
def test_offered_is_included_plus_omitted(texts: list[str], room: int) -> None:
    selection = MemorySelection(
        notes=tuple(note(str(index), text) for index, text in enumerate(texts))
    )
    fit = fit_memory(selection, 1500, room)
    included = ids(fit.content)
    omitted = [each.item_id for each in fit.omissions]
    assert sorted(included + omitted, key=int) == [str(index) for index in range(len(texts))]
    assert len(fit.content) <= max(room, 0)
    assert included == sorted(included, key=int)
