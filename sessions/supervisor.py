"""Runs tasks when they are due: so many at a time, each within the ceiling of its kind.

One loop looks at the store, at once when something was filed here and every second otherwise (the
shell files from a process of its own, and a machine may have slept); it works by the wall clock,
because people do. Each task then goes its way in the supervisor's own group::

    due -> begun, with its run's id -> run (``task_run``)
        -> one transaction: the task's next state, and what is posted of it -> sent

Nothing is posted that was not written in that transaction, so a host killed at any moment posts
each result once. What is still running when the host is to stop may finish for ``drain_seconds``,
and is cut off then, as one that was killed with the host: its kind says whether it is run again.

Spec: CC "One-shot runs"; issue "Tasks and direct runs".
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

import structlog

from compiler.errors import SafeError
from sessions.clock import unix_ms
from sessions.errors import StoreUnavailable
from sessions.faults import fault_facts
from sessions.inbound import WELL_ENDED, OutcomeKind, TurnOutcome
from sessions.parts import SessionParts
from sessions.run_files import RUNS_DIR
from sessions.store.outbox import Parcel
from sessions.store.tasks import TaskStore
from sessions.task_run import Done, Gatekeeper, TaskRun, failed, knows_nobody
from sessions.task_settings import TaskSettings
from sessions.tasks import Task, TaskId, TaskKind, TaskRefused, finish, interrupt
from sessions.turn import HaltReason
from sessions.worktrees import remove_leftovers

_log = structlog.get_logger(__name__)
LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A task that has just changed, and how its run went."""

    task: Task
    done: Done | None = None
    """None where the run is gone with its host, and where there was none."""


class TaskOutbox(Protocol):
    """Where results go that nobody waits for."""

    def parcel(self, ending: Ending) -> Parcel | None:
        """Say what is posted of a task; None where nothing is. Pure."""

    async def hold(self, task: Task, outcome: TurnOutcome) -> str:
        """Keep an answer back that somebody has to approve first.

        Returns:
            What is said in its place; empty where it may be posted.

        Raises:
            SafeError: it could not be kept back; it is not posted then.
        """

    def send(self, parcel: Parcel) -> None:
        """Post, from now on and by itself, what is written in the outbox already."""


class NoOutbox:
    """Posts nothing: of a host without Discord."""

    def parcel(self, ending: Ending) -> Parcel | None:
        """Say that nothing is posted."""
        del ending
        return None

    async def hold(self, task: Task, outcome: TurnOutcome) -> str:
        """Keep nothing back."""
        del task, outcome
        return ""

    def send(self, parcel: Parcel) -> None:
        """Post nothing."""


@dataclass(slots=True)
class _Posts:
    """What one transaction wrote into the outbox; emptied where it is tried again."""

    outbox: TaskOutbox
    parcels: list[Parcel] = field(default_factory=list)

    def of(self, ending: Ending) -> Parcel | None:
        task = ending.task
        if task.scope.channel_id is None or task.kind is TaskKind.DIRECT:
            return None
        parcel = self.outbox.parcel(ending)
        if parcel is not None:
            self.parcels.append(parcel)
        return parcel

    def of_task(self, task: Task) -> Parcel | None:
        return self.of(Ending(task=task))

    def send(self) -> None:
        for parcel in self.parcels:
            self.outbox.send(parcel)


