"""``/inspect``: where the link goes, and what is said when it cannot."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, create_autospec

import aiohttp
import discord
import pytest

from bot.cogs.inspect import OFF, SENT, UNSENT, InspectCog
from bot.inspector.doors import Doors
from bot.inspector.server import Inspector
from support.inspector_world import Wall


def inspector() -> Inspector:
    doors = Doors(link_seconds=600, session_seconds=3600, now=Wall())
    return Inspector(doors, port=4301, link_minutes=10)


async def answer(cog: InspectCog, person: AsyncMock) -> str:
    """What the command says to the one who gave it."""
    interaction = create_autospec(discord.Interaction, instance=True)
    interaction.user = person
    interaction.followup = AsyncMock()
    interaction.response = AsyncMock()
    command: Any = InspectCog.inspect
    await command.callback(cog, interaction)
    assert interaction.followup.send.await_args.kwargs["ephemeral"]
    told = interaction.followup.send.await_args.args[0]
    assert isinstance(told, str)
    return told


async def test_the_link_goes_into_the_direct_message_alone() -> None:
    """Issue: sent by /inspect to the owner's DM."""
    person = AsyncMock()
    assert await answer(InspectCog(inspector()), person) == SENT
    (text,) = person.send.await_args.args
    assert "http://127.0.0.1:4301/sign-in?ticket=" in text
    assert "once, and for 10 minutes" in text
    assert person.send.await_args.kwargs["suppress_embeds"]


@pytest.mark.parametrize("failure", [aiohttp.ClientError(), TimeoutError()])
async def test_a_closed_direct_message_is_told_and_gives_nothing_away(failure: Exception) -> None:
    person = AsyncMock()
    person.send.side_effect = failure
    assert await answer(InspectCog(inspector()), person) == UNSENT


async def test_an_inspector_that_is_off_says_so() -> None:
    """Issue: off with ``inspector.enabled = false``."""
    person = AsyncMock()
    assert await answer(InspectCog(None), person) == OFF
    person.send.assert_not_awaited()
