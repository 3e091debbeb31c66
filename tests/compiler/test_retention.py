"""One table says what stays (TR "Non-negotiable retention order")."""

from __future__ import annotations

import json

from compiler.blocks import BlockKind
from compiler.memory import fit_memory
from compiler.request import MemoryNote, MemorySelection
from compiler.retention import RETENTION_OF_BLOCK, TIE_BREAKERS, WHY, Retention, retention_of_note


def test_the_order_is_the_one_decided() -> None:
    assert [retention.name for retention in Retention] == [
        "RULES",
        "CURRENT",
        "REQUIRED",
        "STATE",
        "BRIEFING",
        "DIALOGUE",
        "CONFIRMED",
        "MEMORY",
        "SUMMARY",
    ]
    assert list(WHY) == list(Retention)
    assert set(RETENTION_OF_BLOCK) == set(BlockKind)


def test_the_seven_tie_breakers_stand_in_trs_order() -> None:
    assert [tie.name for tie in TIE_BREAKERS] == [
        "mandatory",
        "direct_relevance",
        "explicit_pin",
        "validity_and_recency",
        "source_reliability",
        "source_diversity",
        "record_hash",
    ]


def test_what_is_confirmed_stays_longer_than_what_was_guessed_and_a_summary_least() -> None:
    """Whatever their rank; those that stay keep their order."""
    states = ("summary", "inferred", "confirmed", "inferred", "confirmed")
    notes = tuple(
        MemoryNote(note_id=f"n{rank}", scope="imp", text="x" * (30 - len(status)), status=status)
        for rank, status in enumerate(states)
    )
    selection = MemorySelection(notes=notes)
    whole = fit_memory(selection, 12_000, 12_000)
    note_chars = len(whole.items[0].form) + 1
    kept = []
    for gone in range(5):
        room = len(whole.content) - gone * note_chars
        content = fit_memory(selection, 12_000, room).content
        kept.append([item["id"] for item in json.loads(content)["items"]])
    assert kept == [
        ["n0", "n1", "n2", "n3", "n4"],
        ["n1", "n2", "n3", "n4"],
        ["n1", "n2", "n4"],
        ["n2", "n4"],
        ["n2"],
    ]


def test_an_unknown_status_is_no_confirmation() -> None:
    assert retention_of_note("CONFIRMED ") is Retention.MEMORY
