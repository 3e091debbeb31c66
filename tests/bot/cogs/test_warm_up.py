"""Sessions that start before the first message."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import discord
import pytest

from bot.client import InglenookBot
from bot.cogs.warm_up import WarmUp
from bot.reading import Reader
from compiler.request import Place, Role
from config.load import LiveConfig, ensure_home
from sessions.registry import Registry
from support.discord_messages import ADA, BO, DM, HEARTH, ORCHARD

TRUSTED = HEARTH + 1


class House:
    """The listener over a registry that only takes note."""

    def __init__(self, home: Path, **warm_up: bool) -> None:
        ensure_home(home)
        settings: dict[str, Any] = {
            "discord": {"owners": [str(ADA)]},
            "channels": {
                "default": {"enabled": True},
                str(TRUSTED): {"enabled": True, "trusted": True},
            },
            "warm_up": warm_up,
        }

        async def setup(_: InglenookBot) -> None: ...

        bot = InglenookBot(LiveConfig(home, environ={}, overrides=settings), setup=setup)
        self.registry = create_autospec(Registry, instance=True)
        self.cog = WarmUp(bot, registry=self.registry, reader=Reader(bot))

    async def typing(self, user: int, channel: int, guild: int | None, *, bot: bool = False) -> int:
        """Let somebody type; give how many sessions were asked for so far."""
        data: Any = {"channel_id": str(channel), "user_id": str(user), "timestamp": 1}
        if guild is not None:
            data["guild_id"] = str(guild)
        payload = discord.RawTypingEvent(data)
        payload.user = create_autospec(discord.User, instance=True, id=user, bot=bot)
        await self.cog.on_raw_typing(payload)
        return int(self.registry.warm.call_count)


async def test_who_would_be_answered_finds_a_warm_session(tmp_path: Path) -> None:
    """`[warm_up]`: in direct messages, and in trusted channels for everybody."""
    house = House(tmp_path)
    assert await house.typing(ADA, DM, None) == 1
    assert await house.typing(BO, TRUSTED, ORCHARD) == 2
    (_, private), (_, group) = (call.args for call in house.registry.warm.call_args_list)
    assert (private.place, private.role) == (Place.DM, Role.OWNER)
    assert (group.place, group.role, group.channel_id) == (
        Place.GROUP,
        Role.MEMBER,
        f"discord:{TRUSTED}",
    )


@pytest.mark.parametrize(
    ("user", "channel", "guild", "bot"),
    [
        (BO, DM, None, False),  # a stranger is not talked with in private
        (BO, HEARTH, ORCHARD, False),  # not trusted
        (ADA, TRUSTED, ORCHARD, True),  # P10: bots start nothing
    ],
)
async def test_nobody_else_starts_anything(
    tmp_path: Path, *, user: int, channel: int, guild: int | None, bot: bool
) -> None:
    """A session costs memory: it stands ready only for somebody who will be answered there."""
    assert await House(tmp_path).typing(user, channel, guild, bot=bot) == 0


async def test_the_owner_may_want_none_of_it(tmp_path: Path) -> None:
    """`[warm_up] dm = false`, `trusted = false`."""
    house = House(tmp_path, dm=False, trusted=False)
    assert await house.typing(ADA, DM, None) == 0
    assert await house.typing(ADA, TRUSTED, ORCHARD) == 0
