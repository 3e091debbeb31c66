"""Forgetting: what goes, what is told, and that nothing brings it back (P26)."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.request import ChannelId, MessageId, NoteConflict, Role, RunId, TurnId
from sessions.errors import StoreUnavailable
from sessions.limits import MemorySettings
from sessions.memory.notes import Claim
from sessions.memory.results import (
    CleanupCode,
    CleanupStatus,
    Gone,
    NoteState,
    NoteView,
    NotFound,
    RefusalCode,
    Refused,
    commitment,
)
from sessions.store.key_fault import KEYS_FILE, KeyFault
from sessions.store.memory import Reach
from support.memory_world import (
    ADA,
    BO,
    CY,
    HEARTH,
    Memory,
    by_hand,
    by_model,
    dm,
    dm_of,
    forgotten,
    group,
    kept,
    memory_in,
)
from support.run_rows import remember_reply
from support.session_world import ManualClock, eventually, locked

CANARY = "CANARY-26 is the name of Bo's boat"


def files_with(home: Path, text: str) -> list[str]:
    wanted = text.encode()
    return [
        str(file.relative_to(home))
        for file in sorted(home.rglob("*"))
        if file.is_file() and wanted in file.read_bytes()
    ]


async def tell(memory: Memory, text: str = CANARY, *, turn: int = 1) -> NoteView:
    """Bo says something in a direct message, and the model remembers it in that turn."""
    await memory.say(dm(), turn, f"remember: {text}")
    ctx = by_model(dm(message=turn), turn=turn)
    return kept(await memory.service.remember(ctx, text, explicit=False)).note


async def copy_home(home: Path, copy: Path, *names: str) -> None:
    for name in names:
        await asyncio.to_thread(shutil.copy2, home / name, copy / name)


async def test_a_forgotten_note_is_in_no_file(tmp_path: Path) -> None:
    """Key, payload, index, history: the words are nowhere, the tombstone tells when."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        await memory.say(dm(), 2, "what else?")
        result = forgotten(await memory.service.forget(by_hand(dm()), note.short_id))
        assert result.short_ids == (note.short_id,)
        assert result.proof.status is CleanupStatus.COMPLETED
        assert await memory.chosen(dm(), CANARY) == []
        assert await memory.heard(dm_of(BO)) == ["what else?"]
        shown = await memory.service.show(by_hand(dm()), note.short_id)
        assert isinstance(shown, NoteView)
        assert files_with(tmp_path, "CANARY-26") == [], "not even while the bot runs"
        assert (shown.state, shown.text, shown.forgotten_on) == (
            NoteState.FORGOTTEN,
            "",
            "2026-11-29",
        )
        assert await memory.service.forget(by_hand(dm()), note.short_id) == Gone(
            short_id=note.short_id, forgotten_on="2026-11-29"
        )
    assert files_with(tmp_path, "CANARY-26") == []


