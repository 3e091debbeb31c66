"""Commands and buttons as Discord really delivers them: late, twice, and after a restart."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from bot.playground.entities import Event, Payload
from bot.playground.ids import ADA, DIRECT, HEARTH
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from support.app_world import running

pytestmark = pytest.mark.slow
FOLLOW_UP = "/webhooks/{application_id}/{token}"
SIXTEEN_MINUTES = 16 * 60.0


async def test_what_takes_too_long_comes_by_direct_message(tmp_path: Path) -> None:
    """P15: the token is dead after 15 minutes: the answer goes to the asker alone."""
    later = [0.0]
    gate = asyncio.Event()
    async with (
        Playground(clock=lambda: time.time() + later[0]) as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model) as app,
    ):
        await app.commands.wait()
        pg.faults.hold(gate, "POST", FOLLOW_UP)
        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(pg.slash(ADA, HEARTH, "sessions list", timeout=120.0))
            await pg.wait_for_request("POST", FOLLOW_UP, answered=False)
            later[0] = SIXTEEN_MINUTES
            gate.set()
            told = await pg.wait_for_message(DIRECT[ADA])
            asked.cancel()  # its answer, refused, can no longer come
        assert "No session is warm" in told.content
        assert pg.messages(HEARTH) == ()


async def test_an_interaction_acts_once_also_after_a_restart(tmp_path: Path) -> None:
    """Issue "Inbound": an interaction's id acts once, replayed at once or to the next host."""
    events: list[Payload] = []

    def note(event: Event) -> None:
        if event.name == "INTERACTION_CREATE":
            events.append(event.data)

    async with Playground() as pg, ScriptedModel() as model:
        pg.subscribe(note)
        for attempt in range(2):
            async with running(tmp_path / "home", pg, model) as app:
                await app.commands.wait()
                if attempt == 0:
                    await app.slash(ADA, HEARTH, "channel disable")
                    await app.slash(ADA, HEARTH, "channel enable")
                pg.inject("INTERACTION_CREATE", events[0])
                await app.settle()
                assert app.live.channel(str(HEARTH), None, is_dm=False).enabled
                callbacks = [
                    request
                    for request in pg.requests
                    if request.route.startswith("/interactions/") and request.method == "POST"
                ]
                assert len(callbacks) == 2
