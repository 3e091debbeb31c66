"""Tasks as they are kept: each move in a transaction of its own, decided by the pure machine.

The end of a run is one transaction with three things in it: what the task is now, what is to be
posted of it (rows of the outbox), and what that means for the tasks that come after it. So a host
killed at any moment posts each result once, and no dependent task is forgotten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from compiler.request import ChannelId, Place, Role, RunId, RunScope, UserId
from sessions.store.database import Database
from sessions.store.history import storable
from sessions.store.outbox import OutboxStore, Parcel
from sessions.store.sql import marks
from sessions.store.task_rows import (
    MAX_LISTED,
    find_task,
    in_states,
    insert_task,
    put_task,
    select_tasks,
)
from sessions.tasks import (
    ENDED,
    OPEN,
    Task,
    TaskErrorCode,
    TaskId,
    TaskKind,
    TaskRefused,
    TaskState,
    begin,
    is_due,
    release,
)

Step: TypeAlias = Callable[[Task], Task]
Posting: TypeAlias = Callable[[Task], Parcel | None]
"""What is to be posted of a task that has just changed; it is asked within the transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCaps:
    """How many open tasks there may be."""

    per_person: int
    in_all: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the supervisor has to do at a moment."""

    due: tuple[Task, ...]
    unwanted: tuple[TaskId, ...]
    """Running tasks that somebody cancelled."""


class TaskStore:
    """The table ``tasks``; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database, outbox: OutboxStore) -> None:
        self._database = database
        self._outbox = outbox

    async def file(self, task: Task, caps: TaskCaps) -> Task:
        """Keep a new task; it is given as it stands then.

        Raises:
            TaskRefused: there are too many, or it comes after one that it cannot come after.
        """

        def work(db: sqlite3.Connection) -> Task:
            _check_caps(db, task, caps)
            for each in task.after:
                before = find_task(db, each)
                if before is None or not _may_precede(before, task):
                    raise TaskRefused(TaskErrorCode.UNKNOWN, f"There is no task `{each}` here.")
                if before.repeats:
                    raise TaskRefused(
                        TaskErrorCode.REFUSED, f"`{each}` comes again, so it is never done."
                    )
            kept = release(task, _states(db, task.after), now_ms=task.filed_ms)
            insert_task(db, kept)
            return kept

        return await self._database.write(work)

    async def get(self, task_id: TaskId) -> Task | None:
        """Read one task."""
        return await self._database.read(lambda db: find_task(db, task_id))

    async def result(self, task_id: TaskId) -> str:
        """Read the last answer of a task that is told in the shell."""

        def work(db: sqlite3.Connection) -> str:
            row = db.execute("SELECT result FROM tasks WHERE task_id = ?", (task_id,)).fetchone()
            return str(row[0]) if row else ""

        return await self._database.read(work)

    async def listed(
        self,
        *,
        channel_id: ChannelId | None = None,
        user_id: UserId | None = None,
        with_ended: bool = False,
    ) -> tuple[Task, ...]:
        """List tasks: the open ones by their time, then those that ended, the latest first."""
        conditions, values = ["kind != ?"], [TaskKind.DIRECT.value]
        for column, wanted in (("channel_id", channel_id), ("user_id", user_id)):
            if wanted is not None:
                conditions.append(f"{column} = ?")
                values.append(wanted)
        where = " AND ".join(conditions)

        def work(db: sqlite3.Connection) -> tuple[Task, ...]:
            found = in_states(db, OPEN, where, values, "due_ms, task_id")
            if with_ended:
                found += in_states(db, ENDED, where, values, "ended_ms DESC, task_id")
            return found[:MAX_LISTED]

        return await self._database.read(work)

    async def work(self, *, now_ms: int, limit: int) -> Work:
        """Read what is due and what is to be ended.

        Questions from the shell come first, then the longest due.
        """

        def work(db: sqlite3.Connection) -> Work:
            unwanted = db.execute(
                "SELECT task_id FROM tasks WHERE state = ? AND cancelled = 1",
                (TaskState.RUNNING.value,),
            ).fetchall()
            due = select_tasks(
                db,
                "state = ? AND due_ms <= ? ORDER BY kind != ?, due_ms, filed_ms, task_id LIMIT ?",
                (TaskState.QUEUED.value, now_ms, TaskKind.DIRECT.value, limit),
            )
            return Work(due=due, unwanted=tuple(TaskId(row[0]) for row in unwanted))

        return await self._database.read(work)

    async def begin(self, task_id: TaskId, run_id: RunId | None, *, now_ms: int) -> Task | None:
        """Take a due task in hand; None if it is not due any more."""

        def work(db: sqlite3.Connection) -> Task | None:
            task = find_task(db, task_id)
            if task is None or not is_due(task, now_ms=now_ms):
                return None
            begun = begin(task, run_id, now_ms=now_ms)
            put_task(db, begun)
            return begun

        return await self._database.write(work)

    async def end(
        self, task_id: TaskId, step: Step, posting: Posting, *, result: str = "", now_ms: int
    ) -> tuple[Task, ...]:
        """End a run: the task's move, what is posted of it, and the tasks that waited for it.

        Returns:
            All tasks that changed and were given to ``posting``, this one first.

        Raises:
            TaskRefused: what ``step`` raises; nothing is written then.
        """

        def work(db: sqlite3.Connection) -> tuple[Task, ...]:
            task = find_task(db, task_id)
            if task is None:
                return ()
            ended = step(task)
            put_task(db, ended)
            db.execute("UPDATE tasks SET result = ? WHERE task_id = ?", (storable(result), task_id))
            changed = (ended, *_release_all(db, now_ms=now_ms))
            self._post(db, changed, posting)
            return changed

        return await self._database.write(work)

    async def change(
        self,
        task_id: TaskId,
        step: Step,
        posting: Posting,
        *,
        now_ms: int,
        caps: TaskCaps | None = None,
    ) -> Task | None:
        """Make a person's move; None if there is no such task.

        Raises:
            TaskRefused: what ``step`` raises, or one that had ended is one too many now; nothing
                is written then.
        """

        def work(db: sqlite3.Connection) -> Task | None:
            task = find_task(db, task_id)
            if task is None:
                return None
            changed = step(task)
            if caps is not None and task.state not in OPEN and changed.state in OPEN:
                _check_caps(db, changed, caps)
            if changed.state is TaskState.QUEUED:
                _check_before(db, changed)
            put_task(db, changed)
            self._post(db, _release_all(db, now_ms=now_ms), posting)
            return changed

        return await self._database.write(work)

    async def recover(self, step: Step, posting: Posting, *, now_ms: int) -> tuple[Task, ...]:
        """Settle all running tasks of a host that is gone; give them as they are now."""

        def work(db: sqlite3.Connection) -> tuple[Task, ...]:
            left = select_tasks(db, "state = ? ORDER BY task_id", (TaskState.RUNNING.value,))
            after = tuple(map(step, left))
            for task in after:
                put_task(db, task)
            self._post(db, (*after, *_release_all(db, now_ms=now_ms)), posting)
            return after

        return await self._database.write(work)

    async def drop(self, task_id: TaskId) -> None:
        """Drop a question from the shell whose asker has the answer, or is gone."""
        await self._database.write(
            lambda db: db.execute(
                "DELETE FROM tasks WHERE task_id = ? AND kind = ?", (task_id, TaskKind.DIRECT.value)
            ).close()
        )

    async def place_of(self, channel_id: ChannelId) -> RunScope:
        """Give the scope of a conversation that is named by its id alone, as the records know it.

        A channel without a record is one of a server. Of a direct message its person is known from
        its runs.

        Raises:
            TaskRefused: a direct message of which no person is known.
        """

        def work(db: sqlite3.Connection) -> tuple[bool, UserId | None]:
            run = db.execute(
                "SELECT is_dm FROM runs WHERE channel_id = ? ORDER BY run_id DESC LIMIT 1",
                (channel_id,),
            ).fetchone()
            if run is None or not run[0]:
                return False, None
            person = db.execute(
                "SELECT user_id FROM turns JOIN runs USING (run_id) WHERE channel_id = ?"
                " AND user_id IS NOT NULL ORDER BY run_id DESC LIMIT 1",
                (channel_id,),
            ).fetchone()
            return True, UserId(person[0]) if person else None

        is_dm, user_id = await self._database.read(work)
        if is_dm and user_id is None:
            raise TaskRefused(TaskErrorCode.REFUSED, "I do not know whose direct message that is.")
        return RunScope(
            provider="discord",
            place=Place.DM if is_dm else Place.GROUP,
            channel_id=channel_id,
            user_id=user_id,
            role=Role.OWNER,
        )

    async def prune(self, *, ended_before_ms: int) -> None:
        """Drop tasks that ended before a moment, with their texts; those waited for stay."""

        def work(db: sqlite3.Connection) -> None:
            waiting = select_tasks(db, "state = ?", (TaskState.WAITING.value,))
            kept = {each for task in waiting for each in task.after}
            old = in_states(db, ENDED, "ended_ms < ?", [ended_before_ms], "task_id")
            db.executemany(
                "DELETE FROM tasks WHERE task_id = ?",
                [(task.task_id,) for task in old if task.task_id not in kept],
            )

        await self._database.write(work)

    def _post(self, db: sqlite3.Connection, tasks: Iterable[Task], posting: Posting) -> None:
        for task in tasks:
            parcel = posting(task)
            if parcel is not None:
                self._outbox.put(db, parcel)


