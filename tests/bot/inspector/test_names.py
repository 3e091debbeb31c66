"""Names of Discord's ids, from what the connection has in its memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast
from unittest.mock import create_autospec

import discord
import pytest

from bot.inspector.names import DiscordNames, NoNames


@pytest.fixture
def names() -> DiscordNames:
    client = create_autospec(discord.Client, instance=True)
    channels = {7: SimpleNamespace(id=7, name="hearth"), 8: SimpleNamespace(id=8, name="Workshop")}
    client.get_channel.side_effect = channels.get
    client.get_user.side_effect = {1: SimpleNamespace(display_name="Ada")}.get
    client.cached_messages = [SimpleNamespace(author=SimpleNamespace(id=2, display_name="Bo"))]
    client.get_all_channels.side_effect = lambda: iter(channels.values())
    return DiscordNames(cast("discord.Client", client))


def test_what_is_known_has_its_name(names: DiscordNames) -> None:
    assert names.channel("discord:7") == "#hearth"
    assert names.person("discord:1") == "Ada"
    assert names.person("discord:2") == "Bo"  # who spoke
    for unknown in ("discord:9", "", "discord:", "discord:x", "discord:²"):
        assert not names.channel(unknown)
        assert not names.person(unknown)


def test_channels_are_found_by_a_part_of_their_name(names: DiscordNames) -> None:
    assert names.channels_named("#WORK") == ("discord:8",)
    assert names.channels_named("h") == ("discord:7", "discord:8")
    assert names.channels_named(" # ") == ()


def test_nobody_is_known_without_a_connection() -> None:
    nobody = NoNames()
    assert (nobody.channel("discord:7"), nobody.person("discord:1")) == ("", "")
    assert nobody.channels_named("hearth") == ()