class Supervisor:
    """Runs what is due until it is closed."""

    def __init__(
        self,
        parts: SessionParts,
        store: TaskStore,
        *,
        settings: Callable[[], TaskSettings],
        outbox: TaskOutbox | None = None,
        keeper: Gatekeeper | None = None,
    ) -> None:
        """Take the collaborators.

        Args:
            parts: what all runs share.
            store: the tasks.
            settings: asked again each time.
            outbox: where results go; None keeps them.
            keeper: who may do what at this moment; None knows nobody.
        """
        self._parts = parts
        self._store = store
        self._settings = settings
        self._outbox = outbox or NoOutbox()
        self._keeper = keeper or knows_nobody
        self._running: dict[TaskId, TaskRun] = {}
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._recovered = False
        self._closing = False
        self._halted = False

    def wake(self) -> None:
        """Look at once."""
        self._news.set()

    async def serve(self) -> None:
        """Run tasks until ``close``."""
        async with asyncio.TaskGroup() as runs:
            while not self._closing:
                self._news.clear()
                await self._guarded(lambda: self._step(runs))
                try:
                    async with self._parts.clock.timeout(LOOK_SECONDS):
                        await self._news.wait()
                except TimeoutError:
                    continue

    async def close(self) -> None:
        """Begin nothing more; let what runs finish for a while, then cut it off."""
        self._closing = True
        self._news.set()
        try:
            async with self._parts.clock.timeout(self._parts.limits.drain_seconds):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("tasks.drain_over", tasks=len(self._running))
            self._halted = True
            for run in tuple(self._running.values()):
                run.halt(HaltReason.SHUTDOWN)

    async def run_now(self, task: Task) -> Ending | None:
        """See one task through that was just filed, without a loop; None if it is not due."""
        run = self._run_of(task.kind)
        begun = await self._begin(task, run)
        return None if begun is None else await self._see_through(begun, run)

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Keep a store that is away for a while from ending the loop."""
        try:
            await work()
        except SafeError as error:
            _log.warning("tasks.not_looked_at", code=str(error.code), **error.facts)
        except Exception as error:  # noqa: BLE001 - the boundary of the loop
            _log.error("tasks.broken", **fault_facts(error))

    async def _recover(self) -> None:
        """Settle what an earlier host was running, and drop what is long over."""
        settings, now_ms, posts = self._settings(), self._now_ms(), _Posts(self._outbox)
        left = await self._store.recover(
            lambda task: interrupt(task, now_ms=now_ms, most_attempts=settings.attempts),
            posts.of_task,
            now_ms=now_ms,
        )
        posts.send()
        if left:
            _log.warning("tasks.recovered", tasks=len(left))
        await self._store.prune(ended_before_ms=now_ms - settings.keep_days * 86_400_000)
        for repository in settings.repositories.values():
            try:
                await asyncio.to_thread(
                    remove_leftovers, Path(repository), self._parts.home / RUNS_DIR
                )
            except TaskRefused as error:
                _log.warning("tasks.repository", code=str(error.code))

    async def _step(self, runs: asyncio.TaskGroup) -> None:
        if not self._recovered:
            await self._recover()
            self._recovered = True
        await self._look(runs)

    async def _look(self, runs: asyncio.TaskGroup) -> None:
        most = self._settings().max_running
        limit = 2 * most + len(self._running)
        work = await self._store.work(now_ms=self._now_ms(), limit=limit)
        for task_id in work.unwanted:
            if (running := self._running.get(task_id)) is not None:
                running.halt(HaltReason.STOPPED)
        for task in work.due:
            if self._closing:
                return
            if task.task_id in self._running or not self._has_place(task.kind, most):
                continue
            run = self._run_of(task.kind)
            begun = await self._begin(task, run)
            if begun is not None:
                self._running[task.task_id] = run
                self._idle.clear()
                runs.create_task(self._serve_one(begun, run), name=f"task:{task.task_id}")

    def _has_place(self, kind: TaskKind, most: int) -> bool:
        """Whether one more may run: whoever waits at the shell does not wait for long tasks."""
        direct = kind is TaskKind.DIRECT
        alike = [run for run in self._running.values() if (run.kind is TaskKind.DIRECT) is direct]
        return len(alike) < most

    async def _serve_one(self, task: Task, run: TaskRun) -> None:
        try:
            await self._see_through(task, run)
        except Exception as error:  # noqa: BLE001 - the boundary of one task
            _log.error("task.broken", task_id=task.task_id, **fault_facts(error))
        finally:
            del self._running[task.task_id]
            if not self._running:
                self._idle.set()
            self._news.set()

    def _run_of(self, kind: TaskKind) -> TaskRun:
        return TaskRun(self._parts, self._settings(), kind, self._keeper)

    async def _begin(self, task: Task, run: TaskRun) -> Task | None:
        run_id = await run.new_run_id()
        begun = await self._store.begin(task.task_id, run_id, now_ms=self._now_ms())
        if begun is not None:
            _log.info("task.begun", task_id=task.task_id, run_id=run_id, missed=begun.missed)
        return begun

    async def _see_through(self, task: Task, run: TaskRun) -> Ending:
        """Do a task, write down how it ended, and send what is posted of it."""
        done = await self._held(task, await run.run(task))
        outcome = done.outcome
        failure = "" if outcome is None or outcome.kind in WELL_ENDED else outcome.error_code
        if self._halted and failure == HaltReason.SHUTDOWN:
            return await self._written(task, None, self._interrupted)
        return await self._written(
            task, done, lambda now: finish(now, now_ms=self._now_ms(), failure=failure)
        )

    async def _held(self, task: Task, done: Done) -> Done:
        """Have an answer kept back where its channel wants that."""
        outcome = done.outcome
        if outcome is None or outcome.kind is not OutcomeKind.REPLIED:
            return done
        if task.scope.channel_id is None or task.kind is TaskKind.DIRECT:
            return done
        try:
            return replace(done, held=await self._outbox.hold(task, outcome))
        except SafeError as error:
            _log.error("task.not_held", task_id=task.task_id, code=str(error.code))
            return failed(task, str(error.code), error.safe_message)

    def _interrupted(self, task: Task) -> Task:
        most_attempts = self._settings().attempts
        return interrupt(task, now_ms=self._now_ms(), most_attempts=most_attempts)

    async def _written(self, task: Task, done: Done | None, step: Callable[[Task], Task]) -> Ending:
        """Write an end in one transaction; a store away for a while must not cost the result."""
        kept = task.scope.channel_id is None or task.kind is TaskKind.DIRECT
        while True:
            posts = _Posts(self._outbox)

            def posting(changed: Task, posts: _Posts = posts) -> Parcel | None:
                own = changed.task_id == task.task_id
                return posts.of(Ending(task=changed, done=done if own else None))

            try:
                changed = await self._store.end(
                    task.task_id,
                    step,
                    posting,
                    result=_text_of(done) if kept else "",
                    now_ms=self._now_ms(),
                )
            except StoreUnavailable as error:
                _log.error("task.unrecorded", task_id=task.task_id, **error.facts)
                if self._closing:
                    raise
                await asyncio.sleep(LOOK_SECONDS)
                continue
            posts.send()
            ended = changed[0] if changed else task
            _log.info(
                "task.ended",
                task_id=task.task_id,
                run_id=task.run_id,
                state=ended.state.value,
                error_code=ended.result_code,
            )
            return Ending(task=ended, done=done)

    def _now_ms(self) -> int:
        return unix_ms(self._parts.clock)


def _text_of(done: Done | None) -> str:
    if done is None or done.outcome is None:
        return ""
    return "\n\n".join(filter(None, (done.outcome.text or done.outcome.safe_message, done.note)))
