"""Permission bits and their sums for a member in a channel (Discord "Permissions", overwrites)."""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.playground.entities import Channel, Guild


class Permission(IntFlag):
    """The permissions that the playground checks."""

    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    MANAGE_GUILD = 1 << 5
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38


ALL = (1 << 53) - 1
"""Every permission, known or not: what an owner or administrator has."""

EVERYONE = int(
    Permission.ADD_REACTIONS
    | Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
)
"""What @everyone has in a new guild here; MENTION_EVERYONE is left out, as it should be."""

IN_DM = int(
    Permission.ADD_REACTIONS
    | Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.MENTION_EVERYONE
    | Permission.USE_APPLICATION_COMMANDS
)
"""What both sides have in a direct conversation."""


def guild_permissions(guild: Guild, user_id: int) -> int:
    """Return the permissions of a member in the whole guild; 0 for a stranger."""
    member = guild.members.get(user_id)
    if member is None:
        return 0
    if guild.owner_id == user_id:
        return ALL
    total = guild.roles[guild.id].permissions
    for role_id in member.roles:
        role = guild.roles.get(role_id)
        total |= role.permissions if role else 0
    return ALL if total & Permission.ADMINISTRATOR else total


def channel_permissions(guild: Guild | None, channel: Channel, user_id: int) -> int:
    """Return the permissions of a user in a channel (a thread: pass its parent).

    Order of overwrites: @everyone, then all roles together, then the member.
    """
    if guild is None:
        return IN_DM if user_id in channel.recipients else 0
    total = guild_permissions(guild, user_id)
    if total == ALL or user_id not in guild.members:
        return total
    everyone = channel.overwrites.get(guild.id)
    if everyone:
        total = (total & ~everyone.deny) | everyone.allow
    roles = [channel.overwrites[r] for r in guild.members[user_id].roles if r in channel.overwrites]
    for overwrite in roles:
        total &= ~overwrite.deny
    for overwrite in roles:
        total |= overwrite.allow
    own = channel.overwrites.get(user_id)
    if own:
        total = (total & ~own.deny) | own.allow
    return total
