"""Ends of a record, and disagreements (TR "Supersession, retraction, and tombstones")."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.conflict_codes import ConflictCode
from compiler.lifecycle import (
    Effects,
    IllegalTransition,
    LifecycleEvent,
    advance,
    find_conflicts,
    next_status,
)
from compiler.records import (
    ClaimKey,
    CreatorClass,
    LifecycleEnvelope,
    RecordStatus,
    TrustClass,
)
from support.record_factories import note

KEY = ClaimKey(subject="bo", predicate="ships-on", scope="discord:1")


@given(st.lists(st.sampled_from(LifecycleEvent), max_size=12), st.sampled_from(RecordStatus))
def test_nothing_leaves_the_tombstone(events: list[LifecycleEvent], status: RecordStatus) -> None:
    """TR stop rule: a tombstoned record never reappears."""
    record = note(lifecycle=LifecycleEnvelope(status=status))
    for event in events:
        was_gone = record.lifecycle.status is RecordStatus.TOMBSTONED
        try:
            moved, effects = advance(record, event)
        except IllegalTransition:
            continue
        assert not was_gone
        if moved.lifecycle.status is RecordStatus.TOMBSTONED:
            assert moved.payload == b""
            assert effects.destroys_payload
            assert effects.purges_copies
            assert effects.ends_sessions
        record = moved


@pytest.mark.parametrize("status", RecordStatus)
def test_every_record_can_be_forgotten_once(status: RecordStatus) -> None:
    """A person can always forget; a second time is refused."""
    if status is RecordStatus.TOMBSTONED:
        with pytest.raises(IllegalTransition):
            next_status(status, LifecycleEvent.TOMBSTONE)
    else:
        assert next_status(status, LifecycleEvent.TOMBSTONE)[0] is RecordStatus.TOMBSTONED


def test_retraction_and_supersession_keep_the_payload() -> None:
    """They leave selection, not the owner's trace."""
    for event in (LifecycleEvent.RETRACT, LifecycleEvent.SUPERSEDE):
        moved, effects = advance(note(), event)
        assert moved.payload == note().payload
        assert effects == Effects(stales_summaries=True)
    assert next_status(RecordStatus.PENDING, LifecycleEvent.CONSENT)[1] == Effects()


def test_an_illegal_move_leaves_the_record() -> None:
    """A retraction cannot be taken back; a new assertion is a new record."""
    retracted, _ = advance(note(), LifecycleEvent.RETRACT)
    with pytest.raises(IllegalTransition) as caught:
        advance(retracted, LifecycleEvent.CONSENT)
    assert "tea" not in caught.value.safe_message
    assert retracted.lifecycle.status is RecordStatus.RETRACTED


def _two(**second: object) -> tuple[list[object], dict[str, str]]:
    one = note("Tuesday", claim=KEY, by="bo")
    two = note("Friday", claim=KEY, **second)  # type: ignore[arg-type]  # a table of keywords
    return [one, two], {one.record_id: "tuesday", two.record_id: "friday"}


@pytest.mark.parametrize(
    ("second", "code", "wins"),
    [
        (
            {"trust": TrustClass.EXPLICIT, "creator": CreatorClass.PERSON},
            ConflictCode.PREFERENCE_STALE_PROFILE,
            True,
        ),
        ({"at": "2026-11-30T12:00:00.000Z"}, ConflictCode.PREFERENCE_STALE_PROFILE, True),
        ({"by": "cy"}, ConflictCode.AUTHORITATIVE_DATE_DIVERGENCE, False),
    ],
)
def test_conflicts_by_claim(second: dict[str, object], code: ConflictCode, *, wins: bool) -> None:
    """Explicit beats inferred, newer beats older of one maker, else both are shown."""
    records, values = _two(**second)
    (conflict,) = find_conflicts(records, values)  # type: ignore[arg-type]  # built by the table
    assert conflict.code is code
    assert (conflict.kept is not None) is wins
    if wins:
        assert values[str(conflict.kept)] == "friday"


def test_equal_values_are_duplicates() -> None:
    """The kept one: higher factual authority, then newer, then smaller id."""
    one = note("Friday", claim=KEY, creator=CreatorClass.PERSON, trust=TrustClass.EXPLICIT)
    two = note("friday", claim=KEY, at="2026-11-30T12:00:00.000Z")
    values = {one.record_id: "friday", two.record_id: "friday"}
    (conflict,) = find_conflicts([two, one], values)
    assert conflict.code is ConflictCode.DUPLICATE_EQUIVALENT
    assert conflict.kept == one.record_id


def test_what_holds_at_another_time_is_no_contradiction() -> None:
    """TR "Contradiction policy": only overlapping validity; an end is where the next may begin."""
    until = replace(KEY, valid_until="2026-12-01")
    after = replace(KEY, valid_from="2026-12-01")
    one, two = note("Tuesday", claim=until), note("Friday", claim=after)
    values = {one.record_id: "tuesday", two.record_id: "friday"}
    assert find_conflicts([one, two], values) == ()
    sooner = note("Friday", claim=replace(KEY, valid_from="2026-11-30"))
    assert find_conflicts([one, sooner], values | {sooner.record_id: "friday"}) != ()


def test_other_people_s_words_are_nobody_s_newer_word() -> None:
    """Quotes and files have no author who could have changed his mind: both are shown."""
    records = [
        note(day, claim=KEY, creator=CreatorClass.OTHER, at=f"2026-11-{day}T12:00:00.000Z")
        for day in ("28", "29")
    ]
    values = {record.record_id: record.payload.decode() for record in records}
    (conflict,) = find_conflicts(records, values)
    assert (conflict.code, conflict.kept) == (ConflictCode.AUTHORITATIVE_DATE_DIVERGENCE, None)


def test_texts_without_a_claim_never_conflict() -> None:
    """TR: mere textual difference is not a contradiction."""
    one, two = note("tea"), note("coffee")
    assert find_conflicts([one, two], {one.record_id: "tea", two.record_id: "coffee"}) == ()


@given(st.integers(0, 2**32))
def test_the_order_of_records_never_matters(seed: int) -> None:
    """Metamorphic: permuted sources, same conflicts."""
    records = [
        note(f"{key.subject} {day}", claim=key, by=person, at=f"2026-11-{day:02}T12:00:00.000Z")
        for day in (1, 2, 3)
        for person in ("bo", "cy")
        for key in (KEY, replace(KEY, subject="cy"), replace(KEY, subject="dee"))
    ]
    values = {record.record_id: record.payload.decode() for record in records}
    expected = find_conflicts(records, values)
    random.Random(seed).shuffle(records)  # noqa: S311 - reproducible, not secret
    assert find_conflicts(records, values) == expected
