"""The inspector over one home: from its port and its own connection to the database to its end.

It reads by a connection of its own, so that no page stands in a turn's way. It listens on this
machine alone. What it cannot have (a port, the database) never keeps the bot from running.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import structlog
from aiohttp import web

from bot.inspector.doors import Doors
from bot.inspector.guard import Guard, add_headers
from bot.inspector.live import BEAT_SECONDS, LivePages
from bot.inspector.pages import Pages
from bot.inspector.paper import Cookies, Paper
from bot.names import Names
from bot.runs.book import STORE_SECONDS, RunBook
from bot.runs.kept_traces import KeptTraces
from config.homedir import DATABASE_FILE
from config.settings import InspectorSettings
from sessions.clock import SystemClock
from sessions.errors import StoreUnavailable
from sessions.run_feed import RunFeed
from sessions.store.database import open_database
from sessions.store.directives import DirectiveStore
from sessions.store.run_list import RunList
from sessions.store.runs import RunStore

HOST: Final = "127.0.0.1"
MAX_FORM_BYTES: Final = 16 * 1024
CLOSE_SECONDS: Final = 2.0
_log = structlog.get_logger(__name__)


class Inspector:
    """A running inspector."""

    def __init__(self, doors: Doors, *, port: int, link_minutes: float) -> None:
        self._doors = doors
        self.port = port
        self.link_minutes = link_minutes

    @property
    def origin(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self.port}"

    def page(self, run_id: str, turn: int | None) -> str:
        """Tell where a run is, at one of its turns or at the latest; no key to it."""
        return f"{self.origin}/runs/{run_id}" + ("" if turn is None else f"?turn={turn}#turn")

    def link(self) -> str:
        """Make a link that lets one browser in, once."""
        return f"{self.origin}/sign-in?ticket={self._doors.ticket()}"


@asynccontextmanager
async def open_inspector(
    home: Path,
    settings: InspectorSettings,
    *,
    feed: RunFeed,
    names: Names,
    now: Callable[[], float] = time.monotonic,
    beat_seconds: float = BEAT_SECONDS,
) -> AsyncIterator[Inspector | None]:
    """Serve the pages of a home until the block ends; None where the port is not to be had.

    A port that is taken gives way to any other, so that two bots on a machine both have a page.
    """
    bound = _bind(settings.port)
    if bound is None:
        yield None
        return
    port = int(bound.getsockname()[1])
    doors = Doors(
        link_seconds=60 * settings.link_minutes,
        session_seconds=3600 * settings.session_hours,
        now=now,
    )
    async with AsyncExitStack() as stack:
        stack.callback(bound.close)
        book, runs = await _open_runs(stack, home)
        live = LivePages(feed, beat_seconds=beat_seconds)
        cookies = Cookies(session=f"inglenook_inspector_{port}", theme="inglenook_theme")
        paper = Paper(names=names, doors=doors, cookies=cookies)
        await asyncio.to_thread(paper.prepare)
        pages = Pages(
            book,
            runs,
            paper=paper,
            names=names,
            doors=doors,
            live=live,
            cookies=cookies,
            spoken=feed.first_text_us,
        )
        guard = Guard(doors, cookie=cookies.session, plain=paper.plain)
        app = web.Application(middlewares=[guard.middleware()], client_max_size=MAX_FORM_BYTES)
        app.on_response_prepare.append(add_headers)
        pages.add_routes(app.router)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=CLOSE_SECONDS
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        stack.callback(live.close)
        await web.SockSite(runner, bound).start()
        _log.info("inspector.open", port=port)
        yield Inspector(doors, port=port, link_minutes=settings.link_minutes)


async def _open_runs(stack: AsyncExitStack, home: Path) -> tuple[RunBook, RunList | None]:
    database = open_database(
        home / DATABASE_FILE, clock=SystemClock(), patience_seconds=STORE_SECONDS, read_only=True
    )
    try:
        opened = await stack.enter_async_context(database)
    except StoreUnavailable as error:
        _log.warning("inspector.without_store", **error.facts)
        return RunBook(home, None, kept=KeptTraces()), None
    rules = DirectiveStore(opened).of_run
    book = RunBook(home, RunStore(opened), rules, kept=KeptTraces())
    return book, RunList(opened)


def _bind(wanted: int) -> socket.socket | None:
    for port in (wanted, 0):
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((HOST, port))
            # A port is one's own only from here on: until somebody listens, others may bind it too.
            bound.listen()
        except OSError as error:
            bound.close()
            _log.warning("inspector.port", port=port, error=type(error).__name__)
        else:
            return bound
    return None
