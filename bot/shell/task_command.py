"""``task`` in the shell: the owner of the home files, looks, cancels and retries.

Everything is a transaction in the store, so it works beside a running bot, whose supervisor takes
up what was filed within a second; without one, tasks wait for the next start. Results of a task
with a channel are posted there; those of one without are told by ``task show``.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from bot.logs import configure_logging
from bot.shell.task_home import TaskHome, holder_of, open_beside
from bot.shell.terminal import write_out
from bot.tasks.texts import (
    NO_SHELL_TASKS,
    changed_text,
    filed_text,
    list_text,
    show_text,
    task_document,
)
from compiler.canonical_json import JsonValue
from compiler.errors import SafeError
from config.homedir import ensure_home
from config.load import LiveConfig
from config.problems import ConfigError
from config.settings import LogLevel, LogSettings
from sessions.task_service import SHELL, Filing, Viewer
from sessions.tasks import Task, TaskKind

OWNER: Final = Viewer(is_owner=True)
NO_BOT: Final = "No bot runs with this home; the next one takes it up."
Action = Callable[[TaskHome, Namespace], Awaitable[None]]


def main(home: Path, options: Namespace) -> int:
    """Run one of the ``task`` commands; 0 when it did what was wanted."""
    try:
        ensure_home(home)
        live = LiveConfig(home, environ=os.environ)
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    configure_logging(LogSettings(level=LogLevel.ERROR))  # standard output is for what is told
    return asyncio.run(_main(live, options))


async def _main(live: LiveConfig, options: Namespace) -> int:
    try:
        async with open_beside(live) as home:
            await _ACTIONS[options.action](home, options)
    except SafeError as error:
        if options.json:
            _write({"error": {"code": str(error.code), "message": error.safe_message}})
        else:
            sys.stderr.write(f"{error.safe_message}\n")
        return 1
    return 0


async def _add(home: TaskHome, options: Namespace) -> None:
    scope = await home.scope_of(options.channel or "")
    task = await home.service.file(
        Filing(
            kind=TaskKind(options.kind),
            text=options.text,
            imp=home.imp_for(options.imp, scope),
            scope=scope,
            origin=SHELL,
            at=options.at,
            every=options.every,
            cron=options.cron,
            zone=options.timezone,
            after=tuple(options.after),
            repository=options.repository,
        )
    )
    _tell(home, options, task, filed_text(task, options.timezone or _zone(home)))


async def _list(home: TaskHome, options: Namespace) -> None:
    tasks = await home.service.listed(OWNER, with_ended=options.all)
    if options.json:
        documents: list[JsonValue] = [task_document(task) for task in tasks]
        _write({"tasks": documents})
    else:
        write_out(list_text(tasks, _zone(home), none=NO_SHELL_TASKS))


async def _show(home: TaskHome, options: Namespace) -> None:
    task = await home.service.show(options.task, OWNER)
    result = await home.service.result(task)
    if options.json:
        _write(task_document(task) | {"result": result})
    else:
        write_out(show_text(task, _zone(home), result=result))


async def _cancel(home: TaskHome, options: Namespace) -> None:
    task = await home.service.cancel(options.task, OWNER)
    _tell(home, options, task, changed_text(task, _zone(home)))


async def _retry(home: TaskHome, options: Namespace) -> None:
    task = await home.service.retry(options.task, OWNER)
    _tell(home, options, task, changed_text(task, _zone(home)))


_ACTIONS: Final[Mapping[str, Action]] = {
    "add": _add,
    "list": _list,
    "show": _show,
    "cancel": _cancel,
    "retry": _retry,
}


def _tell(home: TaskHome, options: Namespace, task: Task, text: str) -> None:
    if options.json:
        _write(task_document(task))
        return
    write_out(text.replace("`", ""))
    if holder_of(home.live.home) is None:
        write_out(NO_BOT)


def _zone(home: TaskHome) -> str:
    return home.live.current.tasks.timezone


def _write(document: Mapping[str, JsonValue]) -> None:
    write_out(json.dumps(document, ensure_ascii=False, indent=2))
