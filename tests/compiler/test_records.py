"""Records: identity, birth authority, claims (TR "Canonical record model")."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.authority import NO_AUTHORITY, Factual, Instruction, StateAuthority
from compiler.hashing import sha256_fields
from compiler.records import (
    PERSONS,
    ClaimKey,
    CreatorClass,
    LifecycleEnvelope,
    ProvenanceEnvelope,
    RecordKind,
    RecordStatus,
    authority_at_birth,
    make_record,
    verify_record,
)
from support.record_factories import NOON, note


def test_the_payload_is_never_touched() -> None:
    """Search normalization makes separate artefacts; the original stays byte for byte."""
    octets = "  É\u2028Ｆull\r\n\x00".encode()
    record = make_record(
        kind=RecordKind.LONG_TERM_MEMORY_RECORD,
        payload=octets,
        provenance=ProvenanceEnvelope(creator_class=CreatorClass.PERSON, created_at=NOON),
        normalized=b"e full",
    )
    assert record.payload == octets
    assert record.original_hash == sha256_fields("trlm-payload-v1", (octets,))
    assert record.normalization_hash != record.original_hash


def test_identity_covers_kind_payload_and_metadata() -> None:
    """Two records differ exactly when one of the three does."""
    one = note("tea")
    assert note("tea") == one
    assert note("tee").record_id != one.record_id
    assert note("tea", at="2026-11-29T12:00:00.001Z").record_id != one.record_id
    assert note("tea", kind=RecordKind.TOOL_RESULT).record_id != one.record_id


def test_the_life_of_a_record_is_no_part_of_its_identity() -> None:
    """A retracted record is still that record."""
    retracted = note(lifecycle=LifecycleEnvelope(status=RecordStatus.RETRACTED))
    assert retracted.record_id == note().record_id


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_different_payloads_have_different_ids(one: bytes, two: bytes) -> None:
    """Length prefixes leave no ambiguous concatenation."""

    def build(payload: bytes) -> str:
        return make_record(
            kind=RecordKind.SESSION_FACT,
            payload=payload,
            provenance=ProvenanceEnvelope(creator_class=CreatorClass.HOST, created_at=NOON),
        ).record_id

    assert (build(one) == build(two)) == (one == two)


@pytest.mark.parametrize(
    "forged",
    [
        lambda record: replace(record, payload=b"another text"),
        lambda record: replace(record, kind=RecordKind.USER_PREFERENCE_ASSERTION),
        lambda record: replace(
            record,
            authority=replace(
                record.authority,
                authority=replace(record.authority.authority, instruction=Instruction.A0),
            ),
        ),
        lambda record: replace(
            record, provenance=replace(record.provenance, creator_class=CreatorClass.OWNER)
        ),
        lambda record: replace(record, record_id="0" * 64),
    ],
)
def test_a_forged_record_does_not_verify(forged: object) -> None:
    """Whatever is changed after birth, the hashes tell."""
    record = note()
    assert verify_record(record)
    assert not verify_record(forged(record))  # type: ignore[operator]  # a lambda of the table


@pytest.mark.parametrize("time", ["2026-11-29", "2026-11-29T12:00:00Z", "now", ""])
def test_times_have_one_form(time: str) -> None:
    """TR: fixed-format UTC strings."""
    with pytest.raises(ValueError, match="timestamp"):
        note(at=time)


@pytest.mark.parametrize("kind", RecordKind)
@pytest.mark.parametrize("creator", CreatorClass)
def test_birth_authority_of_every_kind(kind: RecordKind, creator: CreatorClass) -> None:
    """TR non-combinable: neither place, form nor claim gives what the maker has not."""
    authority = authority_at_birth(kind, creator)
    assert authority.instruction >= Instruction.A4
    if creator in {CreatorClass.MODEL, CreatorClass.TOOL, CreatorClass.OTHER}:
        assert authority.instruction >= Instruction.A6
        assert authority.state is StateAuthority.S0
    if creator is CreatorClass.OTHER:
        assert authority.factual <= Factual.F0


def test_a_page_that_calls_itself_a_preference_is_a_page() -> None:
    """A kind that only a person may make gives a tool nothing."""
    assert (
        authority_at_birth(RecordKind.USER_PREFERENCE_ASSERTION, CreatorClass.TOOL) == NO_AUTHORITY
    )


def test_a_summary_in_a_durable_place_is_no_fact() -> None:
    """A generated summary plus a durable-memory location does not become a verified fact."""
    stored = authority_at_birth(RecordKind.LONG_TERM_MEMORY_RECORD, CreatorClass.MODEL)
    assert stored.instruction is Instruction.A6
    assert stored.factual is Factual.F0


@pytest.mark.parametrize("creator", sorted(PERSONS))
def test_a_persons_own_note_is_explicit(creator: CreatorClass) -> None:
    """Table 6: by command, menu or button a note is A4."""
    authority = authority_at_birth(RecordKind.LONG_TERM_MEMORY_RECORD, creator)
    assert (authority.instruction, authority.factual) == (Instruction.A4, Factual.F2)


KEY = ClaimKey(subject="bo", predicate="ships-on", scope="discord:1")


@pytest.mark.parametrize(
    ("one", "two", "overlap"),
    [
        (KEY, KEY, True),
        (KEY, replace(KEY, predicate="eats"), False),
        (KEY, replace(KEY, scope="discord:2"), False),
        (replace(KEY, valid_until="2026-01"), replace(KEY, valid_from="2026-01"), False),
        (replace(KEY, valid_until="2026-02"), replace(KEY, valid_from="2026-01"), True),
        (replace(KEY, valid_from="2026-01"), KEY, True),
    ],
)
def test_claims_overlap_in_subject_scope_and_time(
    one: ClaimKey, two: ClaimKey, *, overlap: bool
) -> None:
    """TR: claims conflict only when their keys overlap."""
    assert one.overlaps(two) is overlap
    assert two.overlaps(one) is overlap
