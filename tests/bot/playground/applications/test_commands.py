"""Who is shown which command."""

from __future__ import annotations

from bot.playground.applications.commands import Registry
from bot.playground.ids import ADA, BO, CY, DIRECT, HEARTH, HELPERS, ORCHARD, PIER
from bot.playground.world.permissions import Permission
from bot.playground.world.state import World, default_world


def shown(world: World, registry: Registry, user: int, channel: int) -> set[str]:
    return {c.name for c in registry.visible(world.user(user), world.channel(channel))}


def body(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "description": "x", **more}


def test_default_member_permissions() -> None:
    """ "0" is for administrators, bits for those who have them all, null for everyone."""
    world = default_world()
    registry = Registry(world)
    manage = str(int(Permission.MANAGE_MESSAGES))
    registry.overwrite(
        None,
        [
            body("all"),
            body("admin", default_member_permissions="0"),
            body("number", default_member_permissions=0),
            body("manage", default_member_permissions=manage),
        ],
    )
    assert shown(world, registry, ADA, HEARTH) == {"all", "admin", "number", "manage"}
    assert shown(world, registry, CY, HEARTH) == {"all"}
    world.guild(ORCHARD).roles[HELPERS].permissions = int(Permission.MANAGE_MESSAGES)
    assert shown(world, registry, CY, HEARTH) == {"all", "manage"}
    assert shown(world, registry, BO, DIRECT[BO]) == {"all", "admin", "number", "manage"}
    stored = {c.name: c.body["default_member_permissions"] for c in registry.listed(None)}
    assert stored == {"all": None, "admin": "0", "number": "0", "manage": manage}


def test_contexts_and_guild_lists() -> None:
    """A command shows where its contexts say; a guild's own only there."""
    world = default_world()
    registry = Registry(world)
    registry.overwrite(None, [body("guilds", contexts=[0]), body("dms", contexts=[1])])
    registry.overwrite(ORCHARD, [body("orchard")])
    assert shown(world, registry, BO, HEARTH) == {"guilds", "orchard"}
    assert shown(world, registry, BO, PIER) == {"guilds"}
    assert shown(world, registry, BO, DIRECT[BO]) == {"dms"}
    assert shown(world, registry, BO, world.dm(BO, CY).id) == set()


def test_a_guilds_command_wins_over_a_global_one_of_its_name() -> None:
    """Both are shown; using the name without choosing takes the guild's."""
    world = default_world()
    registry = Registry(world)
    (everywhere,) = registry.overwrite(None, [body("same")])
    (here,) = registry.overwrite(ORCHARD, [body("same")])
    assert registry.find(world.channel(HEARTH), "same", 1) is here
    assert registry.find(world.channel(PIER), "same", 1) is everywhere
    assert registry.find(world.channel(PIER), "other", 1) is None
