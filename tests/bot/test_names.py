"""Names of Discord's ids, from what the connection has in its memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast
from unittest.mock import create_autospec

import discord
import pytest

from bot.names import DiscordNames, NoNames


def said(channel: int, author: str, **more: object) -> SimpleNamespace:
    who = SimpleNamespace(id=2, display_name=author, bot=author == "Ember")
    where = SimpleNamespace(id=channel)
    return SimpleNamespace(channel=where, author=who, **{"guild": None, **more})


@pytest.fixture
def names() -> DiscordNames:
    client = create_autospec(discord.Client, instance=True)
    channels = {7: SimpleNamespace(id=7, name="hearth"), 8: SimpleNamespace(id=8, name="Workshop")}
    client.get_channel.side_effect = channels.get
    client.get_user.side_effect = {1: SimpleNamespace(display_name="Ada")}.get
    client.cached_messages = [said(7, "Bo", guild=object())]
    client.get_all_channels.side_effect = lambda: iter(channels.values())
    return DiscordNames(cast("discord.Client", client))


def test_what_is_known_has_its_name(names: DiscordNames) -> None:
    assert names.channel("discord:7") == "#hearth"
    assert names.person("discord:1") == "Ada"
    assert names.person("discord:2") == "Bo"  # who spoke
    for unknown in ("discord:9", "", "discord:", "discord:x", "discord:²"):
        assert not names.channel(unknown)
        assert not names.person(unknown)


@pytest.mark.parametrize(
    ("recipient", "name"),
    [("Bo", "DM with Bo"), ("B`o\n\u202e", "DM with B'o"), (None, "")],
)
def test_a_direct_message_is_named_by_the_person(recipient: str | None, name: str) -> None:
    """In one line that fits a code block."""
    direct = create_autospec(discord.DMChannel, instance=True)
    direct.recipient = recipient and SimpleNamespace(display_name=recipient)
    client = create_autospec(discord.Client, instance=True)
    client.get_channel.return_value = direct
    client.cached_messages = []
    assert DiscordNames(cast("discord.Client", client)).channel("discord:9") == name


def test_a_direct_message_that_discord_told_nothing_of_is_named_by_who_wrote_there() -> None:
    """Discord announces none to bots; the imp's own words name nobody, nor do a server's."""
    client = create_autospec(discord.Client, instance=True)
    client.get_channel.return_value = None
    client.cached_messages = [said(9, "Ember"), said(9, "Bo"), said(8, "Cy", guild=object())]
    names = DiscordNames(cast("discord.Client", client))
    assert names.channel("discord:9") == "DM with Bo"
    assert not names.channel("discord:8")


def test_channels_are_found_by_a_part_of_their_name(names: DiscordNames) -> None:
    assert names.channels_named("#WORK") == ("discord:8",)
    assert names.channels_named("h") == ("discord:7", "discord:8")
    assert names.channels_named(" # ") == ()


def test_nobody_is_known_without_a_connection() -> None:
    nobody = NoNames()
    assert (nobody.channel("discord:7"), nobody.person("discord:1")) == ("", "")
    assert nobody.channels_named("hearth") == ()
