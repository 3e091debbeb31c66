"""Notes in SQLite: sealed, found by their binding alone, changed whole or not at all."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.audience import Binding, MemoryScope
from compiler.lifecycle import IllegalTransition, LifecycleEvent
from compiler.records import CreatorClass, RecordKind, RecordStatus, TrustClass
from compiler.request import ImpName, RunId, UserId
from sessions.errors import StoreUnavailable
from sessions.memory.notes import Note, NoteRow, with_identity
from sessions.store.memory import MemoryStore, Reach
from support.memory_world import BO, CY, Memory, memory_in

EMBER = ImpName("ember")


def of(user: UserId) -> Binding:
    return Binding(imp=EMBER, scope=MemoryScope.USER, user_id=user)


def note(text: str = "tea", *, user: UserId = BO, supersedes: str = "") -> Note:
    row = NoteRow(
        record_id="",
        short_id="",
        kind=RecordKind.LONG_TERM_MEMORY_RECORD,
        binding=of(user),
        subject_id=user,
        author_id=user,
        creator=CreatorClass.MODEL,
        trust=TrustClass.INFERRED,
        status=RecordStatus.ACTIVE,
        pinned=False,
        created_ms=1_000,
        expires_ms=None,
        supersedes=supersedes,
    )
    return with_identity(Note(row=row, text=text))


def store_of(memory: Memory, ids: Iterator[str] | None = None) -> MemoryStore:
    if ids is None:
        return MemoryStore(memory.database, memory.vault)
    return MemoryStore(memory.database, memory.vault, ids=lambda: next(ids))


async def test_a_note_comes_back_as_it_was(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        store = store_of(memory)
        kept = await store.add(note())
        stored = await store.of_binding(of(BO))
        opened = await store.open(stored)
        assert opened.notes == (kept,)
        assert await store.of_binding(of(CY)) == ()
        assert await store.ids_of_binding(of(BO)) == (kept.row.short_id,)
        assert await store.living_in(of(BO)) == 1


async def test_short_ids_are_unique(tmp_path: Path) -> None:
    """A drawn id that is taken is drawn again; without a free one nothing is written."""
    async with memory_in(tmp_path) as memory:
        store = store_of(memory, iter(["m-1", "m-1", "m-2", *["m-1"] * 9]))
        assert (await store.add(note("a"))).row.short_id == "m-1"
        assert (await store.add(note("b"))).row.short_id == "m-2"
        third = note("c")
        with pytest.raises(StoreUnavailable):
            await store.add(third)
        assert await store.get(third.row.record_id) is None
        assert await memory.vault.holds([third.row.record_id]) == set()


async def test_a_write_that_fails_midway_leaves_nothing(tmp_path: Path) -> None:
    """The row, the end of the old one and the key: all or none."""
    async with memory_in(tmp_path) as memory:
        store = store_of(memory)
        old = await store.add(note("old"))
        await store.advance(old.row.record_id, LifecycleEvent.RETRACT)
        new = note("new", supersedes=old.row.record_id)
        with pytest.raises(IllegalTransition):
            await store.add(new, supersedes=[old.row.record_id])
        assert await store.get(new.row.record_id) is None
        assert await memory.vault.holds([new.row.record_id]) == set()
        stored = await store.get(old.row.record_id)
        assert stored is not None
        assert (stored.row.status, stored.row.superseded_by) == (RecordStatus.RETRACTED, "")


async def test_a_cancelled_write_is_whole_or_absent(tmp_path: Path) -> None:
    """Wherever the wait is cut off, a row has its key and a key without a row is taken back."""
    async with memory_in(tmp_path) as memory:
        store = store_of(memory)
        for turns in range(12):
            fresh = note(f"tea {turns}")
            async with asyncio.TaskGroup() as tasks:
                adding = tasks.create_task(store.add(fresh))
                for _ in range(turns):
                    await asyncio.sleep(0)
                adding.cancel()
            stored = await store.get(fresh.row.record_id)
            has_key = bool(await memory.vault.holds([fresh.row.record_id]))
            assert (stored is not None) == has_key


async def test_a_supersession_is_one_step(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        store = store_of(memory)
        old = await store.add(note("old"))
        new = await store.add(
            note("new", supersedes=old.row.record_id), supersedes=[old.row.record_id]
        )
        chain = await store.chain(old.row.record_id)
        assert [row.record_id for row in chain] == sorted(
            [old.row.record_id, new.row.record_id],
            key=lambda each: (1_000, each),
        )
        assert {row.status for row in chain} == {RecordStatus.SUPERSEDED, RecordStatus.ACTIVE}
        assert await store.chain(new.row.record_id) == chain


async def test_reach_decides_what_an_id_finds(tmp_path: Path) -> None:
    """One look-up for unknown and foreign ids alike."""
    async with memory_in(tmp_path) as memory:
        store = store_of(memory)
        short_id = (await store.add(note())).row.short_id
        mine = Reach(user_id=BO)
        assert await store.find(short_id, mine) is not None
        assert await store.find(short_id, Reach(user_id=None)) is not None
        assert await store.find(short_id, replace(mine, bindings=(of(BO),))) is not None
        assert await store.find(short_id, replace(mine, bindings=(of(CY),))) is None
        assert await store.find(short_id, replace(mine, bindings=())) is None
        for reach in (Reach(user_id=CY), Reach(user_id=UserId("")), Reach(user_id=UserId("%"))):
            assert await store.find(short_id, reach) is None
        for forged in ("%", "_", "m-%", "*", "../", "'; DROP TABLE memory_records; --", "\0"):
            assert await store.find(forged, Reach(user_id=None)) is None


async def test_expired_stays_expired(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        store = store_of(memory)
        one = await store.add(note("one"))
        two = await store.add(note("two"))
        await store.advance(two.row.record_id, LifecycleEvent.RETRACT)
        await store.expire([one.row.record_id, two.row.record_id])
        found = [await store.get(each.row.record_id) for each in (one, two)]
        assert [each.row.status for each in found if each] == [
            RecordStatus.EXPIRED,
            RecordStatus.RETRACTED,
        ]


async def test_use_by_a_run_is_kept_once(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        store = store_of(memory)
        kept = await store.add(note())
        for _ in range(2):
            await store.keep_use(RunId("run-1"), [kept.row.short_id, "m-unknown"])
        rows = await memory.database.read(
            lambda db: db.execute("SELECT record_id, run_id FROM memory_runs").fetchall()
        )
        assert rows == [(kept.row.record_id, "run-1")]


async def test_selection_s_reads_use_an_index(tmp_path: Path) -> None:
    """Reading a binding costs what it holds, however much the store holds."""
    async with memory_in(tmp_path) as memory:

        def plan(db: sqlite3.Connection) -> str:
            rows = db.execute(
                "EXPLAIN QUERY PLAN SELECT * FROM memory_records WHERE imp = ? AND scope = ?"
                " AND guild_id = ? AND channel_id = ? AND user_id = ? AND status = ?",
                ("e", "user", "", "", "u", "active"),
            ).fetchall()
            rows += db.execute(
                "EXPLAIN QUERY PLAN SELECT record_id FROM memory_records WHERE expires_ms < ?"
                " AND status = 'expired' LIMIT ?",
                (1, 1),
            ).fetchall()
            return " ".join(str(row[-1]) for row in rows)

        found = await memory.database.read(plan)
        assert "memory_by_binding" in found
        assert "memory_by_expiry" in found
        assert "SCAN" not in found


async def test_what_people_own(tmp_path: Path) -> None:
    """About him, or written by him about nobody; the newest first, tombstones on request."""
    async with memory_in(tmp_path) as memory:
        store = store_of(memory)
        mine = await store.add(note("mine"))
        about_nobody = note("channel")
        free = with_identity(
            replace(about_nobody, row=replace(about_nobody.row, subject_id=None, created_ms=2_000))
        )
        written = await store.add(free)
        about_cy = note("about cy")
        foreign = with_identity(
            replace(about_cy, row=replace(about_cy.row, subject_id=CY, author_id=BO))
        )
        await store.add(foreign)
        owned = await store.of_person(BO)
        assert [each.row.short_id for each in owned] == [
            written.row.short_id,
            mine.row.short_id,
        ]
        assert len(await store.of_person(None)) == 3
        assert await store.of_person(BO, imp=ImpName("cinder")) == ()
        assert await store.statuses() == {"active": 3}
