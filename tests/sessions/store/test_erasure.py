"""Forgetting in SQLite: one transaction, repeatable steps, and the register held against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.records import RecordStatus
from compiler.request import MessageId, Place, RunId, RunScope, TurnId
from sessions.errors import StoreUnavailable
from sessions.schedule import Once
from sessions.store.burials import Burial
from sessions.store.erasure import ErasureStore
from sessions.store.memory import MemoryStore
from sessions.store.note_rows import StoredNote
from sessions.store.outbox import OutboxStore
from sessions.store.tasks import TaskCaps, TaskStore
from sessions.tasks import TaskId, TaskKind, file_task, finish
from support.memory_world import (
    BO,
    EMBER,
    HEARTH,
    Memory,
    by_hand,
    dm,
    dm_of,
    group,
    kept,
    memory_in,
)
from support.run_rows import remember_reply


async def put(memory: Memory, text: str = "tea", *, number: int = 1) -> StoredNote:
    ctx = by_hand(dm(message=number))
    short_id = kept(await memory.service.remember(ctx, text, explicit=True)).note.short_id
    (stored,) = [
        each
        for each in await MemoryStore(memory.database, memory.vault).of_person(BO)
        if each.row.short_id == short_id
    ]
    return stored


def burial(*record_ids: str, **changes: object) -> Burial:
    base = Burial(
        receipt_id="r1",
        request_hash="0" * 64,
        record_ids=record_ids,
        by_id=BO,
        reason="person",
        at_ms=5_000,
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # names are checked by replace


def nothing(text: str) -> bool:
    del text
    return False


async def test_a_burial_empties_and_marks_in_one_step(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        stored = await put(memory)
        await memory.say(dm(), 1, "tea, please")
        await memory.say(dm(), 2, "cake")
        pending = await erasure.bury(
            burial(stored.row.record_id), holds_text=lambda text: "tea" in text
        )
        assert pending.message_ids == ("discord:1",)
        assert pending.channel_ids == (dm_of(BO),)
        again = await MemoryStore(memory.database, memory.vault).get(stored.row.record_id)
        assert again is not None
        assert (again.row.status, again.sealed) == (RecordStatus.TOMBSTONED, None)
        assert await memory.heard(dm_of(BO)) == ["cake"]
        assert await erasure.tombstoned() == {stored.row.record_id}
        assert await erasure.pending() == (pending,)


async def test_a_burial_that_fails_leaves_all_as_it_was(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        stored = await put(memory)
        await memory.say(dm(), 1, "tea")

        def broken(text: str) -> bool:
            raise StoreUnavailable(text)

        with pytest.raises(StoreUnavailable):
            await erasure.bury(burial(stored.row.record_id), holds_text=broken)
        assert await memory.heard(dm_of(BO)) == ["tea"]
        assert await erasure.tombstoned() == set()
        assert await erasure.pending() == ()


async def test_a_long_history_is_looked_through_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No copy is missed at the end of a part, and the database is free in between."""
    monkeypatch.setattr("sessions.store.erasure._PAGE", 3)
    async with memory_in(tmp_path) as memory:
        stored = await put(memory)
        for number in range(1, 11):
            await memory.say(dm(), number, f"tea {number}" if number % 2 else f"cake {number}")
        await memory.say(group(), 77, "tea elsewhere, in his own words")
        pending = await ErasureStore(memory.database).bury(
            burial(stored.row.record_id), holds_text=lambda text: "tea" in text
        )
        odd = [f"discord:{number}" for number in (1, 3, 5, 7, 9, 77)]
        assert sorted(pending.message_ids) == sorted(odd)
        assert all("tea" not in text for text in await memory.heard(dm_of(BO)))


async def test_what_is_said_while_a_history_is_looked_through_is_not_missed(
    tmp_path: Path,
) -> None:
    """A message that comes between the look and the transaction is looked at within it."""
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        stored = await put(memory)
        await memory.say(dm(), 1, "cake")
        look = erasure._look_through

        async def slowly(shelf: tuple[str, str], holds: Callable[[str], bool]) -> object:
            found = await look(shelf, holds)
            if shelf[0] == "author_id":
                await memory.say(dm(), 2, "tea, again")
            return found

        erasure._look_through = slowly  # type: ignore[method-assign, assignment]  # a pause
        pending = await erasure.bury(
            burial(stored.row.record_id), holds_text=lambda text: "tea" in text
        )
        assert pending.message_ids == ("discord:2",)


async def test_messages_go_by_name_and_by_turn(tmp_path: Path) -> None:
    """What a note was made from and what was answered to it, whatever they say."""
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        stored = await put(memory)
        for number in (1, 2, 3, 4):
            await memory.say(dm(), number, f"text {number}")
        await remember_reply(memory.runs, MessageId("discord:2"), RunId("r"), TurnId("turn-1"))
        pending = await erasure.bury(
            burial(stored.row.record_id, message_ids=("discord:1",), turn_ids=("turn-1", "turn-2")),
            holds_text=nothing,
        )
        assert await memory.heard(dm_of(BO)) == ["text 3", "text 4"]
        await remember_reply(memory.runs, MessageId("discord:3"), RunId("r"), TurnId("turn-2"))
        later = await erasure.late_answers(pending)
        assert later.message_ids == ("discord:1", "discord:2", "discord:3")
        assert await memory.heard(dm_of(BO)) == ["text 4"]


