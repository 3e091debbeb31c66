"""Drafts of notes: what they say of their maker, and which notes they meet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.audience import Binding, MemoryScope
from compiler.records import CreatorClass, RecordKind, RecordStatus, TrustClass
from compiler.request import MessageId, UserId
from sessions.memory.drafts import draft_of, expiring, outdone_by, twin_of
from sessions.memory.notes import Claim, Note, with_identity
from sessions.memory.rules import MemoryContext, Placed, SourceMessage
from support.memory_world import BO, EMBER, by_hand, by_model, dm

ADA = UserId("discord:7")
ABOUT_BO = Placed(
    binding=Binding(imp=EMBER, scope=MemoryScope.USER, user_id=BO),
    subject_id=BO,
)
TEA = Claim(subject="Bo", predicate="drinks", value="tea", valid_from="")
NOW_MS = 1_795_994_195_123


def draft(
    text: str = "Bo drinks tea",
    *,
    ctx: MemoryContext | None = None,
    claim: Claim | None = TEA,
    placed: Placed = ABOUT_BO,
    now_ms: int = NOW_MS,
) -> Note:
    who = ctx or by_hand(dm())
    return draft_of(who, text, placed, explicit=not who.by_model, claim=claim, now_ms=now_ms)


def kept(note: Note) -> Note:
    return with_identity(note)


def test_a_person_s_own_word_about_himself_is_explicit() -> None:
    """The table "Writing memory": his command makes a preference of his (A4)."""
    row = draft().row
    assert (row.kind, row.creator, row.trust) == (
        RecordKind.USER_PREFERENCE_ASSERTION,
        CreatorClass.PERSON,
        TrustClass.EXPLICIT,
    )
    assert (row.author_id, row.created_ms, row.record_id) == (BO, NOW_MS, "")


def test_what_the_model_keeps_is_inferred_and_of_its_turn() -> None:
    """The table "Writing memory": A6, whatever it says of itself."""
    row = draft(ctx=by_model(dm(message=5), turn=9)).row
    assert (row.kind, row.creator, row.trust) == (
        RecordKind.LONG_TERM_MEMORY_RECORD,
        CreatorClass.MODEL,
        TrustClass.INFERRED,
    )
    assert (row.run_id, row.turn_id, row.message_id) == ("run-1", "discord:message:9", "discord:5")


def test_a_note_for_the_imp_is_its_owner_s() -> None:
    """Only an owner writes what holds everywhere."""
    everywhere = Placed(binding=Binding(imp=EMBER, scope=MemoryScope.IMP), subject_id=None)
    assert draft(placed=everywhere).row.creator is CreatorClass.OWNER


def test_a_note_of_a_message_names_that_message() -> None:
    """Forgetting it finds the message that it was made from."""
    source = SourceMessage(message_id=MessageId("discord:77"), author_id=BO)
    note = draft_of(
        by_hand(dm(message=5)),
        "x",
        ABOUT_BO,
        explicit=True,
        claim=None,
        now_ms=NOW_MS,
        source=source,
    )
    assert note.row.message_id == "discord:77"


@pytest.mark.parametrize(
    ("own", "until", "ends"),
    [(None, None, None), (None, 5, 5), (5, None, 5), (5, 9, 5), (9, 5, 5)],
)
def test_a_note_ends_at_the_sooner_of_two_times(
    own: int | None, until: int | None, ends: int | None
) -> None:
    """Nothing makes a note stay longer than was allowed."""
    assert expiring(expiring(draft(), own), until).row.expires_ms == ends


def test_a_twin_says_the_same_about_the_same_person() -> None:
    """By folded text: another case or blank says nothing new; another person is another thing."""
    same, other = draft("  bo DRINKS tea "), draft("Bo drinks milk")
    ada = replace(same, row=replace(same.row, subject_id=ADA))
    assert twin_of(draft(), (other, ada, same)) is same
    assert twin_of(draft(), (other, ada)) is None


def test_a_newer_word_outdoes_the_older_of_the_same_person() -> None:
    """The table "Conflicts": the same person's other value of the same claim."""
    older = kept(draft(now_ms=NOW_MS - 1_000))
    newer = draft("Bo drinks milk", claim=replace(TEA, value="milk"))
    assert outdone_by(newer, (older,)) == {older.row.record_id: older}


def test_what_does_not_clash_or_does_not_stand_is_left_alone() -> None:
    """Neither another person's word, a note without a claim, nor one that waits."""
    older = kept(draft(now_ms=NOW_MS - 1_000))
    newer = draft("Bo drinks milk", claim=replace(TEA, value="milk"))
    ada = replace(older, row=replace(older.row, subject_id=ADA, author_id=ADA))
    waiting = replace(older, row=replace(older.row, status=RecordStatus.PENDING))
    assert outdone_by(newer, (ada, replace(older, claim=None), waiting)) == {}
    assert outdone_by(replace(newer, claim=None), (older,)) == {}
    held = replace(newer, row=replace(newer.row, status=RecordStatus.PENDING))
    assert outdone_by(held, (older,)) == {}


def test_what_the_model_infers_outdoes_nothing_that_was_said() -> None:
    """A6 never beats A4 (TR "Contradiction policy")."""
    said = kept(draft(now_ms=NOW_MS - 1_000))
    guess = draft("Bo drinks milk", ctx=by_model(dm()), claim=replace(TEA, value="milk"))
    assert outdone_by(guess, (said,)) == {}
