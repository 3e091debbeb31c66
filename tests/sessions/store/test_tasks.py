"""Tasks in the database: filing, ends with what is posted and who waited, and what a crash left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.request import ChannelId, ImpName, Place, Role, RunId, RunScope, UserId
from sessions.schedule import Every, Once, Schedule
from sessions.store.database import Database
from sessions.store.outbox import OutboxStore, Parcel
from sessions.store.tasks import TaskCaps, TaskStore
from sessions.tasks import (
    DEPENDENCY_FAILED,
    Task,
    TaskId,
    TaskKind,
    TaskRefused,
    TaskState,
    cancel,
    file_task,
    finish,
    interrupt,
    retry,
)
from support.session_world import ManualClock

ADA, BO = UserId("discord:7"), UserId("discord:8")
CAPS = TaskCaps(per_person=5, in_all=8)
HEARTH = ChannelId("discord:100")


@pytest.fixture
def outbox(database: Database) -> OutboxStore:
    return OutboxStore(database, clock=ManualClock())


@pytest.fixture
def store(database: Database, outbox: OutboxStore) -> TaskStore:
    return TaskStore(database, outbox)


def scope(user: UserId = ADA, channel: ChannelId | None = HEARTH) -> RunScope:
    return RunScope(
        provider="discord",
        place=Place.NONE if channel is None else Place.GROUP,
        channel_id=channel,
        user_id=user,
        role=Role.OWNER,
    )


def task(
    name: str,
    *,
    at: int = 1_000,
    of: RunScope | None = None,
    after: tuple[str, ...] = (),
    kind: TaskKind = TaskKind.PROMPT,
    schedule: Schedule | None = None,
) -> Task:
    return file_task(
        TaskId(name),
        kind=kind,
        imp=ImpName("ember"),
        scope=of or scope(),
        origin="person",
        text=f"Do {name} \ud83d.",
        schedule=schedule or Once(at_ms=at),
        now_ms=500,
        after=tuple(map(TaskId, after)),
    )


def told(changed: Task) -> Parcel:
    return Parcel(
        key=changed.turn_id,
        channel_id=HEARTH,
        contents=(f"{changed.task_id} {changed.state} {changed.result_code}",),
        nonces=("n",),
    )


def nothing(_: Task) -> None:
    return None


async def begun(store: TaskStore, name: str, *, now_ms: int = 2_000) -> Task:
    found = await store.begin(TaskId(name), RunId(f"run-{name}"), now_ms=now_ms)
    assert found is not None
    return found


async def end(store: TaskStore, name: str, *, failure: str = "") -> tuple[Task, ...]:
    return await store.end(
        TaskId(name), lambda now: finish(now, now_ms=3_000, failure=failure), told, now_ms=3_000
    )


async def test_a_task_is_kept_as_it_was_filed(store: TaskStore) -> None:
    """Everything of it, but for halves of characters."""
    thread = replace(scope(), place=Place.THREAD, parent_channel_id=ChannelId("discord:99"))
    filed = task("t-a", of=thread, schedule=Every(seconds=600, first_ms=700))
    kept = await store.file(filed, CAPS)
    assert kept == filed
    assert await store.get(TaskId("t-a")) == replace(filed, text="Do t-a \ufffd.")
    assert await store.get(TaskId("t-z")) is None


async def test_caps_are_of_open_tasks(store: TaskStore) -> None:
    """One person's, and all; a question from the shell is none of them."""
    for number in range(5):
        await store.file(task(f"t-{number}"), CAPS)
    with pytest.raises(TaskRefused, match="too many"):
        await store.file(task("t-more"), CAPS)
    for number in range(5, 8):
        await store.file(task(f"t-{number}", of=scope(BO)), CAPS)
    with pytest.raises(TaskRefused, match="too many"):
        await store.file(task("t-more", of=scope(UserId("discord:9"))), CAPS)
    await store.file(task("t-direct", kind=TaskKind.DIRECT), CAPS)
    await store.change(TaskId("t-5"), lambda now: cancel(now, now_ms=1), nothing, now_ms=1)
    await store.file(task("t-more", of=scope(BO)), CAPS)


async def test_what_is_due_comes_in_order_and_is_begun_once(store: TaskStore) -> None:
    """The longest due first; whoever comes second finds it begun."""
    for name, at in (("t-b", 900), ("t-a", 900), ("t-c", 800), ("t-d", 9_000)):
        await store.file(task(name, at=at), CAPS)
    work = await store.work(now_ms=1_000, limit=10)
    assert [each.task_id for each in work.due] == ["t-c", "t-a", "t-b"]
    first = await begun(store, "t-c")
    assert (first.runs, first.run_id) == (1, "run-t-c")
    assert await store.begin(TaskId("t-c"), None, now_ms=2_000) is None
    assert await store.begin(TaskId("t-d"), None, now_ms=2_000) is None
    await store.file(task("t-shell", kind=TaskKind.DIRECT), CAPS)
    asked = await store.work(now_ms=1_000, limit=1)
    assert [each.task_id for each in asked.due] == ["t-shell"], "its asker waits"
    await store.change(TaskId("t-c"), lambda now: cancel(now, now_ms=1), nothing, now_ms=1)
    assert (await store.work(now_ms=1_000, limit=0)).unwanted == ("t-c",)


