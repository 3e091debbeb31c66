"""The briefing shrinks from its end, counts what left, and keeps the continuation."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

from compiler.blocks import BlockKind, OmissionReason
from compiler.briefing import fit_briefing, minimum_chars
from compiler.request import Briefing, OpenGate, ResolvedGate

RESOLVED = ResolvedGate(gate_id="g0", intent="Post it", outcome="approved", detail="In #workshop.")
GATES = tuple(
    OpenGate(gate_id=gate_id, filed_at=filed_at, intent="Order apples")
    for gate_id, filed_at in (("b", "2026-11-02"), ("a", "2026-11-02"), ("c", "2026-11-01"))
)
FULL = Briefing(continuation=RESOLVED, open_gates=GATES)


def gates_in(content: str) -> list[str]:
    return [item["gate"] for item in json.loads(content)["items"]]


def test_an_empty_briefing_is_no_block() -> None:
    """CC: empty blocks consume nothing."""
    fit = fit_briefing(Briefing(), 4000)
    assert (fit.content, fit.omissions) == ("", ())
    assert minimum_chars(Briefing(open_gates=GATES)) == 0


@pytest.mark.parametrize("order", list(itertools.permutations(GATES)))
def test_continuation_first_then_gates_by_time_and_id(order: tuple[OpenGate, ...]) -> None:
    """CC "Briefing": stable ordering, whatever order the caller has."""
    fit = fit_briefing(replace(FULL, open_gates=order), 4000)
    assert gates_in(fit.content) == ["g0", "c", "a", "b"]
    assert json.loads(fit.content)["omitted"] == 0
    assert fit.omissions == ()


def test_at_each_room_the_end_leaves_and_is_counted() -> None:
    """CC "Context budgets": lower-priority items may leave, with an omitted count."""
    whole = len(fit_briefing(FULL, 4000).content)
    kept = []
    for room in range(whole, minimum_chars(FULL) - 1, -1):
        fit = fit_briefing(FULL, room)
        block = json.loads(fit.content)
        assert len(fit.content) <= room
        assert block["items"][0]["item"] == "continuation"
        assert block["omitted"] + len(block["items"]) == 4
        left = [each for each in fit.omissions if each.reason == OmissionReason.BUDGET]
        assert len(left) == block["omitted"]
        kept.append(len(block["items"]))
    assert kept == sorted(kept, reverse=True)
    assert (kept[0], kept[-1]) == (4, 1)


def test_an_over_long_detail_is_kept_as_its_beginning() -> None:
    """The continuation never leaves, and one oversized item never empties the block."""
    long = replace(FULL, continuation=replace(RESOLVED, detail="d" * 9000))
    fit = fit_briefing(long, 1000)
    first = json.loads(fit.content)["items"][0]
    assert first["outcome"] == "approved"
    assert first["shortened"].endswith("of 9000 characters")
    assert gates_in(fit.content) == ["g0", "c", "a", "b"]
    (shortened,) = fit.omissions
    assert (shortened.item_id, shortened.reason) == ("g0", OmissionReason.SHORTENED)
    assert shortened.block is BlockKind.BRIEFING
    assert shortened.chars > 9000


def test_the_minimum_is_exactly_what_the_continuation_needs() -> None:
    long = replace(FULL, continuation=replace(RESOLVED, detail="d" * 9000))
    least = minimum_chars(long)
    assert gates_in(fit_briefing(long, least).content) == ["g0"]
    assert gates_in(fit_briefing(long, least - 1).content) == []


@pytest.mark.parametrize("detail", ["", "short"])
def test_a_continuation_without_much_detail_needs_its_whole(detail: str) -> None:
    briefing = Briefing(continuation=replace(RESOLVED, detail=detail))
    least = minimum_chars(briefing)
    assert len(fit_briefing(briefing, least).content) == least
    assert gates_in(fit_briefing(briefing, least).content) == ["g0"]


def test_an_over_long_intent_does_not_hide_the_gates_behind_it() -> None:
    first = OpenGate(gate_id="big", filed_at="2026-01-01", intent="i" * 9000)
    fit = fit_briefing(Briefing(open_gates=(*GATES, first)), 1000)
    assert gates_in(fit.content) == ["big", "c", "a", "b"]


def test_without_room_for_its_frame_all_is_accounted_for() -> None:
    fit = fit_briefing(Briefing(open_gates=GATES), 20)
    assert fit.content == ""
    assert [each.item_id for each in fit.omissions] == ["c", "a", "b"]
