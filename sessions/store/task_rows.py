"""Rows of the table ``tasks``: written and read back, column by column."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from compiler.request import (
    ChannelId,
    GuildId,
    ImpName,
    MessageId,
    Place,
    Role,
    RunId,
    RunScope,
    UserId,
)
from sessions.schedule import read_schedule, write_schedule
from sessions.store.history import storable
from sessions.store.sql import marks
from sessions.tasks import Task, TaskId, TaskKind, TaskState

MAX_LISTED: Final = 200
_COLUMNS: Final = (
    "task_id, kind, imp, provider, place, channel_id, parent_channel_id, guild_id, user_id,"
    " message_id, role, origin, text, schedule, filed_ms, due_ms, state, comes_after, repository,"
    " runs, attempts, missed, run_id, ended_ms, result_code, cancelled"
)


def find_task(db: sqlite3.Connection, task_id: TaskId) -> Task | None:
    """Read one task."""
    found = select_tasks(db, "task_id = ?", (task_id,))
    return found[0] if found else None


def in_states(
    db: sqlite3.Connection, states: frozenset[TaskState], where: str, values: list[Any], order: str
) -> tuple[Task, ...]:
    """Read tasks by their states and a further condition."""
    condition = f"{where} AND state IN ({marks(states)}) ORDER BY {order} LIMIT ?"
    return select_tasks(db, condition, (*values, *sorted(states), MAX_LISTED))


def select_tasks(
    db: sqlite3.Connection, condition: str, values: tuple[Any, ...]
) -> tuple[Task, ...]:
    """Read the tasks that a condition chooses, whose words are our own."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM tasks WHERE {condition}", values)  # noqa: S608
    return tuple(map(_task, rows.fetchall()))


def insert_task(db: sqlite3.Connection, task: Task) -> None:
    """Write a new task."""
    values = _values(task)
    db.execute(f"INSERT INTO tasks ({_COLUMNS}) VALUES ({marks(values)})", values)  # noqa: S608  (our own words)


def put_task(db: sqlite3.Connection, task: Task) -> None:
    """Write a task as it is now over what it was."""
    assignments = ", ".join(f"{name.strip()} = ?" for name in _COLUMNS.split(","))
    db.execute(
        f"UPDATE tasks SET {assignments} WHERE task_id = ?",  # noqa: S608  (our own words)
        (*_values(task), task.task_id),
    )


def _values(task: Task) -> tuple[Any, ...]:
    scope = task.scope
    return (
        task.task_id,
        task.kind,
        task.imp,
        scope.provider,
        scope.place,
        scope.channel_id,
        scope.parent_channel_id,
        scope.guild_id,
        scope.user_id,
        scope.message_id,
        scope.role,
        task.origin,
        storable(task.text),
        write_schedule(task.schedule),
        task.filed_ms,
        task.due_ms,
        task.state,
        " ".join(task.after),
        task.repository,
        task.runs,
        task.attempts,
        task.missed,
        task.run_id,
        task.ended_ms,
        task.result_code,
        task.cancelled,
    )


def _task(row: tuple[Any, ...]) -> Task:
    scope = RunScope(
        provider=row[3],
        place=Place(row[4]),
        channel_id=None if row[5] is None else ChannelId(row[5]),
        parent_channel_id=None if row[6] is None else ChannelId(row[6]),
        guild_id=None if row[7] is None else GuildId(row[7]),
        user_id=None if row[8] is None else UserId(row[8]),
        message_id=None if row[9] is None else MessageId(row[9]),
        role=Role(row[10]),
    )
    return Task(
        task_id=TaskId(row[0]),
        kind=TaskKind(row[1]),
        imp=ImpName(row[2]),
        scope=scope,
        origin=row[11],
        text=row[12],
        schedule=read_schedule(row[13]),
        filed_ms=row[14],
        due_ms=row[15],
        state=TaskState(row[16]),
        after=tuple(TaskId(each) for each in row[17].split()),
        repository=row[18],
        runs=row[19],
        attempts=row[20],
        missed=row[21],
        run_id=None if row[22] is None else RunId(row[22]),
        ended_ms=row[23],
        result_code=row[24],
        cancelled=bool(row[25]),
    )
