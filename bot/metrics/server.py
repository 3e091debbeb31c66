"""``/metrics``, ``/healthz`` and ``/readyz``: a port for monitors, off unless the owner wants it.

It says numbers and states, so it asks nobody who he is; by default only this machine hears it. A
port that is not to be had is told in the log and keeps nothing from running.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import structlog
from aiohttp import web

from bot.metrics.figures import CONTENT_TYPE, Figures
from bot.metrics.health import Health, Part, describe
from config.settings import MetricsSettings
from sessions.clock import Clock, timestamp
from sessions.errors import StoreUnavailable
from sessions.run_feed import RunFeed
from sessions.store.database import Database
from sessions.store.runs import RunStore

CLOSE_SECONDS: Final = 1.0
_NOT_WELL: Final = 503
_log = structlog.get_logger(__name__)


@asynccontextmanager
async def open_metrics(
    settings: MetricsSettings,
    *,
    figures: Figures,
    health: Health,
    database: Database,
    feed: RunFeed,
    clock: Clock,
) -> AsyncIterator[int | None]:
    """Serve until the block ends; give the port, or None where none is to be had."""
    runs, since = RunStore(database), timestamp(clock.utc_now())
    with feed.listen() as listener:

        async def metrics(request: web.Request) -> web.Response:
            del request
            for part in await health.ready():
                figures.tell_ready(part.name, works=part.works)
            try:
                body = await figures.render(
                    database, runs, listener, since=since, refusals=feed.refusals
                )
            except StoreUnavailable as error:
                return web.Response(status=_NOT_WELL, text=f"# {error.code}\n")
            return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

        async def alive(request: web.Request) -> web.Response:
            del request
            return _answer((health.alive(),))

        async def ready(request: web.Request) -> web.Response:
            del request
            return _answer(await health.ready())

        app = web.Application()
        app.router.add_get("/metrics", metrics)
        app.router.add_get("/healthz", alive)
        app.router.add_get("/readyz", ready)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=CLOSE_SECONDS
        )
        await runner.setup()
        try:
            yield await _listen(runner, settings)
        finally:
            await runner.cleanup()


async def _listen(runner: web.AppRunner, settings: MetricsSettings) -> int | None:
    try:
        await web.TCPSite(runner, settings.host, settings.port).start()
    except OSError as error:
        _log.error("metrics.not_served", port=settings.port, error=type(error).__name__)
        return None
    port = int(runner.addresses[0][1])
    _log.info("metrics.open", port=port)
    return port


def _answer(parts: tuple[Part, ...]) -> web.Response:
    well = all(part.works for part in parts)
    response = web.json_response(describe(parts), status=200 if well else _NOT_WELL)
    response.headers["Cache-Control"] = "no-store"
    return response
