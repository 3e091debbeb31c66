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


async def test_what_nobody_asks_an_interaction_for_may_be_of_any_form() -> None:
    """P15's kind: entitlements and owners; and nothing in place of what may be missing."""
    odd = {"entitlements": None, "authorizing_integration_owners": {"x": "y"}, "channel": None}
    found = interaction(**odd, channel_id=str(DM), user=user(ADA), attachment_size_limit=None)
    assert (found.user.id, found.entitlements) == (ADA, [])
    assert found.filesize_limit == 10 * 1024 * 1024


@pytest.mark.parametrize("said", [{"member": {"user": {"id": "1"}}}, {"user": {"id": "1"}}])
async def test_who_asks_in_a_server_is_a_member_with_no_more_than_is_told(
    said: dict[str, object],
) -> None:
    """P03, P15: known by the id; what is missing gives no roles and no permissions."""
    found = interaction(guild_id=str(ORCHARD), channel_id=str(HEARTH), **said)
    assert isinstance(found.user, discord.Member)
    assert (found.user.id, found.user._roles.tolist()) == (ADA, [])
    assert found.permissions == discord.Permissions.none()


def test_what_is_named_in_an_interaction_is_filled_in_too() -> None:
    """P15's kind: people, members and messages that options and menus are about."""
    bare: dict[str, object] = {"id": "1", "username": "ada"}
    resolved = {
        "users": {"1": bare},
        "members": {"1": {"roles": None}},
        "messages": {"2": {"id": "2", "author": bare, "embeds": None}},
        "channels": {"10": {"type": 99}},
        "roles": None,
    }
    data = filled("INTERACTION_CREATE", {"data": {"resolved": resolved, "options": None}})["data"]
    person = bare | {"discriminator": "0", "avatar": None}
    assert data == {
        "resolved": {
            "users": {"1": person},
            "members": {"1": {"roles": [], "flags": 0}},
            "messages": {"2": {"id": "2", "author": person}},
            "channels": {"10": {"type": 99}},
        }
    }


def test_a_message_has_no_nulls_but_the_one_that_says_something() -> None:
    """P12's kind: "referenced_message" of nothing is a message that is gone."""
    bare: dict[str, object] = {"id": "1", "global_name": "Ada"}
    data = {
        "content": None,
        "embeds": None,
        "author": bare,
        "member": {"nick": None},
        "mentions": [None, bare | {"member": {"roles": None}}],
        "referenced_message": None,
    }
    person = bare | {"username": "Ada", "discriminator": "0", "avatar": None}
    member = {"roles": [], "flags": 0}
    assert filled("MESSAGE_CREATE", data) == {
        "content": "",
        "author": person,
        "member": member,
        "mentions": [person | {"member": member}],
        "referenced_message": None,
    }
    quoting = {"referenced_message": {"author": {"id": "1"}}}
    (quoted,) = filled("MESSAGE_UPDATE", quoting).values()
    assert quoted["author"]["username"] == "unknown"
