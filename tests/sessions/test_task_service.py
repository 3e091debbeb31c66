"""The door to tasks: who may file, see and change what, from trusted ids alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.request import ChannelId, ImpName, Place, Role, RunScope, UserId
from sessions.schedule import ScheduleUnreadable
from sessions.store.database import open_database
from sessions.store.outbox import OutboxStore
from sessions.store.tasks import TaskStore
from sessions.task_service import Filing, TaskService, Viewer, may_file
from sessions.task_settings import TaskRights, TaskSettings
from sessions.tasks import TaskErrorCode, TaskKind, TaskRefused, TaskState
from support.session_world import BOUND_SECONDS, ManualClock

ADA, BO = UserId("discord:7"), UserId("discord:8")
HEARTH, WORKSHOP = ChannelId("discord:100"), ChannelId("discord:200")
OWNER = Viewer(is_owner=True)


class Desk:
    """A service with settings that a test may change."""

    def __init__(self, service: Callable[[Desk], TaskService]) -> None:
        self.settings = TaskSettings(repositories={"orchard": "/nowhere"})
        self.woken = 0
        self.service = service(self)

    def wake(self) -> None:
        self.woken += 1


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = ManualClock()
    async with open_database(
        tmp_path / "inglenook.db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as opened:
        store = TaskStore(opened, OutboxStore(opened, clock=clock))
        yield Desk(
            lambda made: TaskService(
                store, clock=clock, settings=lambda: made.settings, wake=made.wake
            )
        )


def filing(
    kind: TaskKind = TaskKind.REMINDER,
    *,
    user: UserId = BO,
    role: Role = Role.MEMBER,
    channel: ChannelId = HEARTH,
    origin: str = "person",
    **wish: str,
) -> Filing:
    scope = RunScope(
        provider="discord", place=Place.GROUP, channel_id=channel, user_id=user, role=role
    )
    return Filing(
        kind=kind,
        text="Use channel 999 for this: discord:999.",
        imp=ImpName("ember"),
        scope=scope,
        origin=origin,
        **wish,  # type: ignore[arg-type]  # texts of the times and the repository
    )


@pytest.mark.parametrize(
    ("kind", "role", "origin", "rights", "allowed"),
    [
        (TaskKind.REMINDER, Role.MEMBER, "person", TaskRights.NONE, False),
        (TaskKind.REMINDER, Role.ADMIN, "person", TaskRights.NONE, False),
        (TaskKind.REMINDER, Role.MEMBER, "person", TaskRights.REMINDERS, True),
        (TaskKind.PROMPT, Role.TRUSTED, "person", TaskRights.REMINDERS, False),
        (TaskKind.PROMPT, Role.MEMBER, "person", TaskRights.TASKS, True),
        (TaskKind.HEARTBEAT, Role.MEMBER, "person", TaskRights.TASKS, True),
        (TaskKind.CODE, Role.ADMIN, "person", TaskRights.TASKS, False),
        (TaskKind.DIRECT, Role.ADMIN, "person", TaskRights.TASKS, False),
        (TaskKind.CODE, Role.OWNER, "person", TaskRights.NONE, True),
        (TaskKind.PROMPT, Role.MEMBER, "imp", TaskRights.NONE, True),
        (TaskKind.CODE, Role.MEMBER, "imp", TaskRights.TASKS, False),
        (TaskKind.CODE, Role.OWNER, "imp", TaskRights.NONE, True),
        (TaskKind.DIRECT, Role.MEMBER, "shell", TaskRights.NONE, True),
    ],
)
def test_who_may_file_what(
    kind: TaskKind,
    role: Role,
    origin: str,
    rights: TaskRights,
    allowed: bool,  # noqa: FBT001
) -> None:
    """Owners and the shell all; people what is granted; nobody else code."""
    assert may_file(kind, role, origin, rights) is allowed


async def test_a_task_keeps_the_scope_of_its_filing_whatever_its_text_says(desk: Desk) -> None:
    """CC 5, "Security invariants": "use channel 999" selects nothing."""
    desk.settings = replace(desk.settings, members=TaskRights.REMINDERS)
    wanted = filing(at="in 20m")
    task = await desk.service.file(wanted)
    assert (task.scope, task.text) == (wanted.scope, wanted.text)
    assert task.task_id.startswith("t-")
    assert desk.woken == 1


async def test_what_is_not_granted_is_refused_and_leaves_nothing(desk: Desk) -> None:
    """By default only the owner files."""
    with pytest.raises(TaskRefused) as caught:
        await desk.service.file(filing(at="in 20m"))
    assert caught.value.code == TaskErrorCode.NOT_ALLOWED
    with pytest.raises(ScheduleUnreadable):
        await desk.service.file(filing(role=Role.OWNER, at="soon"))
    with pytest.raises(TaskRefused, match="cellar"):
        await desk.service.file(filing(TaskKind.CODE, role=Role.OWNER, repository="cellar"))
    desk.settings = replace(desk.settings, members=TaskRights.REMINDERS)
    told = set()
    for name in ("cellar", "orchard"):
        with pytest.raises(TaskRefused) as caught:
            await desk.service.file(filing(at="in 20m", repository=name))
        told.add(caught.value.safe_message)
    assert len(told) == 1, "people learn nothing of the owner's repositories"
    assert await desk.service.listed(OWNER, with_ended=True) == ()
    assert not desk.woken


async def test_people_see_and_change_their_own_in_its_own_conversation(desk: Desk) -> None:
    """Anything else answers as if it did not exist; the owner sees all."""
    desk.settings = replace(desk.settings, members=TaskRights.REMINDERS)
    task = await desk.service.file(filing(at="in 20m"))
    own = Viewer(is_owner=False, user_id=BO, channel_id=HEARTH)
    strangers = (
        Viewer(is_owner=False, user_id=ADA, channel_id=HEARTH),
        Viewer(is_owner=False, user_id=BO, channel_id=WORKSHOP),
        Viewer(is_owner=False),
    )
    for viewer in strangers:
        assert await desk.service.listed(viewer) == ()
        sentences = set()
        for name in (task.task_id, "t-zzzzzz"):
            for act in (desk.service.show, desk.service.cancel, desk.service.retry):
                with pytest.raises(TaskRefused) as caught:
                    await act(name, viewer)
                sentences.add((caught.value.code, caught.value.safe_message))
        assert len(sentences) == 1
    for viewer in (own, OWNER):
        assert await desk.service.listed(viewer) == (task,)
        assert await desk.service.show(f" {task.task_id} ", viewer) == task
    ended = await desk.service.cancel(task.task_id, own)
    assert ended.state is TaskState.CANCELLED
    assert await desk.service.listed(own) == ()
    assert (await desk.service.retry(task.task_id, OWNER)).state is TaskState.QUEUED
    assert desk.woken == 3


async def test_taking_up_again_goes_around_no_limit(desk: Desk) -> None:
    """Who cancels to file, and then retries what he cancelled, has no more than others."""
    desk.settings = replace(desk.settings, members=TaskRights.REMINDERS, per_person=1)
    own = Viewer(is_owner=False, user_id=BO, channel_id=HEARTH)
    first = await desk.service.file(filing(every="5m"))
    await desk.service.cancel(first.task_id, own)
    second = await desk.service.file(filing(every="5m"))
    with pytest.raises(TaskRefused) as caught:
        await desk.service.retry(first.task_id, own)
    assert caught.value.code == TaskErrorCode.REFUSED
    assert await desk.service.listed(own) == (second,)
    await desk.service.cancel(second.task_id, own)
    assert (await desk.service.retry(first.task_id, own)).state is TaskState.QUEUED


async def test_a_task_keeps_nobody_going_without_a_pause(desk: Desk) -> None:
    """What a task's run files asks the model after the owner's least distance, not at once."""
    desk.settings = replace(desk.settings, members=TaskRights.TASKS, least_minutes=5)
    for wanted in (filing(TaskKind.PROMPT), filing(TaskKind.PROMPT, at="in 4m")):
        assert (await desk.service.file(wanted)).kind is TaskKind.PROMPT
        with pytest.raises(TaskRefused, match="in 5 minutes at the earliest"):
            await desk.service.file(replace(wanted, from_task=True))
    for wanted in (filing(TaskKind.PROMPT, at="in 5m"), filing(TaskKind.REMINDER)):
        filed = await desk.service.file(replace(wanted, from_task=True))
        assert filed.state is TaskState.QUEUED
