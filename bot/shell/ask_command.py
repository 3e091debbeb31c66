"""``ask``: one question from the shell, answered by a direct run.

The answer alone goes to standard output; the run's id and whatever went wrong to standard error.
A running bot answers it; without one this process does (``task_home``).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot import bootstrap
from bot.home.lock import HomeInUse, home_lock
from bot.logs import configure_logging
from bot.shell.task_home import TaskHome, holder_of, open_alone, open_beside
from bot.shell.terminal import write_out
from compiler.errors import SafeError
from compiler.request import RunId
from config.homedir import ensure_home
from config.load import LiveConfig
from config.problems import ConfigError
from config.settings import LogLevel, LogSettings
from sessions.errors import StoreMissing
from sessions.supervisor import Supervisor
from sessions.task_service import SHELL, Filing, Viewer
from sessions.tasks import ENDED, HOST_KILLED, Task, TaskKind, TaskState

LOOK_SECONDS: Final = 0.1
NO_QUESTION: Final = 'Say what to ask: python3 -m bot ask "..."'
_STOPPED: Final = "The bot stopped before it answered. Ask again."
_MOST_UNREADY: Final = 100
_TRIES: Final = 5
"""So often the home's lock is tried when its last holder is gone: others may want it as well."""
_OWNER: Final = Viewer(is_owner=True)
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, of whom and where; empty means the usual imp, and nowhere."""

    text: str
    imp: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How a question was answered."""

    text: str
    well: bool
    run_id: RunId | None = None


def main(home: Path, question: Question) -> int:
    """Ask; 0 when there is an answer, 1 when there is none."""
    if not question.text.strip():
        return _complain(NO_QUESTION)
    try:
        ensure_home(home)
        live = LiveConfig(home, environ=os.environ)
    except ConfigError as error:
        return _complain(str(error))
    configure_logging(LogSettings(level=LogLevel.ERROR))
    try:
        reply = asyncio.run(ask(live, question))
    except (SafeError, bootstrap.NotInstalledError) as error:
        return _complain(error.safe_message if isinstance(error, SafeError) else str(error))
    if reply.run_id is not None:
        sys.stderr.write(f"run {reply.run_id}\n")
    if not reply.well:
        return _complain(reply.text)
    write_out(reply.text)
    return 0


async def ask(live: LiveConfig, question: Question) -> Reply:
    """Have a question answered, by the bot that runs or in this process.

    Raises:
        SafeError: it could not even be filed.
    """
    gone, unready = 0, 0
    while gone < _TRIES:
        with ExitStack() as lock:
            try:
                lock.enter_context(home_lock(live.home))
            except HomeInUse:
                reply = None
                try:
                    reply = await _ask_the_bot(live, question)
                    gone += 1
                except StoreMissing:  # who holds the home is just making its database
                    unready += 1
                    if unready > _MOST_UNREADY:
                        raise
            else:
                return await _answer_here(live, question)
        if reply is not None:
            return reply
        await asyncio.sleep(LOOK_SECONDS)
    return Reply(text=_STOPPED, well=False)


async def _answer_here(live: LiveConfig, question: Question) -> Reply:
    async with open_alone(live) as (host, home):
        supervisor = Supervisor(
            host.parts,
            home.store,
            settings=lambda: home.live.current.tasks,
        )
        task = await _filed(home, question)
        try:
            ending = await supervisor.run_now(task)
            return await _reply(home, task if ending is None else ending.task)
        finally:
            await home.store.drop(task.task_id)


async def _ask_the_bot(live: LiveConfig, question: Question) -> Reply | None:
    """Wait for the answer of whoever holds the home.

    None if that one went away without taking the question up: it may have been another ``ask``.
    """
    async with open_beside(live) as home:
        task = await _filed(home, question)
        try:
            while task.state not in ENDED:
                await asyncio.sleep(LOOK_SECONDS)
                task = await home.service.show(task.task_id, _OWNER)
                if task.state not in ENDED and holder_of(live.home) is None:
                    return None if task.run_id is None else _stopped(task)
            return await _reply(home, task)
        except asyncio.CancelledError:
            if task.state not in ENDED:
                await home.service.cancel(task.task_id, _OWNER)
            raise
        finally:
            if task.state is not TaskState.RUNNING:
                await home.store.drop(task.task_id)


async def _filed(home: TaskHome, question: Question) -> Task:
    scope = await home.scope_of(question.channel)
    return await home.service.file(
        Filing(
            kind=TaskKind.DIRECT,
            text=question.text,
            imp=home.imp_for(question.imp, scope),
            scope=scope,
            origin=SHELL,
        )
    )


async def _reply(home: TaskHome, task: Task) -> Reply:
    if task.result_code == HOST_KILLED:
        return _stopped(task)
    text = await home.service.result(task)
    return Reply(text=text, well=task.state is TaskState.DONE, run_id=task.run_id)


def _stopped(task: Task) -> Reply:
    return Reply(text=_STOPPED, well=False, run_id=task.run_id)


def _complain(line: str) -> int:
    sys.stderr.write(f"{line}\n")
    return 1
