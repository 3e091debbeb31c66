"""Notes: what lies open, what is sealed, and the record that both stand for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.audience import Binding, MemoryScope
from compiler.authority import Factual, Instruction
from compiler.records import (
    CreatorClass,
    RecordKind,
    RecordStatus,
    SensitivityClass,
    TrustClass,
    verify_record,
)
from compiler.request import ImpName, UserId
from sessions.memory.notes import (
    SHORT_ID_LENGTH,
    Claim,
    Note,
    NoteRow,
    content_bytes,
    date_of,
    from_ms,
    new_short_id,
    owner_of,
    record_of,
    to_ms,
    with_content,
    with_identity,
)

BO = UserId("discord:8")
ROW = NoteRow(
    record_id="",
    short_id="m-aaaaaaaa",
    kind=RecordKind.LONG_TERM_MEMORY_RECORD,
    binding=Binding(imp=ImpName("ember"), scope=MemoryScope.USER, user_id=BO),
    subject_id=BO,
    author_id=BO,
    creator=CreatorClass.MODEL,
    trust=TrustClass.INFERRED,
    status=RecordStatus.ACTIVE,
    pinned=False,
    created_ms=1_795_994_195_123,
    expires_ms=None,
)
CLAIM = Claim(subject="Bo", predicate="drinks", value="tea", valid_from="2026-01-01")


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200),
    st.none()
    | st.builds(
        Claim,
        subject=st.text(alphabet="añ茶", max_size=5),
        predicate=st.just("p"),
        value=st.just("v"),
    ),
)
def test_content_comes_back_as_it_was(text: str, claim: Claim | None) -> None:
    note = with_identity(Note(row=ROW, text=text, claim=claim))
    assert with_content(note.row, content_bytes(note)) == note


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b'{"text":"x"}', b"\xff"])
def test_other_content_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        with_content(ROW, content)


def test_the_row_shows_nothing_of_the_content() -> None:
    """All that tells of the content is in what is sealed, the claim and the salt as well."""
    note = with_identity(Note(row=ROW, text="CANARY", claim=CLAIM))
    shown = repr(note.row)
    for part in ("CANARY", "drinks", note.salt):
        assert part not in shown
        assert part.encode() in content_bytes(note)


def test_the_id_is_a_commitment_that_no_guess_opens() -> None:
    """Equal notes have different ids, so a tombstone's id tells nobody whether he guessed right."""
    one, two = (
        with_identity(Note(row=ROW, text="3 May")),
        with_identity(Note(row=ROW, text="3 May")),
    )
    assert one.row.record_id != two.row.record_id
    assert record_of(one).record_id == one.row.record_id
    assert verify_record(record_of(one))
    changed = replace(one, text="4 May")
    assert record_of(changed).record_id != one.row.record_id


def test_the_record_carries_its_birth_authority() -> None:
    """A6 from the model, A4 and F2 from the person; lifecycle is no part of the identity."""
    inferred = record_of(with_identity(Note(row=ROW, text="tea")))
    assert inferred.authority.authority.instruction is Instruction.A6
    explicit = replace(
        ROW,
        creator=CreatorClass.PERSON,
        trust=TrustClass.EXPLICIT,
        kind=RecordKind.USER_PREFERENCE_ASSERTION,
    )
    said = record_of(with_identity(Note(row=explicit, text="tea", claim=CLAIM)))
    assert said.authority.authority.instruction is Instruction.A4
    assert said.authority.authority.factual is Factual.F2
    assert said.authority.claim is not None
    assert said.provenance.sensitivity is SensitivityClass.PERSONAL
    note = with_identity(Note(row=ROW, text="tea"))
    pinned = replace(note, row=replace(note.row, pinned=True, status=RecordStatus.SUPERSEDED))
    assert record_of(pinned).record_id == note.row.record_id


def test_another_binding_is_another_record() -> None:
    note = with_identity(Note(row=ROW, text="tea"))
    moved = Binding(imp=ImpName("ember"), scope=MemoryScope.USER, user_id=UserId("discord:9"))
    assert record_of(replace(note, row=replace(note.row, binding=moved))).record_id != (
        note.row.record_id
    )


def test_a_note_belongs_to_whom_it_is_about() -> None:
    assert owner_of(replace(ROW, author_id=UserId("discord:9"))) == BO
    assert owner_of(replace(ROW, subject_id=None)) == BO


def test_short_ids_are_long_enough_and_differ() -> None:
    drawn = {new_short_id() for _ in range(200)}
    assert len(drawn) == 200
    assert all(len(each) == 2 + SHORT_ID_LENGTH and each.isascii() for each in drawn)


@given(st.integers(min_value=0, max_value=253_402_300_799_000))
def test_times_survive_the_way_to_milliseconds(milliseconds: int) -> None:
    assert abs(to_ms(from_ms(milliseconds)) - milliseconds) <= 1


def test_a_time_beyond_all_calendars_is_the_last_day() -> None:
    assert date_of(10**18) == "9999-12-31"
    assert date_of(1_795_994_195_123) == "2026-11-29"