async def test_the_proof_holds_hashes_and_counts_only(tmp_path: Path) -> None:
    """TR's cleanup proof: request, records, stores, index revision, caches, status, policy."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        stored = await memory.service._core.store.find(note.short_id, Reach(user_id=None))
        assert stored is not None
        proof = forgotten(await memory.service.forget(by_hand(dm()), note.short_id)).proof
        assert proof.record_hashes == (commitment(proof.salt, stored.row.record_id),)
        assert proof.history_copies == 1
        assert dict(proof.stores)["keys"] == 1
        assert proof.traces_kept
        assert proof.policy == "inglenook.memory-policy.v1"
        document = proof.document()
        for secret in ("CANARY", "boat", stored.row.record_id, dm_of(BO), BO):
            assert secret not in document
        other = await tell(memory, "another CANARY-27", turn=5)
        second = forgotten(await memory.service.forget(by_hand(dm()), other.short_id)).proof
        assert second.salt != proof.salt


async def test_all_versions_of_a_note_go_together(tmp_path: Path) -> None:
    """A correction must not leave the older words behind."""
    async with memory_in(tmp_path) as memory:
        old = await tell(memory, "CANARY-26 on Tuesday")
        new = kept(
            await memory.service.correct(by_hand(dm()), old.short_id, "CANARY-26 on Friday")
        ).note
        proof = forgotten(await memory.service.forget(by_hand(dm()), new.short_id)).proof
        assert len(proof.record_hashes) == 2
        assert isinstance(await memory.service.forget(by_hand(dm()), old.short_id), Gone)
    assert files_with(tmp_path, "CANARY-26") == []


async def test_copies_in_history_go_where_they_hold_the_words(tmp_path: Path) -> None:
    """The message it was made from, the answer to it, and whatever else repeats the note."""
    async with memory_in(tmp_path) as memory:
        await memory.say(dm(), 1, "my boat, well, you know")
        await memory.say(dm(), 2, "Noted!", label="Ember")
        await remember_reply(
            memory.runs, MessageId("discord:2"), RunId("run-1"), TurnId("discord:message:1")
        )
        await memory.say(dm(), 3, "canary-26  is the NAME of Bo's boat, you see")
        await memory.say(dm(), 4, "a boat is a boat")
        await memory.say(group(), 5, CANARY)
        await memory.say(group(CY), 6, CANARY)
        ctx = by_model(dm(message=1), turn=1)
        note = kept(await memory.service.remember(ctx, CANARY, explicit=False)).note
        proof = forgotten(await memory.service.forget(by_hand(dm()), note.short_id)).proof
        assert await memory.heard(dm_of(BO)) == ["a boat is a boat"]
        assert await memory.heard(HEARTH) == [CANARY], "Cy's own words are Cy's"
        assert proof.history_copies == 4


async def test_a_short_note_does_not_empty_a_history(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        await memory.say(group(), 1, "tea")
        await memory.say(group(), 2, "I like tea with milk")
        note = kept(await memory.service.remember(by_hand(group()), "tea", explicit=True)).note
        await memory.service.forget(by_hand(group()), note.short_id)
        assert await memory.heard(HEARTH) == ["I like tea with milk"]


async def test_sessions_that_hold_the_text_end_and_their_files_go(tmp_path: Path) -> None:
    """Warm ones are ended, ones to be resumed are closed, ended ones lose pi's files."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        warm = await memory.run("run-1", dm_of(BO))
        resumable = await memory.run("run-2", dm_of(BO))
        elsewhere = await memory.run("run-3", HEARTH)
        memory.sessions.running[dm_of(BO)] = RunId("run-1")
        proof = forgotten(await memory.service.forget(by_hand(dm()), note.short_id)).proof
        assert memory.sessions.resets == [dm_of(BO)]
        assert proof.sessions_ended == 1
        assert proof.status is CleanupStatus.COMPLETED
        assert not warm.exists()
        assert not resumable.exists()
        assert elsewhere.exists()
        row = await memory.runs.get_run(RunId("run-2"))
        assert row is not None
        assert row.end_reason == "forgotten"


async def test_files_that_cannot_be_deleted_are_told_and_deleted_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TR's cleanup proof: "completion or partial failure"; what is left is done by itself."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        files = await memory.run("run-1", dm_of(BO))
        with monkeypatch.context() as patch:
            patch.setattr("sessions.memory.runs.shutil.rmtree", lambda *_, **__: None)
            proof = forgotten(await memory.service.forget(by_hand(dm()), note.short_id)).proof
        assert (proof.status, proof.errors) == (
            CleanupStatus.PARTIAL,
            (CleanupCode.FILES_REMAIN,),
        )
        assert files.exists()
        assert await memory.chosen(dm(), CANARY) == []
    async with memory_in(tmp_path) as memory:
        assert not files.exists()
        pending = await memory.database.read(
            lambda db: db.execute("SELECT count(*) FROM memory_pending").fetchone()
        )
        assert pending == (0,)


async def test_a_run_that_was_given_the_note_elsewhere_is_found(tmp_path: Path) -> None:
    """What a turn was given is written down before it is sent."""
    async with memory_in(tmp_path) as memory:
        ctx = by_hand(group())
        note = kept(await memory.service.remember(ctx, CANARY, explicit=True)).note
        thread_of_it = ChannelId("discord:10077")
        files = await memory.run("run-9", thread_of_it)
        await memory.service.keep_use(RunId("run-9"), [note.short_id])
        await memory.service.forget(ctx, note.short_id)
        assert thread_of_it in memory.sessions.resets
        assert not files.exists()


