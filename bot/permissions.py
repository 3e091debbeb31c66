"""Who may give which command: owners, by their user id and nothing else (P03), or everyone.

A command is the owner's unless it, or the nearest group above it, is marked ``for_everyone``.
Discord hides the owner's commands from everybody but administrators (``owner_only``); the check
decides, also for those who see them, who guess their names, or who ask for autocomplete. It cannot
hide one command of a group: within a group for everyone, ``owner_alone`` marks the owner's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

import discord
from discord import app_commands

from config.settings import Settings

OWNERS_ONLY = "Only my owner can use this."
_FOR_EVERYONE: Final = "for_everyone"
_Command = TypeVar("_Command")
Invoked: TypeAlias = (
    "app_commands.Command[Any, ..., Any] | app_commands.Group | app_commands.ContextMenu"
)
_Invoked = TypeVar("_Invoked", bound=Invoked)


def is_owner(user_id: int, settings: Settings) -> bool:
    """Tell whether a user is an owner."""
    return str(user_id) in settings.discord.owners


def is_administrator(member: discord.Member) -> bool:
    """Ask the server; one that Discord has not told us of yet makes nobody one."""
    knows_roles = bool(getattr(member.guild, "roles", ()))  # None for a server that is not cached
    return knows_roles and member.guild_permissions.administrator


def owner_only(command: _Command) -> _Command:
    """Mark a command, a group or a context menu as the owner's: hidden, in servers and DMs."""
    return _in_servers_and_dms(app_commands.default_permissions()(command))


def for_everyone(command: _Invoked) -> _Invoked:
    """Mark a command, a group or a context menu as everyone's, in servers and DMs."""
    command.extras[_FOR_EVERYONE] = True
    return _in_servers_and_dms(command)


def owner_alone(command: _Invoked) -> _Invoked:
    """Mark a command within a group for everyone as the owner's."""
    command.extras[_FOR_EVERYONE] = False
    return command


def is_for_everyone(command: Invoked | None) -> bool:
    """Tell whose a command is; the mark nearest to it counts, and without one it is the owner's."""
    while command is not None:
        if _FOR_EVERYONE in command.extras:
            return command.extras[_FOR_EVERYONE] is True
        command = None if isinstance(command, app_commands.ContextMenu) else command.parent
    return False


def _in_servers_and_dms(command: _Command) -> _Command:
    marks: tuple[Callable[[_Command], _Command], ...] = (
        app_commands.allowed_contexts(guilds=True, dms=True, private_channels=False),
        app_commands.allowed_installs(guilds=True, users=False),
    )
    for mark in marks:
        command = mark(command)
    return command


async def refuse(interaction: discord.Interaction) -> None:
    """Turn a stranger away: a friendly ephemeral line, or no choices for autocomplete."""
    if interaction.type is discord.InteractionType.autocomplete:
        await interaction.response.autocomplete([])
    else:
        await interaction.response.send_message(OWNERS_ONLY, ephemeral=True)