async def test_an_end_its_words_and_those_who_waited_are_one_transaction(
    store: TaskStore, outbox: OutboxStore, database: Database
) -> None:
    """Issue: results through the outbox; nothing of it is there when any part of it fails."""
    await store.file(task("t-a"), CAPS)
    await store.file(task("t-b", after=("t-a",)), CAPS)
    await begun(store, "t-a")

    def broken(_: Task) -> Parcel:
        raise RuntimeError("no words")

    with pytest.raises(RuntimeError):
        await store.end(TaskId("t-a"), lambda now: finish(now, now_ms=3_000), broken, now_ms=3_000)
    assert await outbox.pending() == ()
    running = await store.get(TaskId("t-a"))
    assert running is not None
    assert running.state is TaskState.RUNNING
    changed = await end(store, "t-a")
    assert [(each.task_id, each.state) for each in changed] == [
        ("t-a", TaskState.DONE),
        ("t-b", TaskState.QUEUED),
    ]
    assert [piece.content for piece in await outbox.pending()] == [
        "t-a done ",
        "t-b queued ",
    ]
    assert await store.result(TaskId("t-a")) == ""
    with pytest.raises(TaskRefused):
        await end(store, "t-a")
    rows = await database.read(lambda db: db.execute("SELECT count(*) FROM outbox").fetchone())
    assert rows == (2,)


async def test_a_failure_goes_down_the_whole_chain(store: TaskStore) -> None:
    """What comes after a failed task fails, and what comes after that."""
    await store.file(task("t-a"), CAPS)
    await store.file(task("t-b", after=("t-a",)), CAPS)
    await store.file(task("t-c", after=("t-b", "t-a")), CAPS)
    await begun(store, "t-a")
    changed = await end(store, "t-a", failure="start_failed")
    assert [(each.task_id, each.result_code) for each in changed] == [
        ("t-a", "start_failed"),
        ("t-b", DEPENDENCY_FAILED),
        ("t-c", DEPENDENCY_FAILED),
    ]
    with pytest.raises(TaskRefused, match="t-a"):
        await store.change(TaskId("t-b"), lambda now: retry(now, now_ms=9), nothing, now_ms=9)
    again = await store.change(TaskId("t-a"), lambda now: retry(now, now_ms=9), nothing, now_ms=9)
    assert again is not None
    assert again.state is TaskState.QUEUED


async def test_a_task_waits_only_for_one_of_its_own_conversation(store: TaskStore) -> None:
    """Ids of elsewhere answer as unknown ones do; one that is done is waited for no more."""
    await store.file(task("t-a"), CAPS)
    await store.file(task("t-often", schedule=Every(seconds=600, first_ms=700)), CAPS)
    elsewhere = scope(channel=ChannelId("discord:200"))
    for name, of in (("t-a", elsewhere), ("t-zzz", scope())):
        with pytest.raises(TaskRefused, match=f"no task `{name}`"):
            await store.file(task("t-b", of=of, after=(name,)), CAPS)
    with pytest.raises(TaskRefused, match="comes again"):
        await store.file(task("t-b", after=("t-often",)), CAPS)
    await begun(store, "t-a")
    await end(store, "t-a")
    assert (await store.file(task("t-b", after=("t-a",)), CAPS)).state is TaskState.QUEUED


async def test_a_restart_settles_what_was_running(store: TaskStore, outbox: OutboxStore) -> None:
    """As the kind says, with its word in the same transaction, and only once."""
    await store.file(task("t-a"), CAPS)
    await store.file(task("t-r", kind=TaskKind.REMINDER), CAPS)
    await store.file(task("t-b", after=("t-a",)), CAPS)
    await begun(store, "t-a")
    await begun(store, "t-r")

    async def recover() -> list[tuple[str, TaskState]]:
        left = await store.recover(
            lambda now: interrupt(now, now_ms=5_000, most_attempts=2), told, now_ms=5_000
        )
        return [(each.task_id, each.state) for each in left]

    assert await recover() == [("t-a", TaskState.INTERRUPTED), ("t-r", TaskState.QUEUED)]
    assert [piece.content for piece in await outbox.pending()] == [
        "t-a interrupted host_killed",
        "t-r queued host_killed",
        "t-b failed dependency_failed",
    ]
    assert await recover() == []


async def test_lists_are_of_a_conversation_and_a_person(store: TaskStore) -> None:
    """Open ones by their time, then ended ones; questions from the shell are no tasks."""
    await store.file(task("t-a", at=2_000), CAPS)
    await store.file(task("t-b", at=1_000), CAPS)
    await store.file(task("t-c", of=scope(BO)), CAPS)
    await store.file(task("t-d", of=scope(channel=ChannelId("discord:200"))), CAPS)
    await store.file(task("t-e", kind=TaskKind.DIRECT), CAPS)
    await begun(store, "t-b")
    await end(store, "t-b")
    mine = await store.listed(channel_id=HEARTH, user_id=ADA, with_ended=True)
    assert [each.task_id for each in mine] == ["t-a", "t-b"]
    everything = await store.listed()
    assert [each.task_id for each in everything] == ["t-c", "t-d", "t-a"]


async def test_what_is_long_over_is_dropped_unless_waited_for(store: TaskStore) -> None:
    """Texts are not kept for ever."""
    await store.file(task("t-a"), CAPS)
    await store.file(task("t-b"), CAPS)
    await store.file(task("t-c", after=("t-a", "t-b"), at=10**12), CAPS)
    await begun(store, "t-a")
    await end(store, "t-a")
    await store.prune(ended_before_ms=10_000)
    assert await store.get(TaskId("t-a")) is not None
    await begun(store, "t-b")
    await end(store, "t-b")
    await store.prune(ended_before_ms=10_000)
    assert await store.get(TaskId("t-a")) is None
    assert await store.get(TaskId("t-c")) is not None