async def test_a_run_that_is_answering_is_cleaned_when_it_ends(tmp_path: Path) -> None:
    """The proof says partial, and what is left is done when the run has ended."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        files = await memory.run("run-1", dm_of(BO))
        memory.sessions.running[dm_of(BO)] = RunId("run-1")
        memory.sessions.busy.add(dm_of(BO))
        ctx = by_model(dm(message=2), turn=2)
        proof = forgotten(await memory.service.forget(ctx, note.short_id)).proof
        assert proof.status is CleanupStatus.PARTIAL
        assert proof.errors == (CleanupCode.SESSION_RUNNING,)
        assert await memory.chosen(dm(), CANARY) == []
        assert files.exists()
        memory.sessions.running.clear()
        await memory.service.run_ended(RunId("run-1"))
        assert not files.exists()
        receipt = await memory.service._core.forgetter._erasure.receipt(proof.receipt_id)
        assert receipt is not None
        assert '"status":"completed"' in receipt
        assert await memory.service._core.forgetter._erasure.pending() == ()


async def test_the_request_and_its_answer_go_too(tmp_path: Path) -> None:
    """ "Forget CANARY-26" repeats what it wants gone, and so does the answer."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        await memory.say(dm(), 2, "forget that CANARY-26 thing")
        await memory.service.forget(by_model(dm(message=2), turn=2), note.short_id)
        assert await memory.heard(dm_of(BO)) == []
        await memory.say(dm(), 3, "I no longer know CANARY-26.", label="Ember")
        await remember_reply(
            memory.runs, MessageId("discord:3"), RunId("run-1"), TurnId("discord:message:2")
        )
        await memory.service.before_history()
        assert await memory.heard(dm_of(BO)) == []


async def test_the_turn_of_the_forgetting_cannot_write_it_back(tmp_path: Path) -> None:
    """P26: a late writer brings nothing back; the person's later word may."""
    async with memory_in(tmp_path) as memory:
        service = memory.service
        note = await tell(memory)
        began = service.revision
        await service.forget(by_model(dm(), revision=began), note.short_id)
        late = await service.remember(
            by_model(dm(), revision=began), CANARY.upper(), explicit=False
        )
        assert late == Refused(code=RefusalCode.FORGOTTEN)
        assert await memory.chosen(dm(), CANARY) == []
        anew = by_model(dm(message=7), turn=7, revision=service.revision)
        kept(await service.remember(anew, CANARY, explicit=False))
        assert await memory.chosen(dm(), CANARY) == [CANARY]


