"""``/context preview`` on the running bot."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.permissions import OWNERS_ONLY
from bot.playground.ids import ADA, BO, CY, DIRECT, HEARTH, KINDLING
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from support.app_world import AppWorld, running

pytestmark = pytest.mark.slow


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppWorld]:
    settings = {"allow": {"users": [str(BO)]}}
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, settings) as world,
    ):
        yield world


async def look(app: AppWorld, person: int, channel: int | None = None) -> str:
    where = {} if channel is None else {"in": channel}
    await app.commands.wait()
    result = await app.pg.slash(
        ADA,
        DIRECT[ADA] if channel is None else HEARTH,
        "context preview",
        options={"as": person, "message": "the boat", **where},
    )
    assert result.error is None
    assert result.ephemeral
    files = [file.data.decode() for message in result.messages for file in message.attachments]
    return "\n".join([result.text, *files])


async def test_the_owner_sees_what_a_person_would_be_answered_from(app: AppWorld) -> None:
    """Issue: ``/context preview as:@user in:#channel``; no model is asked."""
    await app.slash(BO, DIRECT[BO], "memory remember", text="my boat is CANARY blue")
    await app.slash(BO, HEARTH, "memory remember", text="the boat lies at the pier")
    as_bo = await look(app, BO, HEARTH)
    assert f"If <@{BO}> wrote in <#{HEARTH}> now" in as_bo
    assert "the boat lies at the pier" in as_bo
    assert "memory: **audience** (private, and others read here): `m-" in as_bo
    assert "CANARY" not in as_bo
    as_cy = await look(app, CY, HEARTH)
    assert "the boat lies at the pier" in as_cy
    assert "audience" not in as_cy
    assert "the boat lies at the pier" in await look(app, CY, KINDLING)
    directly = await look(app, BO)
    assert "CANARY" in directly
    assert "pier" not in directly
    assert "I would not answer there" in await look(app, CY)
    assert app.model.requests == []
    assert list((app.home / "runs").glob("*")) == []


async def test_nobody_else_may_look(app: AppWorld) -> None:
    await app.commands.wait()
    refused = await app.pg.slash(BO, HEARTH, "context preview", force=True, options={"as": ADA})
    assert (refused.text, refused.ephemeral) == (OWNERS_ONLY, True)