def _check_caps(db: sqlite3.Connection, task: Task, caps: TaskCaps) -> None:
    if task.kind is TaskKind.DIRECT:
        return  # its asker waits at the shell
    states = (*(state.value for state in OPEN), TaskKind.DIRECT.value)
    counted = f"state IN ({marks(OPEN)}) AND kind != ?"
    query = f"SELECT count(*) FROM tasks WHERE {counted}"  # noqa: S608  (our own words)
    (in_all,) = db.execute(query, states).fetchone()
    (own,) = db.execute(f"{query} AND user_id = ?", (*states, task.scope.user_id)).fetchone()
    if in_all >= caps.in_all or own >= caps.per_person:
        raise TaskRefused(
            TaskErrorCode.REFUSED, "There are too many open tasks; cancel one of them first."
        )


def _may_precede(before: Task, task: Task) -> bool:
    """Whether a task may wait for another: of its own conversation, or both of none."""
    return before.scope.channel_id == task.scope.channel_id and before.kind is not TaskKind.DIRECT


def _check_before(db: sqlite3.Connection, task: Task) -> None:
    states = _states(db, task.after)
    for each in task.after:
        if states.get(each) is not TaskState.DONE:
            raise TaskRefused(TaskErrorCode.NOT_NOW, f"It comes after `{each}`, which is not done.")


def _release_all(db: sqlite3.Connection, *, now_ms: int) -> tuple[Task, ...]:
    """Look again at all that wait, until nothing changes: one that fails fails those behind it."""
    changed: list[Task] = []
    while True:
        waiting = select_tasks(
            db, "state = ? ORDER BY filed_ms, task_id", (TaskState.WAITING.value,)
        )
        moved = [
            after
            for task in waiting
            if (after := release(task, _states(db, task.after), now_ms=now_ms)) is not task
        ]
        for task in moved:
            put_task(db, task)
        if not moved:
            return tuple(changed)
        changed += moved


def _states(db: sqlite3.Connection, task_ids: Iterable[TaskId]) -> dict[TaskId, TaskState]:
    found = (find_task(db, each) for each in task_ids)
    return {task.task_id: task.state for task in found if task is not None}
