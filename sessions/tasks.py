"""A task: something the imp is to do outside a conversation's turns, and what becomes of it. Pure.

    waiting --release--> queued --begin--> running --succeed--> done
       |                  |  ^                |---fail--------> failed
       |--block--> failed |  +----repeat------|---interrupt---> interrupted
       +--cancel---> cancelled <--cancel------+

    failed, interrupted, cancelled --retry--> queued

A task waits while another that it comes after is not done; where that one fails, so does this. It
is queued with the time at which it is due. One that repeats is queued again when a run of it ends,
however that ended, for the first time that is later than both the one it was due at and now: so
times that nobody was there for are made up by one run, and a clock that was set back repeats none.

A running task that a restart interrupted goes on as its kind says: what may be done twice is queued
once more, up to a number of attempts; what may not is ``interrupted``, and people are told (or the
next time of one that repeats is waited for). Its answer is posted at most once in either case:
the end of a run and what is to be posted of it are one transaction.

Where a task belongs and for whom it runs is fixed when it is filed, by the platform's ids; no word
of its text selects anything (CC "Security invariants").

Spec: CC "One-shot runs"; issue "Tasks and direct runs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NewType

from compiler.errors import SafeError
from compiler.request import ImpName, RunId, RunScope, RunSurface, TurnId
from sessions.schedule import (
    Schedule,
    first_time,
    missed_between,
    next_after,
    repeats,
)
from sessions.visible import is_visible

TaskId = NewType("TaskId", str)
OF_SHELL: Final = "shell"
"""The origin of what the owner of the home filed at his machine."""
HOST_KILLED: Final = "host_killed"
DEPENDENCY_FAILED: Final = "dependency_failed"
HEARTBEAT_NOTE: Final = (
    "\n\nIf there is nothing worth saying now, answer with the one word NOTHING."
)
"""Added to a heartbeat's text when it is filed, so it is seen wherever the text is."""
_NOTHING: Final = frozenset({"", "nothing", "-", "—"})


class TaskKind(StrEnum):
    """What is done when a task is due."""

    DIRECT = "direct"
    """One question from the shell, whose asker waits for the answer."""
    REMINDER = "reminder"
    """Its text is posted; no model is asked."""
    PROMPT = "prompt"
    """The imp is given the text, and its answer is posted."""
    HEARTBEAT = "heartbeat"
    """As a prompt, again and again, and silent when there is nothing to say."""
    RESEARCH = "research"
    """As a prompt, with more time."""
    CODE = "code"
    """As a prompt, in a worktree of a repository."""
    CONTINUATION = "continuation"
    """An action that a task of the shell's proposed has ended: it hears how, and goes on."""


class TaskState(StrEnum):
    """What a task is."""

    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class TaskMove(StrEnum):
    """What can be done with one."""

    RELEASE = "release"
    BLOCK = "block"
    BEGIN = "begin"
    SUCCEED = "succeed"
    FAIL = "fail"
    REPEAT = "repeat"
    INTERRUPT = "interrupt"
    CANCEL = "cancel"
    RETRY = "retry"


MOVES: Final[Mapping[tuple[TaskState, TaskMove], TaskState]] = MappingProxyType(
    {
        (TaskState.WAITING, TaskMove.RELEASE): TaskState.QUEUED,
        (TaskState.WAITING, TaskMove.BLOCK): TaskState.FAILED,
        (TaskState.WAITING, TaskMove.CANCEL): TaskState.CANCELLED,
        (TaskState.QUEUED, TaskMove.BEGIN): TaskState.RUNNING,
        (TaskState.QUEUED, TaskMove.CANCEL): TaskState.CANCELLED,
        (TaskState.RUNNING, TaskMove.SUCCEED): TaskState.DONE,
        (TaskState.RUNNING, TaskMove.FAIL): TaskState.FAILED,
        (TaskState.RUNNING, TaskMove.REPEAT): TaskState.QUEUED,
        (TaskState.RUNNING, TaskMove.INTERRUPT): TaskState.INTERRUPTED,
        (TaskState.RUNNING, TaskMove.CANCEL): TaskState.CANCELLED,
        (TaskState.FAILED, TaskMove.RETRY): TaskState.QUEUED,
        (TaskState.INTERRUPTED, TaskMove.RETRY): TaskState.QUEUED,
        (TaskState.CANCELLED, TaskMove.RETRY): TaskState.QUEUED,
    }
)
"""All moves there are."""
ENDED: Final = frozenset(
    {TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED, TaskState.INTERRUPTED}
)
OPEN: Final = frozenset(TaskState) - ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRules:
    """What holds for the tasks of a kind."""

    surface: RunSurface = RunSurface.TASK
    asks_model: bool = True
    may_repeat: bool = True
    """Whether it may have more than one time."""
    retried: bool = False
    """Whether a run that a restart interrupted may be made once more; else people are told."""


