"""A server of 330,000 members and 1,000 channels: nothing is asked that grows with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.playground.entities import Guild, Payload
from bot.playground.gateway.sessions import Gateway
from bot.playground.ids import ADA, CY, EMBER, HELPERS, ORCHARD
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from bot.playground.world import payloads
from bot.playground.world.state import World
from support.app_world import running

pytestmark = pytest.mark.slow
ME = f"<@{EMBER}>"
MEMBERS, CHANNELS = 330_000, 1_000


async def test_a_big_server_is_not_read_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rapptz/discord.py PR#7932: no member list, roles from the event, commands work at once."""
    as_usual = payloads.guild_create
    chunks: list[object] = []

    def vast(world: World, item: Guild, *, all_members: bool = False) -> Payload:
        data = as_usual(world, item, all_members=all_members)
        if item.id == ORCHARD:
            data |= {"large": True, "member_count": MEMBERS}
        return data

    monkeypatch.setattr(payloads, "guild_create", vast)
    monkeypatch.setattr(Gateway, "request_members", lambda *asked: chunks.append(asked))
    settings = {
        "channels": {"default": {"enabled": False}},
        "allow": {"roles": [str(HELPERS)]},
    }
    async with Playground() as pg, ScriptedModel() as model:
        places = [pg.world.add_channel(ORCHARD, f"place-{n}") for n in range(CHANNELS)]
        async with running(tmp_path / "home", pg, model, settings) as app:
            _, answer = await app.ask(CY, places[-1], f"{ME} by the role in the event")
            assert "by the role" in answer.content
            shown = await app.slash(ADA, places[0], "channel show")
            assert "enabled" in shown.text
        asked = [(each.method, each.path) for each in pg.requests]
    assert chunks == []
    assert [path for _, path in asked if "/members" in path] == []
    histories = [path for method, path in asked if method == "GET" and path.endswith("/messages")]
    assert len(histories) < 20, "not a look into each of a thousand channels"
