"""Corrections that wait for their person (the table "Conflicts", CURRENT_USER_CORRECTION)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compiler.audience import Binding, MemoryScope
from compiler.records import RecordStatus
from compiler.request import NoteConflict, RunScope
from sessions.errors import StoreUnavailable
from sessions.memory.corrections import awaiting
from sessions.memory.drafts import draft_of
from sessions.memory.notes import Claim, Note, with_identity
from sessions.memory.rules import Placed
from support.memory_world import (
    BO,
    CY,
    EMBER,
    Memory,
    by_hand,
    by_model,
    dm,
    group,
    kept,
    memory_in,
)

PLACED = Placed(binding=Binding(imp=EMBER, scope=MemoryScope.USER, user_id=BO), subject_id=BO)
TEA = Claim(subject="Bo", predicate="drinks", value="tea")
CODE = "CURRENT_USER_CORRECTION"


def note(claim: Claim | None, *, waits: bool = False, corrects: str = "") -> Note:
    drawn = draft_of(by_hand(dm()), "words", PLACED, explicit=True, claim=claim, now_ms=1)
    status = RecordStatus.PENDING if waits else RecordStatus.ACTIVE
    return with_identity(replace(drawn, row=replace(drawn.row, status=status, supersedes=corrects)))


@pytest.mark.parametrize(
    ("claim", "is_one"),
    [
        (replace(TEA, value="coffee"), True),
        (replace(TEA, subject="BO", value="coffee"), True),
        (replace(TEA, value="Tea"), False),
        (replace(TEA, predicate="eats", value="cake"), False),
        (replace(TEA, value="coffee", valid_until="2020-01-01"), True),
        (None, False),
    ],
)
def test_a_draft_that_claims_something_else_of_the_same_thing_is_one(
    claim: Claim | None, *, is_one: bool
) -> None:
    stands, draft = note(TEA), note(claim, waits=True)
    found = {stands.row.record_id: (draft,)} if is_one else {}
    assert awaiting((draft, stands)) == awaiting((stands, draft)) == found


def test_a_draft_that_names_the_note_is_one_whatever_it_claims() -> None:
    stands = note(None)
    draft = note(None, waits=True, corrects=stands.row.record_id)
    assert awaiting((draft, stands)) == {stands.row.record_id: (draft,)}


def test_nobody_corrects_what_is_somebody_else_s() -> None:
    """A claim on the same thing by another person is a disagreement, not his correction."""
    stands = note(TEA)
    theirs = note(replace(TEA, value="coffee"), waits=True)
    theirs = replace(theirs, row=replace(theirs.row, subject_id=CY, author_id=CY))
    assert awaiting((stands, theirs)) == {}


async def put_and_correct(memory: Memory, scope: RunScope) -> tuple[str, str]:
    """Let Bo confirm a note, and the model note in his turn that it is otherwise."""
    ctx = by_hand(scope)
    old = kept(await memory.service.remember(ctx, "Bo drinks tea", explicit=True)).note
    new = kept(await memory.service.correct(by_model(scope), old.short_id, "Bo drinks coffee")).note
    return old.short_id, new.short_id


@pytest.mark.parametrize("scope", [dm(), group()], ids=["dm", "group"])
async def test_the_confirmed_note_stands_and_its_doubt_is_told(
    tmp_path: Path, scope: RunScope
) -> None:
    """The words of the correction are not used before the click; its id is named beside the note,
    and in the plan's conflicts, where nothing is kept by a rule.
    """
    async with memory_in(tmp_path) as memory:
        old, new = await put_and_correct(memory, scope)
        for _ in range(2):  # the second time from what the index holds
            selection = await memory.selection(scope)
            (shown,) = selection.notes
            assert (shown.text, shown.conflict) == ("Bo drinks tea", f"{CODE} {new}")
            assert selection.conflicts == (NoteConflict(code=CODE, note_ids=(old, new)),)
        found = await memory.service.recall(by_model(scope), "tea")
        assert [each.conflict for each in found.notes] == [f"{CODE} {new}"]


async def test_the_person_s_click_ends_it(tmp_path: Path) -> None:
    """Confirmed, the correction is the note; forgotten, it never was."""
    async with memory_in(tmp_path) as memory:
        _, new = await put_and_correct(memory, dm())
        kept(await memory.service.confirm(by_hand(dm()), new))
        selection = await memory.selection(dm(), "coffee")
        assert [(each.text, each.conflict) for each in selection.notes] == [
            ("Bo drinks coffee", "")
        ]
        assert selection.conflicts == ()
        _, draft = await put_and_correct(memory, group())
        await memory.service.forget(by_hand(group()), draft)
        assert (await memory.selection(group())).conflicts == ()


async def test_others_are_not_told_that_somebody_corrects_himself(tmp_path: Path) -> None:
    """It is the current user's own correction; for Cy's turn Bo's note is what Bo confirmed."""
    async with memory_in(tmp_path) as memory:
        await put_and_correct(memory, group())
        selection = await memory.selection(group(CY))
        assert [(each.text, each.conflict) for each in selection.notes] == [("Bo drinks tea", "")]
        assert selection.conflicts == ()


async def test_a_correction_whose_time_is_over_casts_no_doubt(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        old = kept(await memory.service.remember(by_hand(dm()), "Bo drinks tea", explicit=True))
        until = memory.clock.utc_now().replace(year=2027)
        await memory.service.correct(
            by_model(dm()), old.note.short_id, "Bo drinks coffee", expires=until
        )
        assert len((await memory.selection(dm())).conflicts) == 1
        memory.later(days=400)
        assert (await memory.selection(dm())).conflicts == ()


@pytest.mark.parametrize("better", ["model", "click"])
async def test_a_better_draft_that_cannot_be_written_leaves_the_first_waiting(
    tmp_path: Path, better: str
) -> None:
    """Issue 3, bad input: "a write that fails midway: nothing half done". The draft that was to be
    replaced had nobody's consent before, and has none after; a restart shows what was written.
    """
    async with memory_in(tmp_path) as memory:
        _, draft = await put_and_correct(memory, dm())
        await memory.database.write(
            lambda db: db.execute(
                "CREATE TRIGGER full_disk BEFORE INSERT ON memory_records"
                " BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        )
        if better == "model":
            replacing = memory.service.correct(by_model(dm()), draft, "Bo drinks cocoa")
        else:
            replacing = memory.service.confirm(by_hand(dm()), draft)
        with pytest.raises(StoreUnavailable):
            await replacing
    async with memory_in(tmp_path) as memory:
        assert await memory.chosen(dm()) == ["Bo drinks tea"]
        (waits,) = (await memory.selection(dm())).conflicts
        assert waits.note_ids[1:] == (draft,)
