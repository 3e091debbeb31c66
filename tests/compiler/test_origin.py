"""Authority follows from where a record comes from, and from nothing that it says."""

from __future__ import annotations

from compiler.blocks import BlockKind
from compiler.origin import ORIGIN_OF_BLOCK, STANDING, Origin
from compiler.records import CreatorClass, RecordKind, authority_at_birth


def test_every_origin_and_block_has_a_standing() -> None:
    assert set(STANDING) == set(Origin)
    assert set(ORIGIN_OF_BLOCK) == set(BlockKind)
    assert {standing.record_kind for standing in STANDING.values()} <= set(RecordKind)


def test_notes_stand_as_their_records_were_born() -> None:
    """The plan's table and the records' own do not drift apart."""
    for origin, creator in (
        (Origin.CONFIRMED_NOTE, CreatorClass.PERSON),
        (Origin.INFERRED_NOTE, CreatorClass.MODEL),
    ):
        born = authority_at_birth(RecordKind.LONG_TERM_MEMORY_RECORD, creator)
        assert STANDING[origin][1:] == (born.instruction.name, born.factual.name, born.state.name)
    carried = authority_at_birth(RecordKind.UNTRUSTED_CONTENT_BLOCK, CreatorClass.OTHER)
    assert STANDING[Origin.CARRIED].instruction == carried.instruction.name


def test_what_others_wrote_and_what_the_model_said_never_reaches_a_person() -> None:
    """TR "Non-combinable authorities": a block of several is as strong as its weakest."""
    low = (Origin.MIXED, Origin.CARRIED, Origin.PERSON_MESSAGE, Origin.IMP_MESSAGE)
    for origin in (*low, Origin.INFERRED_NOTE, Origin.SUMMARY_NOTE):
        assert STANDING[origin].instruction > "A5"
        assert STANDING[origin].state == "S0"
