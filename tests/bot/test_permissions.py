"""Owners are owners by id."""

from __future__ import annotations

from typing import Any

import discord
from discord import app_commands

from bot.permissions import for_everyone, is_for_everyone, is_owner, owner_alone, owner_only
from config.settings import DiscordSettings, Settings


def test_owners_are_known_by_id_only() -> None:
    """P03: authority comes from the settings' ids."""
    settings = Settings(discord=DiscordSettings(owners=("1", "7")))
    assert is_owner(1, settings)
    assert is_owner(7, settings)
    assert not is_owner(2, settings)
    assert not is_owner(1, Settings())


async def nothing(interaction: discord.Interaction) -> None:
    """Do nothing."""


def command(name: str) -> app_commands.Command[Any, ..., None]:
    return app_commands.Command(name=name, description="A command", callback=nothing)


async def menu(interaction: discord.Interaction, message: discord.Message) -> None:
    """Do nothing."""


def test_a_command_without_a_mark_is_the_owners() -> None:
    """Fail closed: what nobody marked, and what nobody knows, is refused."""
    assert not is_for_everyone(owner_only(command("all")))
    assert not is_for_everyone(command("all"))
    assert not is_for_everyone(None)


def test_the_nearest_mark_counts() -> None:
    """A group for everyone may hold a command of the owner's."""
    group = for_everyone(app_commands.Group(name="notes", description="Notes"))
    own, everybodys = command("own"), command("all")
    group.add_command(own)
    group.add_command(owner_alone(everybodys))
    assert is_for_everyone(group)
    assert is_for_everyone(own)
    assert not is_for_everyone(everybodys)
    assert group.default_permissions is None


def test_a_context_menu_can_be_everyones() -> None:
    """It has no group above it."""
    item = app_commands.ContextMenu(name="Keep this", callback=menu)
    assert not is_for_everyone(item)
    assert is_for_everyone(for_everyone(item))
