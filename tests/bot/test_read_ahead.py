"""What the embedded model reads before anybody wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.playground.ids import ADA, DIRECT
from bot.playground.scripted_model import Answer, HttpError, ScriptedModel
from bot.playground.server import Playground
from bot.read_ahead import read_ahead
from support.app_world import running
from support.pi_world import INSTALL


@pytest.mark.slow
async def test_what_is_read_ahead_is_what_the_first_message_needs(tmp_path: Path) -> None:
    """Else the cache would hold something that no conversation begins with."""
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model) as app,
    ):
        await read_ahead(app.live, INSTALL)
        assert list((app.home / "runs").iterdir()) == []
        await app.ask(ADA, DIRECT[ADA], "hello")
    ahead, first = model.requests
    assert ahead.system_text == first.system_text
    assert "INGLENOOK SYSTEM BLOCK: IDENTITY" in ahead.system_text
    assert ahead.body["max_tokens"] == 1


async def test_a_failure_harms_nothing(tmp_path: Path) -> None:
    """A missing identity is told when somebody writes; here it is a line in the log."""
    async with Playground() as pg, ScriptedModel() as model:
        async with running(tmp_path / "home", pg, model) as app:
            (app.home / "imps" / "ember" / "identity.md").unlink()
            with capture_logs() as logs:
                await read_ahead(app.live, INSTALL)
        assert model.requests == []
    assert [line["event"] for line in logs if "read_ahead" in line["event"]] == [
        "model.not_read_ahead"
    ]


async def test_a_model_that_fails_is_left_alone(tmp_path: Path) -> None:
    """Once is enough: whoever writes next hears what is wrong."""
    async with Playground() as pg, ScriptedModel() as model:
        model.script(HttpError(status=500), Answer.of("x"))
        async with running(tmp_path / "home", pg, model) as app:
            await read_ahead(app.live, INSTALL)
        assert len(model.requests) == 1
