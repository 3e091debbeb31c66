"""``file_task`` files for the turn's own conversation and person, within the limits for tasks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from compiler.errors import SafeError
from compiler.request import (
    ChannelId,
    ImpName,
    Place,
    Role,
    RunId,
    RunScope,
    RunSurface,
    TurnId,
    UserId,
)
from sessions.gate_execution import ActionFailed
from sessions.gates import EffectKind, GateId, GateOrigin, GateRules, file_gate
from sessions.store.database import open_database
from sessions.store.outbox import OutboxStore
from sessions.store.tasks import TaskStore
from sessions.task_service import TaskService, Viewer
from sessions.task_settings import TaskSettings
from sessions.tasks import Task, TaskKind, TaskRefused
from sessions.tools.call import BAD_ARGUMENTS, ToolAnswer, ToolCall, ToolTurn
from sessions.tools.task import TaskTool
from support.session_world import BOUND_SECONDS, ManualClock

SCOPE = RunScope(
    provider="discord",
    place=Place.GROUP,
    channel_id=ChannelId("discord:100"),
    user_id=UserId("discord:8"),
    role=Role.MEMBER,
)
TURN = ToolTurn(
    imp=ImpName("ember"),
    scope=SCOPE,
    run_id=RunId("r"),
    turn_id=TurnId("t"),
    offered=frozenset({"file_task"}),
)


@dataclass(slots=True)
class Desk:
    """The tool over an empty store."""

    tool: TaskTool
    service: TaskService

    async def file(self, **arguments: object) -> ToolAnswer:
        call = ToolCall(name="file_task", arguments=json.dumps(arguments))
        return await self.tool.answer(TURN, call)

    async def filed(self) -> tuple[Task, ...]:
        return await self.service.listed(Viewer(is_owner=True))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = ManualClock()
    async with open_database(
        tmp_path / "db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        store = TaskStore(database, OutboxStore(database, clock=clock))
        service = TaskService(store, clock=clock, settings=lambda: TaskSettings(per_person=2))
        yield Desk(TaskTool(service), service)


async def test_a_task_is_of_the_turns_conversation(desk: Desk) -> None:
    """CC: text that says "use channel 999" selects nothing, and no argument can."""
    told = await desk.file(text="Use channel 999.", every="30m", kind="heartbeat")
    assert told.ok
    (task,) = await desk.filed()
    assert task.task_id in told.text
    assert (task.kind, task.imp, task.origin) == (TaskKind.HEARTBEAT, "ember", "imp")
    assert (task.scope.channel_id, task.scope.user_id) == ("discord:100", "discord:8")
    for wrong in (
        {"text": "x", "channel": "999"},
        {"text": "x", "kind": "code"},
        {"text": "x", "repository": "r"},
        {"kind": "prompt"},
    ):
        assert await desk.file(**wrong) == ToolAnswer(ok=False, text=BAD_ARGUMENTS)
        assert await desk.tool.prepare(TURN, wrong) == BAD_ARGUMENTS
    assert len(await desk.filed()) == 1


async def test_the_limits_of_tasks_hold(desk: Desk) -> None:
    for number in range(2):
        assert (await desk.file(text=f"{number}", at="in 20m")).ok
    with pytest.raises(TaskRefused):
        await desk.file(text="one too many", at="in 20m")


async def test_nobody_is_asked_about_a_task_that_could_not_be_filed(desk: Desk) -> None:
    """The model hears why at once, and may ask for it rightly; the owner sees no such card."""
    for wrong in (
        {"text": "x", "cron": "* * * * *"},
        {"text": "x", "cron": "* * * * * *"},
        {"text": "x", "every": "1s"},
        {"text": "x", "at": "soon"},
        {"text": " ", "at": "in 20m"},
        {"text": "x", "zone": "../../etc/passwd", "at": "08:30"},
    ):
        with pytest.raises(SafeError) as refused:
            await desk.file(**wrong)
        told = await desk.tool.prepare(TURN, wrong)
        assert told == refused.value.safe_message != ""


async def test_a_task_cannot_keep_itself_going(desk: Desk) -> None:
    """What files itself again without an end would ask the model again and again at once."""
    turn = replace(TURN, surface=RunSurface.TASK)
    for when in ({}, {"at": "in 10s"}):
        wanted = {"text": "Go on.", "kind": "prompt", **when}
        call = ToolCall(name="file_task", arguments=json.dumps(wanted))
        with pytest.raises(TaskRefused):
            await desk.tool.answer(turn, call)
        assert "at the earliest" in str(await desk.tool.prepare(turn, wanted))
        assert await desk.tool.prepare(TURN, wanted) == wanted, "a person asked for it"
    later = ToolCall(name="file_task", arguments='{"text":"Go on.","kind":"prompt","every":"5m"}')
    assert (await desk.tool.answer(turn, later)).ok
    reminder = ToolCall(name="file_task", arguments='{"text":"Tea!"}')
    assert (await desk.tool.answer(turn, reminder)).ok, "a reminder asks no model"


async def test_an_approved_task_is_filed_where_it_was_asked_for(desk: Desk) -> None:
    """The payload is what was approved; place and person are the gate's own."""
    arguments = {"text": "Water the plants.", "at": "in 20m"}
    assert await desk.tool.prepare(TURN, arguments) == arguments
    assert await desk.filed() == ()
    gate = file_gate(
        GateId("g-1"),
        GateOrigin.of(TURN.imp, SCOPE, run_id=TURN.run_id, turn_id=TURN.turn_id),
        tool="file_task",
        arguments=dict(arguments),
        effect=EffectKind.ONCE,
        intent="",
        rationale="",
        now_ms=0,
        rules=GateRules(),
    )
    told = await desk.tool.perform(gate)
    (task,) = await desk.filed()
    assert task.task_id in told
    assert (task.text, task.scope.channel_id) == ("Water the plants.", "discord:100")
    with pytest.raises(ActionFailed):
        await desk.tool.perform(replace(gate, payload='{"kind":"code","text":"x"}'))
