"""Servers with something in them that the library does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.client import InglenookBot
from config.load import LiveConfig, ensure_home
from support.discord_messages import HEARTH, ORCHARD

PLACE: dict[str, object] = {"position": 0, "permission_overwrites": []}
HEARTH_ROOM = PLACE | {"id": str(HEARTH), "type": 0, "name": "hearth"}


@pytest.fixture
def bot(tmp_path: Path) -> InglenookBot:
    ensure_home(tmp_path)

    async def setup(_: InglenookBot) -> None: ...

    return InglenookBot(LiveConfig(tmp_path, environ={}), setup=setup)


def tell(bot: InglenookBot, **changes: object) -> None:
    """Let Discord tell of Orchard."""
    server: Any = {"id": str(ORCHARD), "name": "Orchard", "channels": [HEARTH_ROOM]} | changes
    bot._connection.parsers["GUILD_CREATE"](server)


@pytest.mark.parametrize(
    "odd",
    [
        {"channels": [PLACE | {"id": "7", "type": 2, "name": "CANARY"}, HEARTH_ROOM]},
        {"guild_scheduled_events": [{"id": "8", "name": "CANARY"}]},
        {"soundboard_sounds": [{"sound_id": "9"}], "stickers": [{}], "roles": [{"name": "CANARY"}]},
    ],
)
async def test_one_thing_of_a_new_form_costs_nobody_the_server(
    bot: InglenookBot, odd: dict[str, object]
) -> None:
    """P05: what is said there is heard, and what was missed there is caught up."""
    with capture_logs() as logs:
        tell(bot, **odd)
    server = bot.get_guild(ORCHARD)
    assert server is not None
    assert [channel.id for channel in server.channels] == [HEARTH]
    (line,) = logs
    assert line["event"] == "server.read_in_part"
    assert "CANARY" not in repr(logs)


async def test_a_server_that_is_well_is_read_once(bot: InglenookBot) -> None:
    with capture_logs() as logs:
        tell(bot)
    assert bot.get_guild(ORCHARD) is not None
    assert logs == []


async def test_one_without_an_id_is_no_server_and_ends_nothing(bot: InglenookBot) -> None:
    """Issue "Bad input": as any event that cannot be read."""
    with capture_logs() as logs:
        bot._connection.parsers["GUILD_CREATE"]({"channels": "CANARY"})
    assert [line["event"] for line in logs] == ["discord.event_unreadable"]
    assert "CANARY" not in repr(logs)