async def test_two_forgets_at_once_are_one(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        results = await asyncio.gather(
            *(memory.service.forget(by_hand(dm()), note.short_id) for _ in range(5))
        )
        assert sum(not isinstance(each, Gone) for each in results) == 1


async def test_a_correction_that_meets_a_forgetting_brings_nothing_back(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        await asyncio.gather(
            memory.service.forget(by_hand(dm()), note.short_id),
            memory.service.correct(by_hand(dm()), note.short_id, f"{CANARY} indeed"),
            memory.service.confirm(by_hand(dm()), note.short_id),
            memory.service.forget(by_hand(dm()), note.short_id),
        )
        assert await memory.chosen(dm(), CANARY) == []


async def test_foreign_and_unknown_ids_get_the_same_answer(tmp_path: Path) -> None:
    """P02: nothing tells a guess from a miss."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        forged = ("m-aaaaaaaa", "*", "%", "../", "m-", "", "m-%", note.short_id + " ", "'; --", BO)
        answers = [
            await memory.service.forget(make(dm(CY)), each)
            for make in (by_hand, by_model)
            for each in (note.short_id, *forged)
        ]
        assert set(answers) == {NotFound()}
        shown = [await memory.service.show(by_hand(dm(CY)), each) for each in (note.short_id, "%")]
        assert shown == [NotFound(), NotFound()]
        assert await memory.chosen(dm(), CANARY) == [CANARY]


async def test_a_tool_in_a_channel_cannot_name_private_notes(tmp_path: Path) -> None:
    """The turn's audience bounds the tools as well: not even Bo's own from his messages."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        assert await memory.service.forget(by_model(group()), note.short_id) == NotFound()
        assert await memory.service.correct(by_model(group()), note.short_id, "x") == NotFound()
        assert (await memory.service.recall(by_model(group()), CANARY)).notes == ()
        forgotten(await memory.service.forget(by_hand(group()), note.short_id))


async def test_everything_of_a_person_can_go(tmp_path: Path) -> None:
    """ "Forget all": his notes of every scope, and nobody else's."""
    async with memory_in(tmp_path) as memory:
        await tell(memory)
        await memory.service.remember(by_hand(group()), "CANARY-27 tea", explicit=True)
        await memory.service.remember(by_hand(dm(CY)), "Cy likes tea", explicit=True)
        denied = await memory.service.forget_all(by_hand(dm(CY)), BO)
        assert denied == Refused(code=RefusalCode.NOT_ALLOWED)
        assert await memory.service.forget_all(by_model(dm())) == denied
        result = forgotten(await memory.service.forget_all(by_hand(dm())))
        assert len(result.short_ids) == 2
        assert await memory.service.forget_all(by_hand(dm())) == NotFound()
        assert await memory.chosen(dm(CY)) == ["Cy likes tea"]
    assert files_with(tmp_path, "CANARY") == []


async def test_an_old_backup_brings_nothing_back(tmp_path: Path) -> None:
    """The register beside the keys outlives the main database: records, copies, runs, answers."""
    home, copy = tmp_path / "home", tmp_path / "copy"
    home.mkdir()
    copy.mkdir()
    async with memory_in(home) as memory:
        note = await tell(memory)
        await memory.say(dm(), 2, f"{CANARY}, yes")
        await memory.run("run-1", dm_of(BO))
        await memory.service.keep_use(RunId("run-1"), [note.short_id])
    await copy_home(home, copy, "inglenook.db")
    async with memory_in(home) as memory:
        forgotten(await memory.service.forget(by_hand(dm()), note.short_id))
    for old in home.glob("inglenook.db*"):
        old.unlink()
    await copy_home(copy, home, "inglenook.db")
    files = home / "runs" / "run-1" / "session"
    files.mkdir()
    async with memory_in(home) as memory:
        assert memory.service.fault is None
        assert await memory.chosen(dm(), CANARY) == []
        assert await memory.heard(dm_of(BO)) == []
        shown = await memory.service.show(by_hand(dm()), note.short_id)
        assert isinstance(shown, NoteView)
        assert shown.state is NoteState.FORGOTTEN
        assert not files.exists()
        row = await memory.runs.get_run(RunId("run-1"))
        assert row is not None
        assert row.ended_at is not None
    assert files_with(home, "CANARY-26") == []


async def test_an_answer_that_an_old_backup_still_had_to_note_is_not_heard_again(
    tmp_path: Path,
) -> None:
    """P26: copied between the posting of an answer and the note of it, brought back later."""
    home, copy = tmp_path / "home", tmp_path / "copy"
    home.mkdir()
    copy.mkdir()
    async with memory_in(home) as memory:
        note = await tell(memory)
    await copy_home(home, copy, "inglenook.db")
    async with memory_in(home) as memory:
        await memory.say(dm(), 2, f"{CANARY}, yes")
        forgotten(await memory.service.forget(by_hand(dm()), note.short_id))
    for old in home.glob("inglenook.db*"):
        old.unlink()
    await copy_home(copy, home, "inglenook.db")
    async with memory_in(home) as memory:
        await memory.say(dm(), 2, f"{CANARY}, yes")
        await memory.say(dm(), 3, "The kettle is on.")
        await memory.service.before_history()
        assert await memory.heard(dm_of(BO)) == ["The kettle is on."]
    assert files_with(home, "CANARY-26") == []


async def test_an_old_key_store_brings_nothing_back(tmp_path: Path) -> None:
    """A key that returns for a tombstone is destroyed again."""
    home, copy = tmp_path / "home", tmp_path / "copy"
    home.mkdir()
    copy.mkdir()
    async with memory_in(home) as memory:
        note = await tell(memory)
    await copy_home(home, copy, KEYS_FILE)
    async with memory_in(home) as memory:
        await memory.service.forget(by_hand(dm()), note.short_id)
        tombstones = await memory.service._core.forgetter._erasure.tombstoned()
    for old in home.glob("keys.db*"):
        old.unlink()
    await copy_home(copy, home, KEYS_FILE)
    async with memory_in(home) as memory:
        assert await memory.vault.holds(sorted(tombstones)) == set()
        assert await memory.chosen(dm(), CANARY) == []


Hurdle = Callable[[pytest.MonkeyPatch, Memory], None]


def _no_key_destruction(patch: pytest.MonkeyPatch, memory: Memory) -> None:
    async def destroy(*_: object) -> bool:
        raise StoreUnavailable("killed here")

    patch.setattr(memory.vault, "destroy", destroy)


def _no_session_end(patch: pytest.MonkeyPatch, memory: Memory) -> None:
    async def concerned(*_: object) -> tuple[()]:
        raise StoreUnavailable("killed here")

    patch.setattr(memory.service._core.forgetter._erasure, "concerned_runs", concerned)


def _no_receipt(patch: pytest.MonkeyPatch, memory: Memory) -> None:
    async def settle(*_: object, **__: object) -> None:
        raise StoreUnavailable("killed here")

    patch.setattr(memory.service._core.forgetter._erasure, "settle", settle)


@pytest.mark.parametrize("hurdle", [_no_key_destruction, _no_session_end, _no_receipt])
async def test_a_forgetting_cut_off_anywhere_is_finished_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hurdle: Hurdle
) -> None:
    """Between the two databases: idempotent steps, taken up from the pending row."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        files = await memory.run("run-1", dm_of(BO))
        with monkeypatch.context() as patch:
            hurdle(patch, memory)
            forgotten(await memory.service.forget(by_hand(dm()), note.short_id))
        assert await memory.chosen(dm(), CANARY) == []
        assert await memory.heard(dm_of(BO)) == []
        assert len(await memory.service._core.forgetter._erasure.pending()) == 1
    async with memory_in(tmp_path) as memory:
        assert await memory.service._core.forgetter._erasure.pending() == ()
        assert not files.exists()
        assert await memory.vault.holds(sorted(memory.service._core.forgetter.gone)) == set()
        assert len(await memory.vault.forgotten_texts()) == 1


async def test_a_burial_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing half done: the note is still known, and a second try works."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        erasure = memory.service._core.forgetter._erasure

        async def bury(*_: object, **__: object) -> None:
            raise StoreUnavailable("disk full")

        with monkeypatch.context() as patch:
            patch.setattr(erasure, "bury", bury)
            with pytest.raises(StoreUnavailable):
                await memory.service.forget(by_hand(dm()), note.short_id)
        assert await memory.chosen(dm(), CANARY) == [CANARY]
        assert await memory.heard(dm_of(BO)) == [f"remember: {CANARY}"]
        forgotten(await memory.service.forget(by_hand(dm()), note.short_id))
        assert await memory.chosen(dm(), CANARY) == []


async def test_a_locked_key_store_still_lets_notes_go(tmp_path: Path) -> None:
    """The content goes at once; the key when the store is back. Nothing is shown meanwhile."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
    keys = tmp_path / KEYS_FILE
    moved = keys.rename(tmp_path / "moved")
    async with memory_in(tmp_path) as memory:
        assert memory.service.fault is KeyFault.MISSING
        assert await memory.chosen(dm(), CANARY) == []
        listed = await memory.service.list_own(by_hand(dm()))
        assert (listed.unreadable, listed.notes[0].state) == (1, NoteState.UNREADABLE)
        proof = forgotten(await memory.service.forget(by_hand(dm()), note.short_id)).proof
        assert proof.errors == (CleanupCode.KEYS_UNAVAILABLE,)
        assert await memory.service.remember(by_hand(dm()), "tea", explicit=True) == Refused(
            code=RefusalCode.KEYS_UNAVAILABLE
        )
    moved.rename(keys)
    async with memory_in(tmp_path) as memory:
        assert await memory.service._core.forgetter._erasure.pending() == ()
        assert await memory.vault.holds(sorted(memory.service._core.forgetter.gone)) == set()


async def test_the_canary_catches_what_an_index_still_offers(tmp_path: Path) -> None:
    """TOMBSTONED_RECORD_SELECTED: a stale index cannot put a forgotten note into a prompt."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        core = memory.service._core
        stored = await core.store.find(note.short_id, Reach(user_id=None))
        assert stored is not None
        (opened,) = (await core.store.open([stored])).notes
        await memory.service.forget(by_hand(dm()), note.short_id)
        core.index.put(opened)
        selection = await memory.selection(dm(), CANARY)
        assert selection.notes == ()
        assert selection.conflicts == (
            NoteConflict(code="TOMBSTONED_RECORD_SELECTED", note_ids=(note.short_id,)),
        )
        assert {each.reason for each in selection.excluded} == {"tombstoned"}
        disguised = await tell(memory, "some other words")
        stored = await core.store.find(disguised.short_id, Reach(user_id=None))
        assert stored is not None
        (other,) = (await core.store.open([stored])).notes
        core.index.put(replace(other, text=CANARY))
        assert await memory.chosen(dm(), CANARY) == []


async def test_the_canary_watches_searches_and_lists_as_well(tmp_path: Path) -> None:
    """What a stale index still holds is given to no tool and shown in no channel."""
    async with memory_in(tmp_path) as memory:
        core, service = memory.service._core, memory.service
        note = kept(
            await service.remember(
                by_model(group()), "We meet at CANARY-27", explicit=False, about_channel=True
            )
        ).note
        found = await service.recall(by_model(group(CY)), "CANARY-27")
        assert [each.text for each in found.notes] == [note.text]
        stored = await core.store.find(note.short_id, Reach(user_id=None))
        assert stored is not None
        (opened,) = (await core.store.open([stored])).notes
        forgotten(await service.forget(by_hand(group()), note.short_id))
        core.index.put(opened)
        assert (await service.recall(by_model(group(CY)), "CANARY-27")).notes == ()
        assert (await service.list_here(by_hand(group(CY)))).notes == ()


async def test_what_a_person_tells_again_is_known_again(tmp_path: Path) -> None:
    """P26: only he may, by his own hand, in whichever turn; then a restart knows it, too."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        await memory.service.forget(by_hand(dm()), note.short_id)
        late = by_model(dm(), revision=0)
        refused = await memory.service.remember(late, note.text, explicit=False)
        assert isinstance(refused, Refused)
        told = kept(await memory.service.remember(by_hand(dm()), note.text, explicit=True))
        assert (told.known, await memory.chosen(dm(), CANARY)) == (False, [note.text])
    async with memory_in(tmp_path) as memory:
        assert await memory.chosen(dm(), CANARY) == [note.text]
        found = await memory.service.recall(by_model(dm()), CANARY)
        assert [each.text for each in found.notes] == [note.text]


async def test_a_month_after_its_time_a_note_is_destroyed(tmp_path: Path) -> None:
    """Expiry first takes it out of selection, for good; its content goes when no clock is wrong."""
    clock = ManualClock()
    async with memory_in(tmp_path, clock=clock) as memory:
        ends = clock.utc_now().replace(day=30)
        note = kept(
            await memory.service.remember(by_hand(dm()), CANARY, explicit=True, expires=ends)
        ).note
        memory.later(days=2)
        assert await memory.chosen(dm(), CANARY) == []
        assert await memory.left(dm(), CANARY) == {note.short_id: "expired"}
        memory.later(days=-2)
        assert await memory.chosen(dm(), CANARY) == [], "a clock set back revives nothing"
    memory.later(days=20)
    async with memory_in(tmp_path, clock=clock) as memory:
        shown = await memory.service.show(by_hand(dm()), note.short_id)
        assert isinstance(shown, NoteView)
        assert (shown.state, shown.text) == (NoteState.EXPIRED, CANARY)
    memory.later(days=20)
    async with memory_in(tmp_path, clock=clock) as memory:
        shown = await memory.service.show(by_hand(dm()), note.short_id)
        assert isinstance(shown, NoteView)
        assert (shown.state, shown.text) == (NoteState.FORGOTTEN, "")
    assert files_with(tmp_path, "CANARY-26") == []


async def test_a_note_forgotten_between_plan_and_send_is_noticed(tmp_path: Path) -> None:
    """Table 9: nothing of it is sent; the turn is compiled anew."""
    async with memory_in(tmp_path) as memory:
        note = await tell(memory)
        other = await tell(memory, "tea at four", turn=2)
        before = memory.service.revision
        assert not memory.service.forgotten_since(before, [note.short_id])
        await memory.service.forget(by_hand(dm()), note.short_id)
        assert memory.service.forgotten_since(before, [note.short_id])
        assert not memory.service.forgotten_since(before, [other.short_id])


async def test_words_of_a_claim_are_sealed_as_well(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        claim = Claim(subject="CANARY-28", predicate="CANARY-29", value="CANARY-30")
        note = kept(
            await memory.service.remember(by_hand(dm()), "boat", explicit=True, claim=claim)
        ).note
        assert files_with(tmp_path, "CANARY") == []
        await memory.service.forget(by_hand(dm()), note.short_id)
    with sqlite3.connect(tmp_path / "inglenook.db") as db:
        rows = db.execute("SELECT * FROM memory_records").fetchall()
    db.close()
    assert "CANARY" not in repr(rows)


async def test_forgetting_by_the_model_has_a_rate(tmp_path: Path) -> None:
    async with memory_in(tmp_path, settings=MemorySettings(changes_per_minute=1)) as memory:
        note = await tell(memory)
        result = await memory.service.forget(by_model(dm()), note.short_id)
        assert result == Refused(code=RefusalCode.TOO_FAST)
        forgotten(await memory.service.forget(by_hand(dm()), note.short_id))


@pytest.mark.parametrize("fault", [KeyFault.FOREIGN, KeyFault.TOO_NEW, KeyFault.UNREADABLE])
async def test_keys_that_are_there_are_not_given_up(tmp_path: Path, fault: KeyFault) -> None:
    """A wrong file in its place, or one that is locked, loses nobody's notes."""
    owner = by_hand(group(ADA, role=Role.OWNER))
    async with memory_in(tmp_path) as memory:
        await tell(memory)
        memory.vault.fault = fault
        refused = await memory.service.forget_unreadable(owner)
        assert refused == Refused(code=RefusalCode.KEYS_UNAVAILABLE)
        memory.vault.fault = None
        assert await memory.chosen(dm()) != []


async def test_what_cannot_be_opened_is_found_behind_any_number_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is read to its end, part by part."""
    monkeypatch.setattr("sessions.store.memory.MAX_LISTED", 2)
    owner = by_hand(group(ADA, role=Role.OWNER))
    async with memory_in(tmp_path) as memory:
        for text in ("one boat", "two loaves", "three lamps", "four ships", "five doors"):
            kept(await memory.service.remember(by_hand(dm()), text, explicit=True))
        last = await memory.database.read(
            lambda db: db.execute("SELECT max(record_id) FROM memory_records").fetchone()[0]
        )
        await memory.vault.discard(last)
        assert len(forgotten(await memory.service.forget_unreadable(owner)).short_ids) == 1
        assert await memory.service.forget_unreadable(owner) == NotFound()


async def test_an_owner_can_give_up_what_lost_keys_have_closed(tmp_path: Path) -> None:
    """The way out: nothing is replaced silently, and nothing stays locked for ever."""
    owner = by_hand(group(ADA, role=Role.OWNER))
    async with memory_in(tmp_path) as memory:
        await tell(memory)
        assert await memory.service.forget_unreadable(owner) == NotFound()
    (tmp_path / KEYS_FILE).unlink()
    async with memory_in(tmp_path) as memory:
        denied = await memory.service.forget_unreadable(by_hand(dm()))
        assert denied == Refused(code=RefusalCode.NOT_ALLOWED)
        forgotten(await memory.service.forget_unreadable(owner))
        assert memory.service.fault is KeyFault.MISSING
    async with memory_in(tmp_path) as memory:
        assert memory.service.fault is None
        kept(await memory.service.remember(by_hand(dm()), "Bo likes tea", explicit=True))
        assert await memory.chosen(dm()) == ["Bo likes tea"]
        assert await memory.service._core.forgetter._erasure.pending() == ()


@pytest.mark.parametrize("what", ["a deleted message", "a person who leaves"])
async def test_what_is_being_noted_is_forgotten_too(tmp_path: Path, what: str) -> None:
    """P13, and issue "Writing and forgetting" (``/memory forget all``): the model's guess is being
    written in the moment in which it is to go."""
    async with memory_in(tmp_path) as memory:
        service = memory.service
        note = service.remember(by_model(dm(message=5)), CANARY, explicit=False)
        async with asyncio.TaskGroup() as tasks:
            with locked(tmp_path / "inglenook.db"):
                noting = tasks.create_task(note)
                await eventually(service._core.writing.locked)
                forgetting: asyncio.Task[object] = tasks.create_task(
                    service.take_back(MessageId("discord:5"))
                    if what == "a deleted message"
                    else service.forget_all(by_hand(dm()))
                )
                assert await memory.heard(dm_of(BO)) == []
                assert not noting.done()
        kept(noting.result())
        assert forgetting.result() not in (0, NotFound())
        assert await memory.chosen(dm(), "boat") == []


async def test_nothing_more_is_noted_of_a_deleted_message(tmp_path: Path) -> None:
    """P13: a tool's call that comes late, from the turn that is being cut off."""
    async with memory_in(tmp_path) as memory:
        assert await memory.service.take_back(MessageId("discord:5")) == 0
        late = await memory.service.remember(by_model(dm(message=5)), CANARY, explicit=False)
        assert isinstance(late, Refused)
        assert late.code is RefusalCode.FORGOTTEN
        assert await memory.chosen(dm(), "boat") == []
