"""The one door to tasks for people and for the imp: file, look, cancel, retry.

Who may see a task is decided here from trusted ids: owners all, others their own in the very
conversation where it was filed. A task that is not theirs to see and one that does not exist have
the same answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from compiler.request import ChannelId, ImpName, Role, RunScope, UserId
from sessions.clock import ALPHABET, Clock, unix_ms
from sessions.schedule import Once, parse_schedule, span_words
from sessions.store.tasks import Posting, TaskCaps, TaskStore
from sessions.task_settings import TaskRights, TaskSettings
from sessions.tasks import (
    KINDS,
    OF_SHELL,
    Task,
    TaskErrorCode,
    TaskId,
    TaskKind,
    TaskRefused,
    cancel,
    file_task,
    retry,
)

_log = structlog.get_logger(__name__)
_ID_CHARS: Final = 6
SHELL: Final = OF_SHELL
PERSON: Final = "person"
IMP: Final = "imp"
_FOR_ALL: Final = frozenset(
    {TaskKind.REMINDER, TaskKind.PROMPT, TaskKind.RESEARCH, TaskKind.HEARTBEAT}
)
NOT_FOR_YOU: Final = "Only my owner can do that here."


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who looks, and from where."""

    is_owner: bool
    user_id: UserId | None = None
    channel_id: ChannelId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filing:
    """What is wanted. ``scope`` is the trusted one of where it is wanted, never an argument.

    ``origin`` is ``shell`` (the owner of the home), ``person`` or ``imp`` (a tool call, which the
    gateway has judged before).
    """

    kind: TaskKind
    text: str
    imp: ImpName
    scope: RunScope
    origin: str
    at: str = ""
    every: str = ""
    cron: str = ""
    zone: str = ""
    after: tuple[str, ...] = ()
    repository: str = ""
    from_task: bool = False
    """Whether the run of a task wants it: one that asks the model again cannot follow at once, or
    a model could keep itself going for ever."""


def may_file(kind: TaskKind, role: Role, origin: str, rights: TaskRights) -> bool:
    """Tell whether a task of a kind may be filed, and may run that was filed so.

    The shell is the owner's. What the imp files was judged by the gateway, and is never code but
    for an owner.
    """
    if origin == SHELL or role is Role.OWNER:
        return True
    if kind not in _FOR_ALL:
        return False
    if origin == IMP:
        return True
    if kind is TaskKind.REMINDER:
        return rights is not TaskRights.NONE
    return rights is TaskRights.TASKS


class LateWake:
    """Wakes whoever runs tasks, for those who are put together before the supervisor is there."""

    def __init__(self) -> None:
        self.wakes: Callable[[], None] = lambda: None

    def __call__(self) -> None:
        """Hand on."""
        self.wakes()