async def test_concerned_runs_are_those_of_the_places_and_the_named(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        for run, channel in (("run-1", dm_of(BO)), ("run-2", HEARTH), ("run-3", HEARTH)):
            await memory.run(run, channel)
        await memory.runs.end_run(RunId("run-1"), ended_at="2026-11-29T23:16:35.000Z", reason="x")
        found = await erasure.concerned_runs([dm_of(BO)], ["run-1", "run-3"])
        assert [(each.run_id, each.channel_id, each.is_open) for each in found] == [
            ("run-1", dm_of(BO), False),
            ("run-3", HEARTH, True),
        ]


async def test_what_is_there_again_is_named(tmp_path: Path) -> None:
    """The register against a main database that was brought back."""
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        stored = await put(memory)
        await memory.say(group(), 1, "one")
        await memory.say(group(), 2, "two")
        await remember_reply(memory.runs, MessageId("discord:2"), RunId("r"), TurnId("turn-1"))
        await memory.run("run-1", HEARTH)
        found = await erasure.returned(
            record_ids=[stored.row.record_id, "unknown"],
            message_ids=["discord:1", "discord:9"],
            run_ids=["run-1", "run-9"],
            turn_ids=["turn-1"],
        )
        assert found == ((stored.row.record_id,), ("discord:1", "discord:2"), ("run-1",))
        await erasure.bury(burial(stored.row.record_id), holds_text=nothing)
        again = await erasure.returned(
            record_ids=[stored.row.record_id], message_ids=[], run_ids=[], turn_ids=[]
        )
        assert again == ((), (), ())


async def test_a_receipt_closes_what_was_pending(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        stored = await put(memory)
        pending = await erasure.bury(burial(stored.row.record_id), holds_text=nothing)
        await erasure.settle(pending, document="partial", finished=False)
        assert await erasure.receipt("r1") == "partial"
        assert len(await erasure.pending()) == 1
        await erasure.settle(pending, document="done", finished=True)
        assert await erasure.receipt("r1") == "done"
        assert await erasure.pending() == ()
        assert await erasure.receipt("unknown") is None


async def test_what_was_derived_goes_with_its_source(tmp_path: Path) -> None:
    """A summary must not outlive what it was made from."""
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        source = await put(memory, "the source", number=1)
        derived = await put(memory, "a summary", number=2)
        apart = await put(memory, "something else", number=3)
        await memory.database.write(
            lambda db: db.execute(
                "INSERT INTO memory_lineage VALUES (?, ?)",
                (source.row.record_id, derived.row.record_id),
            ).close()
        )
        family = {row.record_id for row in await erasure.family([source.row.record_id])}
        assert family == {source.row.record_id, derived.row.record_id}
        assert apart.row.record_id not in family


async def test_expired_records_are_found_after_their_grace(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        stored = await put(memory)
        await memory.database.write(
            lambda db: db.execute(
                "UPDATE memory_records SET expires_ms = 100, status = 'expired'"
            ).close()
        )
        assert await erasure.expired_before(100, 10) == ()
        assert await erasure.expired_before(101, 10) == (stored.row.record_id,)


async def test_results_told_in_the_shell_go_with_the_notes_of_their_runs(tmp_path: Path) -> None:
    """A task without a channel keeps its answer, and that may hold what it was given."""
    async with memory_in(tmp_path) as memory:
        erasure = ErasureStore(memory.database)
        tasks = TaskStore(memory.database, OutboxStore(memory.database, clock=memory.clock))
        stored = await put(memory)
        for name, run in (("t-a", "run-a"), ("t-b", "run-b")):
            task = file_task(
                TaskId(name),
                kind=TaskKind.PROMPT,
                imp=EMBER,
                scope=RunScope(provider="discord", place=Place.NONE),
                origin="shell",
                text="What of tea?",
                schedule=Once(at_ms=0),
                now_ms=0,
            )
            await tasks.file(task, TaskCaps(per_person=9, in_all=9))
            await tasks.begin(task.task_id, RunId(run), now_ms=1)
            await tasks.end(
                task.task_id,
                lambda now: finish(now, now_ms=2),
                lambda _: None,
                result="Bo likes tea.",
                now_ms=2,
            )
        await MemoryStore(memory.database, memory.vault).keep_use(
            RunId("run-a"), [stored.row.short_id]
        )
        pending = await erasure.bury(burial(stored.row.record_id), holds_text=nothing)
        await erasure.settle(pending, document="{}", finished=True)
        assert await tasks.result(TaskId("t-a")) == ""
        assert await tasks.result(TaskId("t-b")) == "Bo likes tea."
