"""Who is mentioned and who is pinged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.playground.ids import ADA, BO, CY, DEE, DIRECT, EMBER, HEARTH, HELPERS, ORCHARD
from bot.playground.world.bodies import AllowedMentions
from bot.playground.world.mentions import Mentions, find_mentions
from bot.playground.world.permissions import Permission
from bot.playground.world.state import World, default_world

NONE = AllowedMentions()


def found(
    text: str,
    allowed: AllowedMentions | None = None,
    *,
    world: World | None = None,
    channel: int = HEARTH,
    replied_to: int | None = None,
    author: int = EMBER,
) -> Mentions:
    world = world or default_world()
    return find_mentions(
        text,
        world.place(world.channel(channel)),
        author,
        known_users=world.users,
        allowed=allowed,
        replied_to=replied_to,
    )


def test_users_in_order_once_and_only_known_ones() -> None:
    """Both spellings count; unknown ids do not."""
    mentions = found(f"<@{CY}> <@!{BO}> <@{CY}> <@42>")
    assert mentions.users == (CY, BO)
    assert mentions.pinged == (CY, BO)


@pytest.mark.parametrize("text", [f"`<@{BO}>`", f"```\n<@{BO}> @everyone\n```", f"\\<@{BO}"])
def test_code_mentions_nobody(text: str) -> None:
    """Code spans and blocks are shown as they are."""
    assert found(text) == Mentions()


def test_everyone_needs_the_permission() -> None:
    """Without MENTION_EVERYONE it is only text; with it, all but the author are pinged."""
    world = default_world()
    assert found("@here", world=world) == Mentions()
    world.guild(ORCHARD).roles[ORCHARD].permissions |= Permission.MENTION_EVERYONE
    loud = found("@here", world=world)
    assert loud.everyone
    assert set(loud.pinged) == {ADA, BO, CY, DEE}
    assert found("@here", NONE, world=world) == Mentions()


def test_a_role_pings_its_members_when_it_may_be_mentioned() -> None:
    """An unmentionable role is shown and pings nobody."""
    world = default_world()
    assert found(f"<@&{HELPERS}>", world=world).pinged == (CY,)
    world.guild(ORCHARD).roles[HELPERS].mentionable = False
    mentions = found(f"<@&{HELPERS}>", world=world)
    assert (mentions.roles, mentions.pinged) == ((HELPERS,), ())


def test_reply_pings_unless_told_otherwise() -> None:
    """Left out, the replied author is pinged; given without ``replied_user``, not."""
    assert found("x", replied_to=BO).pinged == (BO,)
    assert found("x", NONE, replied_to=BO).pinged == ()
    assert found("x", AllowedMentions(replied_user=True), replied_to=BO).pinged == (BO,)


def test_dm_has_no_roles_and_no_everyone() -> None:
    """In a DM only its two people can be pinged."""
    mentions = found(f"@everyone <@&{HELPERS}> <@{ADA}> <@{BO}>", channel=DIRECT[BO])
    assert (mentions.everyone, mentions.roles, mentions.pinged) == (False, (), (BO,))


@given(st.text(alphabet=f"<@!&>`@everyonehr {ADA}{HELPERS}", max_size=200))
def test_closed_allowed_mentions_never_ping(text: str) -> None:
    """P09: an empty rule lets nothing through, whatever the text."""
    assert found(text, NONE, replied_to=BO) == Mentions()
