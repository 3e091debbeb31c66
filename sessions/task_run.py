"""One run of one task: whether it may run still, what it is given, and where it works.

A task's scope is that of its filing and its role that of this moment; its text is content. A code
task's workspace is a worktree of its repository (``worktrees``), made before the run and cleaned
away after it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import structlog

from compiler.errors import SafeError
from compiler.request import Role, RunId, RunScope, TaskInput
from sessions.boxes.plan import uid_of
from sessions.clock import unix_ms
from sessions.continuations import gate_of_task, resolved
from sessions.engine import WORKSPACE_DIR
from sessions.errors import SessionErrorCode
from sessions.faults import fault_facts
from sessions.gates import Gate
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.one_shot import OneShot, Order
from sessions.outcomes import INTERNAL_SENTENCE
from sessions.parts import SessionParts
from sessions.run_files import run_dir
from sessions.task_service import SHELL, may_file
from sessions.task_settings import TaskSettings
from sessions.tasks import KINDS, Task, TaskErrorCode, TaskKind, TaskRefused
from sessions.turn import HaltReason
from sessions.workspaces import inherit
from sessions.worktrees import Worktree, hand_over, keep_changes, make_worktree, remove_worktree

_log = structlog.get_logger(__name__)
_NOT_ALLOWED: Final = "This task may not run here any more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What holds for the person of a scope at this moment, by the platform's ids."""

    role: Role
    is_open: bool
    """Whether the owner lets the imp into the place, and the person talk to it there."""


Gatekeeper: TypeAlias = Callable[[RunScope], Awaitable[Standing]]


async def knows_nobody(scope: RunScope) -> Standing:
    """Be the gatekeeper of a host without Discord."""
    del scope
    return Standing(role=Role.MEMBER, is_open=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a run went; ``outcome`` is None for a reminder, which asks nobody."""

    outcome: TurnOutcome | None = None
    note: str = ""
    """A further line for people, such as where a code task's changes are."""
    due_ms: int = 0
    """The time that it was due at."""
    late_ms: int = 0
    """How much later it began."""
    held: str = ""
    """What is said in the place of an answer that waits for somebody."""
    before: str = ""
    """How the run before it failed, of a task that repeats."""


class TaskRun:
    """Does one task, once."""

    def __init__(
        self, parts: SessionParts, settings: TaskSettings, kind: TaskKind, keeper: Gatekeeper
    ) -> None:
        """Take the collaborators; the run is bounded by the ceiling of its kind."""
        limits = replace(parts.limits, turn_seconds=settings.seconds(kind))
        self._parts = parts
        self._settings = settings
        self._keeper = keeper
        self._one = OneShot(replace(parts, limits=limits), most_calls=settings.calls(kind))
        self.kind = kind

    def halt(self, reason: HaltReason) -> None:
        """Have it end soon; its outcome says why."""
        self._one.halt(reason)

    async def new_run_id(self) -> RunId | None:
        """Claim an id for the run; None where no model is asked.

        Raises:
            SessionStartFailed: no directory can be made for it.
        """
        return await self._one.new_run_id() if KINDS[self.kind].asks_model else None

    async def run(self, task: Task) -> Done:
        """See a task through that was begun; whatever fails is its outcome."""
        began_ms = unix_ms(self._parts.clock)
        try:
            done = await self._done(task)
        except SafeError as error:
            _log.warning("task.failed", task_id=task.task_id, code=str(error.code), **error.facts)
            done = failed(task, str(error.code), error.safe_message)
        except Exception as error:  # noqa: BLE001 - a fault of our own ends the task, not the loop
            _log.error("task.broken", task_id=task.task_id, **fault_facts(error))
            done = failed(task, SessionErrorCode.INTERNAL, INTERNAL_SENTENCE)
        return replace(
            done,
            due_ms=task.due_ms,
            late_ms=max(0, began_ms - task.due_ms),
            before=task.result_code,
        )

    async def _done(self, task: Task) -> Done:
        role = await self._role(task)
        return Done() if task.run_id is None else await self._asked(task, task.run_id, role)

    async def _asked(self, task: Task, run_id: RunId, role: Role) -> Done:
        heard = await self._heard(task)
        order = _order(task, role, heard)
        if heard is not None:
            await asyncio.to_thread(self._inherit, heard.origin.run_id, run_id)
        if task.kind is not TaskKind.CODE:
            return Done(outcome=await self._one.run(order, run_id))
        worktree = await asyncio.to_thread(self._worktree, task, run_id)
        try:
            outcome = await self._one.run(order, run_id)
            title = f"Changes of task {task.task_id}"
            branch = await asyncio.to_thread(keep_changes, worktree, title=title)
        finally:
            await asyncio.to_thread(remove_worktree, worktree)
        note = f"Its changes are on the branch `{branch}` of `{task.repository}`."
        return Done(outcome=outcome, note=note if branch else "It changed no file.")

    async def _heard(self, task: Task) -> Gate | None:
        """Give the gate whose end a task hears.

        Raises:
            SafeError: it is not known any more.
        """
        gate_id, gates = gate_of_task(task), self._parts.gates
        return None if gate_id is None or gates is None else await gates.get(gate_id)

    def _inherit(self, former: RunId, run_id: RunId) -> None:
        """Give a run the workspace in which what it hears of was carried out."""
        home = self._parts.home
        try:
            inherit(run_dir(home, former), run_dir(home, run_id))
        except OSError as error:
            _log.warning("task.workspace_lost", error=type(error).__name__)

    def _worktree(self, task: Task, run_id: RunId) -> Worktree:
        path = self._settings.repositories.get(task.repository)
        if path is None:
            raise TaskRefused(
                TaskErrorCode.REPOSITORY,
                f"No repository `{task.repository}` stands in [tasks.repositories].",
            )
        folder = run_dir(self._parts.home, run_id) / WORKSPACE_DIR
        worktree = make_worktree(Path(path), folder, task.task_id)
        if os.geteuid() == 0:  # the box of a superuser's run has a user of its own
            hand_over(worktree, uid_of(run_id))
        return worktree

    async def _role(self, task: Task) -> Role:
        """Ask again what was allowed at the filing: settings and owners change.

        Raises:
            TaskRefused: it may not run any more.
        """
        # Only a run of the shell's is for no person, and so is what the imp filed in one.
        if task.origin == SHELL or task.scope.user_id is None:
            return Role.OWNER
        standing = await self._keeper(task.scope)
        allowed = may_file(task.kind, standing.role, task.origin, self._settings.members)
        if not allowed or not standing.is_open:
            raise TaskRefused(TaskErrorCode.NOT_ALLOWED, _NOT_ALLOWED)
        return standing.role


def _order(task: Task, role: Role, heard: Gate | None) -> Order:
    direct = task.kind is TaskKind.DIRECT
    return Order(
        imp=task.imp,
        scope=replace(task.scope, role=role, message_id=None),
        surface=KINDS[task.kind].surface,
        task=TaskInput(
            origin=task.origin if direct else f"{task.origin}/{task.kind.value}",
            text=task.text,
            task_id=None if direct else task.task_id,
            continuation=None if heard is None else resolved(heard),
        ),
        turn_id=task.turn_id,
        workspace_stays=task.kind is not TaskKind.CODE,
    )


def failed(task: Task, code: str, sentence: str) -> Done:
    """Say that a task failed, in words for people."""
    outcome = TurnOutcome(
        kind=OutcomeKind.FAILED,
        run_id=task.run_id,
        turn_id=task.turn_id,
        safe_message=sentence,
        error_code=code,
    )
    return Done(outcome=outcome)
