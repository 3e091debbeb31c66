"""``file_task``: something to be done later or again and again, in this conversation alone.

The conversation and the person are the turn's own; no argument names either. What is filed runs as
a task of the imp's, within the owner's limits for tasks, and never as code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from compiler.canonical_json import JsonValue
from compiler.errors import SafeError
from compiler.request import ImpName, Role, RunScope, RunSurface
from sessions.continuations import PROVIDER, scope_of
from sessions.gate_execution import ActionFailed
from sessions.gates import Gate
from sessions.task_service import IMP, Filing, TaskService
from sessions.tasks import Task, TaskKind
from sessions.tools.call import BAD_ARGUMENTS, ToolAnswer, ToolCall, ToolTurn

FILED: Final = "Filed as {task}, due {at}."


class TaskToolErrorCode(StrEnum):
    """Why an approved task was not filed."""

    BAD_ARGUMENTS = "task_arguments"


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    text: str
    kind: Literal["reminder", "prompt", "heartbeat", "research"] = "reminder"
    at: str = ""
    every: str = ""
    cron: str = ""
    zone: str = ""
    reason: str = ""


class TaskTool:
    """Answers ``file_task``."""

    def __init__(self, service: TaskService) -> None:
        self._service = service

    async def answer(self, turn: ToolTurn, call: ToolCall) -> ToolAnswer:
        """File a task; what is refused is told by the sentence of its error."""
        try:
            asked = _Arguments.model_validate_json(call.arguments)
        except ValidationError:
            return ToolAnswer(ok=False, text=BAD_ARGUMENTS)
        task = await self._service.file(_filing(asked, turn))
        return ToolAnswer(ok=True, text=_told(task))

    async def prepare(
        self, turn: ToolTurn, arguments: Mapping[str, JsonValue]
    ) -> Mapping[str, JsonValue] | str:
        """Ask nobody about what is no task, or could not be filed: its time is none."""
        try:
            asked = _Arguments.model_validate(dict(arguments))
            self._service.draft(_filing(asked, turn))
        except ValidationError:
            return BAD_ARGUMENTS
        except SafeError as error:
            return error.safe_message
        return arguments

    async def perform(self, gate: Gate) -> str:
        """File what was approved.

        Raises:
            ActionFailed: it is no task.
            SafeError: it was refused.
        """
        try:
            asked = _Arguments.model_validate(json.loads(gate.payload))
        except ValidationError as error:
            raise ActionFailed(TaskToolErrorCode.BAD_ARGUMENTS, BAD_ARGUMENTS) from error
        scope = scope_of(gate, provider=PROVIDER, role=Role.MEMBER)
        return _told(await self._service.file(_wanted(asked, gate.origin.imp, scope)))


def _filing(asked: _Arguments, turn: ToolTurn) -> Filing:
    wanted = _wanted(asked, turn.imp, turn.scope)
    return replace(wanted, from_task=turn.surface is RunSurface.TASK)


def _wanted(asked: _Arguments, imp: ImpName, scope: RunScope) -> Filing:
    return Filing(
        kind=TaskKind(asked.kind),
        text=asked.text,
        imp=imp,
        scope=scope,
        origin=IMP,
        at=asked.at,
        every=asked.every,
        cron=asked.cron,
        zone=asked.zone,
    )


def _told(task: Task) -> str:
    due = datetime.fromtimestamp(task.due_ms / 1000, UTC)
    return FILED.format(task=task.task_id, at=due.strftime("%Y-%m-%d %H:%M UTC"))
