"""The world as the chat page shows it to one person; pure.

Messages keep Discord's own form (``payloads.message``) with what only this person sees added:
whether it is for them alone, whether it called them, which reactions are theirs, and addresses of
files that the page's own origin serves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from bot.playground.entities import Channel, ChannelKind, Guild, Message, Payload
from bot.playground.world import payloads
from bot.playground.world.permissions import Permission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.playground.world.state import World

KINDS = {
    ChannelKind.TEXT: "text",
    ChannelKind.ANNOUNCEMENT: "text",
    ChannelKind.DM: "dm",
    ChannelKind.FORUM: "forum",
    ChannelKind.PUBLIC_THREAD: "thread",
    ChannelKind.PRIVATE_THREAD: "thread",
    ChannelKind.ANNOUNCEMENT_THREAD: "thread",
}
"""What the page draws; other kinds are not shown."""


def world_view(world: World, viewer_id: int, *, online: bool, banner: str) -> Payload:
    """Give everything around the messages: people, servers, conversations."""
    mine = [guild for guild in world.guilds.values() if viewer_id in guild.members]
    bots = {user.id for user in world.users.values() if user.bot}
    dms = [c for c in world.dms_of(viewer_id) if not bots.isdisjoint(c.recipients)]
    return {
        "me": str(viewer_id),
        "banner": banner,
        "bot": {"id": str(world.bot.id), "name": world.bot.display_name, "online": online},
        "people": people(world),
        "guilds": [_guild(world, guild, viewer_id) for guild in mine],
        "dms": [_channel(world, channel, viewer_id) for channel in dms],
    }


def people(world: World) -> list[Payload]:
    """Give everyone, the bot too; the owner of the first server is the bot's owner."""
    owner = next((guild.owner_id for guild in world.guilds.values()), None)
    return [
        {"id": str(u.id), "name": u.display_name, "bot": u.bot, "owner": u.id == owner}
        for u in world.users.values()
    ]


def _guild(world: World, guild: Guild, viewer_id: int) -> Payload:
    channels = [*world.channels_of(guild), *world.threads_of(guild)]
    nicks = {str(m.user_id): m.nick for m in guild.members.values() if m.nick}
    return {
        "id": str(guild.id),
        "name": guild.name,
        "members": [str(user_id) for user_id in guild.members],
        "nicks": nicks,
        "roles": [
            {"id": str(role.id), "name": role.name, "mentionable": role.mentionable}
            for role in guild.roles.values()
            if role.id != guild.id
        ],
        "channels": [
            _channel(world, channel, viewer_id)
            for channel in channels
            if channel.kind in KINDS and world.sees(channel, viewer_id)
        ],
    }


def _channel(world: World, channel: Channel, viewer_id: int) -> Payload:
    writing = Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES
    may = bool(world.permissions(channel, viewer_id) & writing) and not channel.locked
    return {
        "id": str(channel.id),
        "kind": KINDS[channel.kind],
        "name": _name(world, channel, viewer_id),
        "topic": channel.topic or "",
        "guild": _text(channel.guild_id),
        "parent": _text(channel.parent_id),
        "archived": channel.archived,
        "members": [str(user_id) for user_id in channel.recipients],
        "last": _text(channel.last_message_id) or "0",
        "can_send": may and channel.kind is not ChannelKind.FORUM,
    }


def _name(world: World, channel: Channel, viewer_id: int) -> str:
    if not channel.is_dm:
        return channel.name
    other = next((u for u in channel.recipients if u != viewer_id), viewer_id)
    return world.users[other].display_name


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def history(
    world: World, channel: Channel, viewer_id: int, *, before: int | None, limit: int
) -> Payload:
    """Give a page of messages, oldest first, with the viewer's own ephemeral ones in place."""
    whispers = [
        message
        for message in world.ephemerals.values()
        if message.channel_id == channel.id and message.only_for == viewer_id
    ]
    found = [
        message
        for message in _in_order([*channel.messages.values(), *whispers])
        if before is None or message.id < before
    ]
    return {
        "messages": [message_view(world, message, viewer_id) for message in found[-limit:]],
        "more": len(found) > limit,
    }


def _in_order(messages: Iterable[Message]) -> list[Message]:
    return sorted(messages, key=lambda message: message.id)


def message_view(world: World, message: Message, viewer_id: int) -> Payload:
    """Give one message as this person sees it."""
    body = payloads.message(world, message) | {
        "ephemeral": message.ephemeral,
        "pinged": viewer_id in message.pinged,
        "attachments": [
            payloads.attachment(world, message.channel_id, item)
            | {"url": file_path(message.channel_id, item.id, item.filename)}
            for item in message.attachments
        ],
    }
    for shown, who in zip(body.get("reactions", ()), message.reactions.values(), strict=False):
        shown["me"] = viewer_id in who
    return body


def file_path(channel_id: int, attachment_id: int, filename: str) -> str:
    """Give where the page fetches a file, relative to itself."""
    return f"files/{channel_id}/{attachment_id}/{quote(filename, safe='', errors='replace')}"
