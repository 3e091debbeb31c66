"""Tasks of a home from the shell, whether a bot runs there or not.

The home's lock says who runs tasks. Where nobody holds it, a direct question is answered in this
process, which holds it meanwhile. Where a bot does, the question is filed in the store that both
have open (SQLite takes turns between them), and the bot's supervisor finds it within a second: so
there is one model gateway, one sum of what is spent and one memory to a home, and no run passes
them by. Filing, listing and cancelling need no lock at all.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot import bootstrap
from bot.home.lock import LOCK_FILE
from bot.host import Host, open_host
from bot.toy_model import open_model, toy_context
from compiler.request import ChannelId, ImpName, Place, Role, RunScope
from config.homedir import DATABASE_FILE
from config.load import LiveConfig
from sessions.clock import SystemClock
from sessions.pi.process import PiInstall
from sessions.store.database import Database, open_database
from sessions.store.outbox import OutboxStore
from sessions.store.tasks import TaskStore
from sessions.task_service import TaskService


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHome:
    """The tasks of a home."""

    live: LiveConfig
    store: TaskStore
    service: TaskService

    async def scope_of(self, channel: str) -> RunScope:
        """Give the scope that the shell means: nowhere, or a channel by its id.

        Raises:
            TaskRefused: it is a direct message of nobody known.
        """
        if not channel:
            return RunScope(provider="discord", place=Place.NONE, role=Role.OWNER)
        return await self.store.place_of(ChannelId(f"discord:{channel}"))

    def imp_for(self, imp: str, scope: RunScope) -> ImpName:
        """Give the imp that was named, else the one that answers there."""
        if imp or scope.channel_id is None:
            return ImpName(imp or self.live.current.discord.imp)
        return ImpName(self.live.channel(scope.channel_id, is_dm=scope.is_dm).imp)


def tasks_over(live: LiveConfig, database: Database) -> TaskHome:
    """Give the tasks in an open database."""
    clock = SystemClock()
    store = TaskStore(database, OutboxStore(database, clock=clock))
    service = TaskService(store, clock=clock, settings=lambda: live.current.tasks)
    return TaskHome(live=live, store=store, service=service)


@asynccontextmanager
async def open_beside(live: LiveConfig) -> AsyncIterator[TaskHome]:
    """Open the tasks of a home beside whoever else has it open.

    Raises:
        StoreMissing: another release's bot has it, and must not find its schema changed.
    """
    path, clock = live.home / DATABASE_FILE, SystemClock()
    patience_seconds = live.current.sessions.store_seconds
    if holder_of(live.home) is not None:
        opening = open_database(
            path, clock=clock, patience_seconds=patience_seconds, read_only=True
        )
        async with opening:  # looks at the schema, and changes nothing
            pass
    async with open_database(path, clock=clock, patience_seconds=patience_seconds) as database:
        yield tasks_over(live, database)


@asynccontextmanager
async def open_alone(live: LiveConfig) -> AsyncIterator[tuple[Host, TaskHome]]:
    """Open all that a run needs; the caller holds the home's lock."""
    files = await asyncio.to_thread(bootstrap.find_pi)
    async with AsyncExitStack() as stack:
        if live.current.engine.is_embedded:
            overrides = {
                "engine": await open_model(stack, live.current.engine),
                "context": toy_context(live.current.context),
            }
            live = await asyncio.to_thread(
                LiveConfig, live.home, environ=live.environ, overrides=overrides
            )
        install = PiInstall(node=files.node, cli=files.cli)
        host = await stack.enter_async_context(open_host(live, live.home, install=install))
        await host.memory.start()
        yield host, tasks_over(live, host.database)


def holder_of(home: Path) -> int | None:
    """Name the living process that last took the home's lock; None if there is none.

    The lock itself is not tried: that would stand in the way of a bot that starts just now.
    """
    try:
        pid = int((home / LOCK_FILE).read_text(encoding="ascii"))
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid
