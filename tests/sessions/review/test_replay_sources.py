"""Taking a turn apart gives back what it was compiled from."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.budget import ContextBudgets
from compiler.render import gate_item, history_item, memory_items
from compiler.request import (
    Briefing,
    HistoryMessage,
    MemoryNote,
    MemorySelection,
    MessageId,
    MessagePart,
    OpenGate,
    PartKind,
    ResolvedGate,
)
from sessions.review.replay_sources import ReplayedSources, sources_of
from sessions.traces.events import CompiledEvent
from sessions.traces.writing import Occasion, compiled_event
from support.compiler_factories import compiled_turn, message, snapshot, turn_request
from support.compiler_golden import BRIEFING, HISTORY, MEMORY

AT = datetime(2026, 11, 29, 23, 16, 35, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def event(sources: object, budgets: ContextBudgets | None = None) -> CompiledEvent:
    compiled = compiled_turn(turn_request(), sources, budgets)  # type: ignore[arg-type]
    return compiled_event(compiled, Occasion(at=AT))


def test_memory_briefing_and_history_come_back() -> None:
    sources = snapshot(memory=MEMORY, briefing=BRIEFING, history=HISTORY)
    again = sources_of(event(sources)).snapshot
    assert again.memory.notes == MEMORY.notes
    assert again.memory.excluded == MEMORY.excluded
    assert again.briefing.continuation == BRIEFING.continuation
    assert set(again.briefing.open_gates) == set(BRIEFING.open_gates)
    assert again.history == HISTORY


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXT, max_size=12), st.integers(150, 900))
def test_each_note_has_its_rank_and_size_again(texts: list[str], room: int) -> None:
    notes = tuple(
        MemoryNote(
            note_id=f"n{rank}",
            scope="channel",
            text=text,
            status="confirmed" if len(text) % 2 else "inferred",
        )
        for rank, text in enumerate(texts)
    )
    sources = snapshot(memory=MemorySelection(notes=notes))
    traced = event(sources, ContextBudgets(memory_max_chars=room))
    again = sources_of(traced)
    assert [note.note_id for note in again.snapshot.memory.notes] == [
        note.note_id for note in notes
    ]
    assert again.stand_ins == len(traced.omissions)
    forms = dict(zip(texts_by_id(again), memory_items(again.snapshot.memory.notes), strict=True))
    for omission in traced.omissions:
        assert len(forms[omission.item_id]) == omission.chars


def texts_by_id(sources: ReplayedSources) -> list[str]:
    return [note.note_id for note in sources.snapshot.memory.notes]


def test_a_beginning_has_the_length_of_the_whole() -> None:
    long = replace(HISTORY[0], text="endless " * 2_000)
    (again,) = sources_of(event(snapshot(history=(long,)))).snapshot.history
    assert len(again.text) == len(long.text)
    assert again.text.startswith("endless endless")
    assert sources_of(event(snapshot(history=(long,)))).stand_ins == 0, "its beginning is there"


def test_what_a_message_carried_is_whole_or_a_beginning_again() -> None:
    """The plan names what was cut, so that a new one does not call it whole."""
    whole = MessagePart(kind=PartKind.QUOTE, text="quoted")
    cut = MessagePart(kind=PartKind.FILE, name="a.txt", text="begin", total_chars=900)
    compiled = compiled_turn(turn_request(message(parts=(whole, cut))), snapshot())
    said = sources_of(compiled_event(compiled, Occasion(at=AT))).request.message
    assert said is not None
    assert [(part.kind, part.text, part.total_chars) for part in said.parts] == [
        (PartKind.QUOTE, "quoted", None),
        (PartKind.FILE, "begin", 900),
    ]


def test_gates_that_had_no_room_come_back_behind_the_others() -> None:
    gates = tuple(
        OpenGate(gate_id=f"g{n}", filed_at=f"2026-11-{n + 10}", intent="Post " * 20)
        for n in range(9)
    )
    done = ResolvedGate(gate_id="g", intent="i", outcome="o")
    sources = snapshot(briefing=Briefing(continuation=done, open_gates=gates))
    again = sources_of(event(sources, ContextBudgets(briefing_max_chars=700)))
    found = {gate.gate_id: gate for gate in again.snapshot.briefing.open_gates}
    assert found.keys() == {gate.gate_id for gate in gates}
    assert {len(gate_item(gate)) for gate in found.values()} == {len(gate_item(gates[0]))}


def test_messages_that_had_no_room_come_back_before_the_others() -> None:
    history = tuple(
        HistoryMessage(message_id=MessageId(f"discord:{n}"), author_label="Bo", text="x" * 90)
        for n in range(20)
    )
    budgets = ContextBudgets(history_max_chars=900, history_max_messages=12)
    again = sources_of(event(snapshot(history=history), budgets))
    assert [each.message_id for each in again.snapshot.history] == [
        each.message_id for each in history
    ]
    assert list(map(len, map(history_item, again.snapshot.history))) == list(
        map(len, map(history_item, history))
    )
