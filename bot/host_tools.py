"""The host's tools beside those of memory, put together from what the host has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from compiler.request import Connection
from config.load import LiveConfig
from sessions.clock import Clock
from sessions.engine import WORKSPACE_DIR
from sessions.hands import HostTool
from sessions.run_files import run_dir
from sessions.store.database import Database
from sessions.store.gates import GateStore
from sessions.store.outbox import OutboxStore
from sessions.store.tasks import TaskStore
from sessions.task_service import TaskService
from sessions.tools.gates import GatesTool
from sessions.tools.purpose import PurposeTool
from sessions.tools.table import (
    CHECK_GATES,
    FILE_TASK,
    PROPOSE_PURPOSE,
    REPLY,
    STAY_SILENT,
    WEB_FETCH,
)
from sessions.tools.talk import ReplyTool, Voice, stay_silent
from sessions.tools.task import TaskTool
from sessions.web.fetch import WebFetcher, WebTool

WEB_USAGE: Final = "Pages of these hosts, one at a time, by web_fetch."


def host_tools(
    live: LiveConfig,
    home: Path,
    database: Database,
    *,
    clock: Clock,
    voice: Voice,
    filed: Callable[[], None],
) -> tuple[HostTool, ...]:
    """Give them all; which of them a model is shown, the grants say.

    ``filed`` is called when a task was.
    """
    reply = ReplyTool(
        voice,
        workspace=lambda run_id: run_dir(home, run_id) / WORKSPACE_DIR,
        settings=lambda: live.current.talk,
    )
    gates = GatesTool(GateStore(database), clock=clock)
    tasks = TaskTool(
        TaskService(
            TaskStore(database, OutboxStore(database, clock=clock)),
            clock=clock,
            settings=lambda: live.current.tasks,
            wake=filed,
        )
    )
    purpose = PurposeTool(home, budgets=live.budgets)
    web = WebTool(WebFetcher(lambda: live.current.web))
    return (
        HostTool(
            spec=REPLY,
            answer=reply.answer,
            there=lambda: live.current.talk.reply_messages > 0,
        ),
        HostTool(spec=STAY_SILENT, answer=stay_silent),
        HostTool(spec=CHECK_GATES, answer=gates.answer),
        HostTool(
            spec=FILE_TASK,
            answer=tasks.answer,
            prepare=tasks.prepare,
            perform=tasks.perform,
        ),
        HostTool(
            spec=PROPOSE_PURPOSE,
            answer=purpose.answer,
            prepare=purpose.prepare,
            perform=purpose.perform,
        ),
        HostTool(
            spec=WEB_FETCH,
            answer=web.answer,
            prepare=web.prepare,
            perform=web.perform,
            connection=lambda: Connection(
                name="web", hosts=live.current.web.hosts, methods=("GET",), usage=WEB_USAGE
            ),
            there=lambda: bool(live.current.web.hosts),
        ),
    )
