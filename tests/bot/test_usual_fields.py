"""Events that come without what the library wants."""

from __future__ import annotations

from typing import Any

import discord
import pytest

from bot.usual_fields import filled
from support.discord_messages import ADA, DM, HEARTH, ORCHARD, make_state, member, user


def interaction(**fields: object) -> discord.Interaction[discord.Client]:
    """Read an interaction of which Discord told the least."""
    least = {"id": "1", "type": 2, "application_id": "2", "token": "t"} | fields
    data: Any = filled("INTERACTION_CREATE", least)
    return discord.Interaction(data=data, state=make_state())


async def test_a_bare_interaction_knows_its_place_and_person() -> None:
    """P15's kind: a command of which only ids are told is answered as any other."""
    in_server = interaction(
        guild_id=str(ORCHARD), channel_id=str(HEARTH), member=member() | {"user": user(ADA)}
    )
    in_private = interaction(channel_id=str(DM), user=user(ADA))
    assert (in_server.channel_id, in_server.user.id) == (HEARTH, ADA)
    assert (in_private.channel_id, in_private.user.id) == (DM, ADA)
    assert isinstance(in_private.channel, discord.DMChannel)


@pytest.mark.parametrize("said", [{"shard": [3, 8]}, {"shard": [0, 1], "v": 10}])
def test_what_discord_says_stays(said: dict[str, object]) -> None:
    """Only what is missing is filled in."""
    assert filled("READY", said) == said


def test_the_only_shard_need_not_be_named() -> None:
    """READY has ``shard`` only "if sent when identifying"."""
    assert filled("READY", {"v": 10})["shard"] == (0, 1)
