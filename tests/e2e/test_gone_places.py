"""Channels and threads that are deleted while something runs there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bot.playground.entities import Channel
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER
from bot.playground.scripted_model import Hang
from support.app_world import AppWorld

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ME = f"<@{EMBER}>"
UNKNOWN_CHANNEL = "404/10003"


@pytest.fixture(scope="module")
def house_settings() -> Mapping[str, Any]:
    """The model would think for as long as the tests may take."""
    return {"sessions": {"turn_seconds": 600}}


async def place(app: AppWorld, kind: str) -> tuple[Channel, Channel]:
    """Make a place to talk in, and say what is deleted."""
    channel = app.place()
    if kind == "channel":
        return channel, channel
    thread = await app.pg.create_thread(BO, channel, "embers")
    return thread, thread if kind == "thread" else channel


@pytest.mark.parametrize("kind", ["channel", "thread", "channel of a thread"])
async def test_what_runs_where_nobody_reads_ends(app: AppWorld, kind: str) -> None:
    """P13, P22, issue "Inbound" (threads deleted at any moment): the turn ends at once, what
    waited asks no model, nothing is said elsewhere, and the owner hears of it."""
    here, deleted = await place(app, kind)
    app.model.script(Hang())
    await app.pg.say(BO, here, f"{ME} tell me everything")
    await app.model.wait_for_requests(1)
    await app.pg.say(CY, here, f"{ME} me too")
    fence = await app.settle()
    app.pg.world.delete_channel(deleted)
    told = await app.pg.wait_for_message(DIRECT[ADA], lambda m: str(here.id) in m.content)
    assert UNKNOWN_CHANNEL in told.content
    assert told.content.endswith("It was posted nowhere else.")
    await app.rest()  # long before the turn's own end
    assert len(app.prompts) == 1
    said = [each for place in app.pg.world.channels for each in app.pg.messages(place)]
    mine = [each for each in said if each.author_id == EMBER and each.id > fence.id]
    assert [each for each in mine if each.reply_to != fence.id] == [told]
