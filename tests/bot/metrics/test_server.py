"""The port for monitors, over a real socket."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from bot.metrics.figures import Figures
from bot.metrics.health import Health
from bot.metrics.server import open_metrics
from config.homedir import DATABASE_FILE
from config.settings import MetricsSettings
from sessions.clock import SystemClock
from sessions.run_feed import RunFeed
from sessions.store.database import open_database
from support.session_world import BOUND_SECONDS


@dataclass
class World:
    port: int | None = None
    connected: bool = True
    closing: bool = False
    settings: MetricsSettings = field(default_factory=lambda: MetricsSettings(port=0))

    async def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"http://127.0.0.1:{self.port}{path}") as answer,
        ):
            return answer.status, await answer.text()


@asynccontextmanager
async def serving(tmp_path: Path, world: World) -> AsyncIterator[World]:
    clock = SystemClock()
    async with open_database(
        tmp_path / DATABASE_FILE, clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        health = Health(
            tmp_path,
            database,
            connected=lambda: world.connected,
            closing=lambda: world.closing,
        )
        async with open_metrics(
            world.settings,
            figures=Figures(),
            health=health,
            database=database,
            feed=RunFeed(),
            clock=clock,
        ) as port:
            world.port = port
            yield world


async def test_what_monitors_ask_is_answered(tmp_path: Path) -> None:
    """Alive, ready with reasons, and figures; nothing else is there."""
    async with serving(tmp_path, World()) as world:
        assert await world.get("/healthz") == (200, '{"ok": true, "parts": {"host": "ok"}}')
        assert (await world.get("/readyz"))[0] == 200
        status, text = await world.get("/metrics")
        assert status == 200
        assert 'inglenook_ready{part="discord"} 1.0' in text
        assert "inglenook_outbox 0.0" in text
        world.connected = False
        status, text = await world.get("/readyz")
        assert (status, '"discord": "not connected"' in text) == (503, True)
        assert (await world.get("/healthz"))[0] == 200
        assert 'inglenook_ready{part="discord"} 0.0' in (await world.get("/metrics"))[1]
        world.closing = True
        assert (await world.get("/healthz"))[0] == 503
        assert (await world.get("/"))[0] == 404
        assert (await world.get("/metrics", "POST"))[0] == 405


async def test_a_taken_port_keeps_nothing_from_running(tmp_path: Path) -> None:
    """It is told in the log; the bot goes on without."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        world = World(settings=MetricsSettings(port=taken.getsockname()[1]))
        async with serving(tmp_path, world):
            assert world.port is None
