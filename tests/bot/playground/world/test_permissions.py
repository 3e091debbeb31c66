"""The sum of permissions, in Discord's order."""

from __future__ import annotations

from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HEARTH, HELPERS, ORCHARD
from bot.playground.world.permissions import (
    ALL,
    EVERYONE,
    Permission,
    channel_permissions,
    guild_permissions,
)
from bot.playground.world.state import default_world

SEND = Permission.SEND_MESSAGES


def test_owner_and_administrator_have_everything_and_strangers_nothing() -> None:
    """The owner needs no role; an administrator's overwrites do not count."""
    world = default_world()
    guild = world.guild(ORCHARD)
    assert guild_permissions(guild, ADA) == ALL
    assert guild_permissions(guild, BO) == EVERYONE
    assert guild_permissions(guild, 42) == 0
    guild.roles[HELPERS].permissions = int(Permission.ADMINISTRATOR)
    world.set_overwrite(HEARTH, CY, kind=1, deny=SEND)
    assert world.permissions(world.channel(HEARTH), CY) == ALL


def test_overwrites_count_everyone_then_roles_then_member() -> None:
    """A role's allow beats everyone's deny; the member's own word is the last."""
    world = default_world()
    guild, channel = world.guild(ORCHARD), world.channel(HEARTH)
    world.set_overwrite(channel, ORCHARD, kind=0, deny=SEND)
    assert not channel_permissions(guild, channel, BO) & SEND
    world.set_overwrite(channel, HELPERS, kind=0, allow=SEND)
    assert channel_permissions(guild, channel, CY) & SEND
    world.set_overwrite(channel, CY, kind=1, deny=SEND)
    assert not channel_permissions(guild, channel, CY) & SEND


def test_a_dm_belongs_to_its_two_people() -> None:
    """Nobody else may do anything in it."""
    world = default_world()
    dm = world.channel(DIRECT[BO])
    assert channel_permissions(None, dm, BO) & SEND
    assert channel_permissions(None, dm, EMBER) & SEND
    assert channel_permissions(None, dm, ADA) == 0
