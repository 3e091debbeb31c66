"""What a monitor reads of the running bot."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import aiohttp
import pytest

from bot.metrics import health
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from config.homedir import DATABASE_FILE
from support.app_world import ANSWER_SECONDS, running
from support.free_ports import free_port

pytestmark = pytest.mark.slow


async def read(port: int, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def test_figures_and_health_of_a_bot_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Metrics and health": turns, starts and refusals are counted, nobody is named; a locked
    database is not ready, and ready again when the lock is gone (P24)."""
    monkeypatch.setattr(health, "TRIAL_SECONDS", ANSWER_SECONDS)  # of a machine that stands still
    home, port = tmp_path / "home", free_port()
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(
            home,
            pg,
            model,
            {"metrics": {"enabled": True, "port": port}, "limits": {"user_tokens": 1}},
        ) as app,
    ):
        assert (await read(port, "/healthz"))[0] == 200
        status, text = await read(port, "/readyz")
        assert (status, json.loads(text)["ok"]) == (200, True)
        await app.ask(ADA, DIRECT[ADA], "hello")
        await app.ask(BO, HEARTH, f"<@{EMBER}> CANARY")
        _, refused = await app.ask(BO, HEARTH, f"<@{EMBER}> once more")
        assert "used up your share" in refused.content
        _, text = await read(port, "/metrics")
        lines = text.splitlines()
        assert 'inglenook_turns_total{outcome="replied",surface="discord-session"} 2.0' in lines
        assert 'inglenook_pi_starts_total{result="started"} 2.0' in lines
        assert "inglenook_trace_seconds_count 2.0" in lines
        assert 'inglenook_refusals_total{code="limit_user"} 1.0' in lines
        assert not [each for each in ("CANARY", str(BO), str(HEARTH)) if each in text]
        other = sqlite3.connect(home / DATABASE_FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        status, text = await read(port, "/readyz")
        assert (status, json.loads(text)["parts"]["database"]) == (
            503,
            "cannot be written (busy)",
        )
        assert (await read(port, "/healthz"))[0] == 200
        other.execute("ROLLBACK")
        other.close()
        assert (await read(port, "/readyz"))[0] == 200