class TaskService:
    """Every method may raise ``StoreUnavailable``."""

    def __init__(
        self,
        store: TaskStore,
        *,
        clock: Clock,
        settings: Callable[[], TaskSettings],
        wake: Callable[[], None] = lambda: None,
        posting: Posting = lambda _: None,
    ) -> None:
        """Take the collaborators.

        Args:
            store: the table.
            clock: for the time of filing.
            settings: asked again each time.
            wake: has the supervisor look at once.
            posting: what is posted of tasks that a change ends.
        """
        self._store = store
        self._clock = clock
        self._settings = settings
        self._wake = wake
        self._posting = posting

    async def file(self, filing: Filing) -> Task:
        """File a task.

        Raises:
            TaskRefused: it is not allowed, or its parts do not go together.
            ScheduleUnreadable: its time is none.
        """
        kept = await self._store.file(self.draft(filing), self._caps)
        _log.info(
            "task.filed",
            task_id=kept.task_id,
            kind=kept.kind.value,
            origin=kept.origin,
            once=isinstance(kept.schedule, Once),
        )
        self._wake()
        return kept

    @property
    def _caps(self) -> TaskCaps:
        settings = self._settings()
        return TaskCaps(per_person=settings.per_person, in_all=settings.max_open)

    def draft(self, filing: Filing) -> Task:
        """Make the task that would be filed now, and keep nothing.

        Raises:
            TaskRefused: it is not allowed, or its parts do not go together.
            ScheduleUnreadable: its time is none.
        """
        settings = self._settings()
        if not may_file(filing.kind, filing.scope.role, filing.origin, settings.members):
            raise TaskRefused(TaskErrorCode.NOT_ALLOWED, NOT_FOR_YOU)
        unknown = filing.repository and filing.repository not in settings.repositories
        if filing.kind is TaskKind.CODE and unknown:  # whoever may file code may know their names
            raise TaskRefused(
                TaskErrorCode.REPOSITORY,
                f"No repository `{filing.repository}` stands in [tasks.repositories].",
            )
        now_ms = self._now_ms()
        schedule = parse_schedule(
            at=filing.at,
            every=filing.every,
            cron=filing.cron,
            zone=filing.zone or settings.timezone,
            now=self._clock.utc_now(),
            least_seconds=settings.least_minutes * 60,
        )
        task = file_task(
            TaskId("t-" + "".join(secrets.choice(ALPHABET) for _ in range(_ID_CHARS))),
            kind=filing.kind,
            imp=filing.imp,
            scope=filing.scope,
            origin=filing.origin,
            text=filing.text,
            schedule=schedule,
            now_ms=now_ms,
            after=tuple(TaskId(each) for each in dict.fromkeys(filing.after)),
            repository=filing.repository,
        )
        soon = task.due_ms < now_ms + settings.least_minutes * 60_000
        if filing.from_task and soon and KINDS[filing.kind].asks_model:
            least = span_words(settings.least_minutes * 60)
            raise TaskRefused(
                TaskErrorCode.REFUSED, f"A task may have another follow in {least} at the earliest."
            )
        return task

    async def listed(self, viewer: Viewer, *, with_ended: bool = False) -> tuple[Task, ...]:
        """List the tasks that somebody may see."""
        if viewer.is_owner:
            return await self._store.listed(with_ended=with_ended)
        if viewer.user_id is None or viewer.channel_id is None:
            return ()
        return await self._store.listed(
            channel_id=viewer.channel_id, user_id=viewer.user_id, with_ended=with_ended
        )

    async def show(self, task_id: str, viewer: Viewer) -> Task:
        """Give one task.

        Raises:
            TaskRefused: there is none that the viewer may see.
        """
        task = await self._store.get(TaskId(task_id.strip()))
        if task is None or not _may_see(task, viewer):
            raise TaskRefused(TaskErrorCode.UNKNOWN, "There is no such task here.")
        return task

    async def result(self, task: Task) -> str:
        """Give the last answer of a task whose results are told in the shell alone."""
        return await self._store.result(task.task_id)

    async def cancel(self, task_id: str, viewer: Viewer) -> Task:
        """End a task; a running one ends soon.

        Raises:
            TaskRefused: there is none that the viewer may see, or it has ended.
        """
        return await self._change(task_id, viewer, lambda task: cancel(task, now_ms=self._now_ms()))

    async def retry(self, task_id: str, viewer: Viewer) -> Task:
        """Queue a task again that failed, was interrupted or cancelled.

        Raises:
            TaskRefused: there is none that the viewer may see, it has not ended, or it is done; or
                there are too many open ones.
        """
        return await self._change(task_id, viewer, lambda task: retry(task, now_ms=self._now_ms()))

    async def _change(self, task_id: str, viewer: Viewer, step: Callable[[Task], Task]) -> Task:
        found = await self.show(task_id, viewer)
        changed = await self._store.change(
            found.task_id, step, self._posting, now_ms=self._now_ms(), caps=self._caps
        )
        if changed is None:
            raise TaskRefused(TaskErrorCode.UNKNOWN, "There is no such task here.")
        _log.info("task.changed", task_id=changed.task_id, state=changed.state.value)
        self._wake()
        return changed

    def _now_ms(self) -> int:
        return unix_ms(self._clock)


def _may_see(task: Task, viewer: Viewer) -> bool:
    if viewer.is_owner:
        return True
    own = viewer.user_id is not None and task.scope.user_id == viewer.user_id
    return own and task.scope.channel_id == viewer.channel_id