KINDS: Final[Mapping[TaskKind, KindRules]] = MappingProxyType(
    {
        # Whoever asked is gone with the process that answered.
        TaskKind.DIRECT: KindRules(surface=RunSurface.DIRECT, may_repeat=False),
        TaskKind.REMINDER: KindRules(asks_model=False, retried=True),
        # What a prompt's tools did may be done already.
        TaskKind.PROMPT: KindRules(),
        TaskKind.HEARTBEAT: KindRules(retried=True),
        TaskKind.RESEARCH: KindRules(retried=True),
        TaskKind.CODE: KindRules(),
        TaskKind.CONTINUATION: KindRules(may_repeat=False),
    }
)


class TaskErrorCode(StrEnum):
    """Why something about a task was refused, or how one ended."""

    REFUSED = "task_refused"
    UNKNOWN = "task_unknown"
    NOT_NOW = "task_not_now"
    NOT_ALLOWED = "task_not_allowed"
    REPOSITORY = "task_repository"


class TaskRefused(SafeError):
    """Nothing was changed; the sentence says why."""

    def __init__(self, code: TaskErrorCode, safe_message: str) -> None:
        super().__init__(code, safe_message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task. Times are milliseconds since 1970, UTC."""

    task_id: TaskId
    kind: TaskKind
    imp: ImpName
    scope: RunScope
    """Of its filing: the conversation that it belongs to and whose person it runs for."""
    origin: str
    """Who filed it: ``shell``, ``person`` or ``imp``."""
    text: str
    schedule: Schedule
    filed_ms: int
    due_ms: int
    """Its next time; of one that ended, its last."""
    state: TaskState = TaskState.QUEUED
    after: tuple[TaskId, ...] = ()
    """The tasks that must be done before it."""
    repository: str = ""
    """The name of a configured repository, for ``code``."""
    runs: int = 0
    """How often it was begun."""
    attempts: int = 0
    """How often for the time that it is due at."""
    missed: int = 0
    """Further times that the last run stands for."""
    run_id: RunId | None = None
    """Of its last run."""
    ended_ms: int | None = None
    """When that ended."""
    result_code: str = ""
    """How that failed, or the run before it while one is going on; empty if it did not."""
    cancelled: bool = False
    """Whether somebody wants a running one to end."""

    @property
    def repeats(self) -> bool:
        """Whether it has more than one time."""
        return repeats(self.schedule)

    @property
    def turn_id(self) -> TurnId:
        """Name its latest run, the same after a restart."""
        return TurnId(f"task:{self.task_id}:{self.runs}")


def file_task(
    task_id: TaskId,
    *,
    kind: TaskKind,
    imp: ImpName,
    scope: RunScope,
    origin: str,
    text: str,
    schedule: Schedule,
    now_ms: int,
    after: tuple[TaskId, ...] = (),
    repository: str = "",
) -> Task:
    """Make a new task.

    Raises:
        TaskRefused: its parts do not go together.
    """
    _refuse_if(not is_visible(text), "A task needs a text.")
    _refuse_if(
        kind is TaskKind.REMINDER and scope.channel_id is None,
        "A reminder needs a channel to be posted in.",
    )
    _refuse_if(
        repeats(schedule) and not KINDS[kind].may_repeat, "Such a task runs once and not again."
    )
    _refuse_if(
        kind is TaskKind.HEARTBEAT and not repeats(schedule),
        "A heartbeat needs every or cron, so that it comes again.",
    )
    _refuse_if(
        repeats(schedule) and bool(after), "A task that comes again cannot wait for another."
    )
    _refuse_if(
        (kind is TaskKind.CODE) != bool(repository),
        "A code task needs a repository, and no other task has one.",
    )
    due_ms = first_time(schedule, now_ms)
    if due_ms is None:
        raise TaskRefused(TaskErrorCode.REFUSED, "There is no time at which it would run.")
    return Task(
        task_id=task_id,
        kind=kind,
        imp=imp,
        scope=scope,
        origin=origin,
        text=text + HEARTBEAT_NOTE if kind is TaskKind.HEARTBEAT else text,
        schedule=schedule,
        filed_ms=now_ms,
        due_ms=due_ms,
        state=TaskState.WAITING if after else TaskState.QUEUED,
        after=after,
        repository=repository,
    )


def is_due(task: Task, *, now_ms: int) -> bool:
    """Whether it is to be begun."""
    return task.state is TaskState.QUEUED and task.due_ms <= now_ms


def release(task: Task, states: Mapping[TaskId, TaskState], *, now_ms: int) -> Task:
    """Look again at what a waiting task waits for: it stays, is queued, or fails.

    What is not known any more was removed after its end, and cannot be waited for.
    """
    if task.state is not TaskState.WAITING:
        return task
    found = [states.get(each, TaskState.FAILED) for each in task.after]
    if any(state in ENDED - {TaskState.DONE} for state in found):
        blocked = moved(task, TaskMove.BLOCK)
        return replace(blocked, ended_ms=now_ms, result_code=DEPENDENCY_FAILED)
    if all(state is TaskState.DONE for state in found):
        return moved(task, TaskMove.RELEASE)
    return task


def begin(task: Task, run_id: RunId | None, *, now_ms: int) -> Task:
    """Take a due task in hand.

    Raises:
        TaskRefused: it is not queued.
    """
    return replace(
        moved(task, TaskMove.BEGIN),
        runs=task.runs + 1,
        attempts=task.attempts + 1,
        missed=missed_between(task.schedule, task.due_ms, now_ms) if task.repeats else 0,
        run_id=run_id,
        ended_ms=None,
    )


def finish(task: Task, *, now_ms: int, failure: str = "") -> Task:
    """End a run; ``failure`` is the code of what went wrong.

    Raises:
        TaskRefused: it is not running.
    """
    if task.cancelled:
        return replace(moved(task, TaskMove.CANCEL), ended_ms=now_ms, result_code=failure)
    if task.repeats:
        return _next_time(task, now_ms=now_ms, failure=failure)
    move = TaskMove.FAIL if failure else TaskMove.SUCCEED
    return replace(moved(task, move), ended_ms=now_ms, result_code=failure)


def interrupt(task: Task, *, now_ms: int, most_attempts: int) -> Task:
    """Say how a running task goes on whose host was stopped or killed.

    Raises:
        TaskRefused: it is not running.
    """
    if task.cancelled:
        return replace(moved(task, TaskMove.CANCEL), ended_ms=now_ms, result_code=HOST_KILLED)
    if KINDS[task.kind].retried and task.attempts < most_attempts:
        return replace(moved(task, TaskMove.REPEAT), result_code=HOST_KILLED)
    if task.repeats:
        return _next_time(task, now_ms=now_ms, failure=HOST_KILLED)
    return replace(moved(task, TaskMove.INTERRUPT), ended_ms=now_ms, result_code=HOST_KILLED)


def _next_time(task: Task, *, now_ms: int, failure: str) -> Task:
    due_ms = next_after(task.schedule, max(now_ms, task.due_ms))
    if due_ms is None:  # a cron line without a further time
        move = TaskMove.FAIL if failure else TaskMove.SUCCEED
        return replace(moved(task, move), ended_ms=now_ms, result_code=failure)
    queued = moved(task, TaskMove.REPEAT)
    return replace(queued, due_ms=due_ms, attempts=0, ended_ms=now_ms, result_code=failure)


def cancel(task: Task, *, now_ms: int) -> Task:
    """End a task, or want a running one to end.

    Raises:
        TaskRefused: it has ended already.
    """
    if task.state is TaskState.RUNNING:
        return replace(task, cancelled=True)
    return replace(moved(task, TaskMove.CANCEL), ended_ms=now_ms)


def retry(task: Task, *, now_ms: int) -> Task:
    """Queue an ended task again: now, or at its next time if it repeats.

    Raises:
        TaskRefused: it is done, or not ended.
    """
    queued = moved(task, TaskMove.RETRY)
    due_ms = max(now_ms, task.due_ms)
    if task.repeats:
        due_ms = next_after(task.schedule, now_ms) or now_ms
    return replace(queued, due_ms=due_ms, attempts=0, ended_ms=None, cancelled=False)


def moved(task: Task, move: TaskMove) -> Task:
    """Make a move of the table.

    Raises:
        TaskRefused: there is no such move from where the task is.
    """
    state = MOVES.get((task.state, move))
    if state is None:
        raise TaskRefused(TaskErrorCode.NOT_NOW, f"This task is {task.state.value}.")
    return replace(task, state=state)


def says_nothing(answer: str) -> bool:
    """Whether a heartbeat's answer is that there is nothing to say."""
    return answer.strip().strip('."*`').lower() in _NOTHING


def _refuse_if(broken: bool, reason: str) -> None:  # noqa: FBT001 - the condition is the point
    if broken:
        raise TaskRefused(TaskErrorCode.REFUSED, reason)
