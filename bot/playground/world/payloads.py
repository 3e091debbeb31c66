"""Discord's JSON of each entity (API v10)."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING
from urllib.parse import quote

from bot.playground.entities import FOR_VOICES, MessageKind
from bot.playground.world.permissions import Permission

if TYPE_CHECKING:
    from bot.playground.entities import (
        Attachment,
        Channel,
        Command,
        Guild,
        Member,
        Message,
        Payload,
        Role,
        User,
    )
    from bot.playground.world.state import World


def iso(seconds: float) -> str:
    """Return a time as Discord writes it."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()


def user(who: User) -> Payload:
    """Return a user object."""
    return {
        "id": str(who.id),
        "username": who.username,
        "global_name": who.global_name,
        "discriminator": "0000" if who.bot else "0",
        "avatar": None,
        "bot": who.bot,
        "public_flags": 0,
    }


def member(world: World, guild: Guild, user_id: int, *, with_user: bool = True) -> Payload:
    """Return a member object; inside messages it comes without its user."""
    found = guild.members.get(user_id)
    body: Payload = {
        "nick": found.nick if found else None,
        "avatar": None,
        "roles": [str(role_id) for role_id in found.roles] if found else [],
        "joined_at": iso(found.joined_at) if found else None,
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
        "communication_disabled_until": None,
    }
    if with_user:
        body["user"] = user(world.users[user_id])
    return body


def role(item: Role) -> Payload:
    """Return a role object."""
    return {
        "id": str(item.id),
        "name": item.name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "icon": None,
        "unicode_emoji": None,
        "position": item.position,
        "permissions": str(item.permissions),
        "managed": False,
        "mentionable": item.mentionable,
        "flags": 0,
    }


def channel(world: World, item: Channel, *, viewer_id: int | None = None) -> Payload:
    """Return a channel object; ``viewer_id`` (the bot unless said) is left out of recipients."""
    viewer = world.bot.id if viewer_id is None else viewer_id
    body: Payload = {
        "id": str(item.id),
        "type": int(item.kind),
        "flags": 0,
        "last_message_id": None if item.last_message_id is None else str(item.last_message_id),
    }
    if item.is_dm:
        others = [other for other in item.recipients if other != viewer]
        return body | {"recipients": [user(world.users[other]) for other in others]}
    body |= {
        "guild_id": str(item.guild_id),
        "name": item.name,
        "parent_id": None if item.parent_id is None else str(item.parent_id),
        "nsfw": False,
        "rate_limit_per_user": 0,
    }
    if item.is_thread:
        return body | _thread_fields(item, viewer)
    if item.kind in FOR_VOICES:
        body |= {"bitrate": 64_000, "user_limit": 0}
    return body | {
        "topic": item.topic,
        "position": item.position,
        "permission_overwrites": [
            {"id": str(o.id), "type": o.kind, "allow": str(o.allow), "deny": str(o.deny)}
            for o in item.overwrites.values()
        ],
        "available_tags": [],
    }


def _thread_fields(item: Channel, viewer: int) -> Payload:
    body: Payload = {
        "owner_id": str(item.owner_id),
        "message_count": len(item.messages),
        "total_message_sent": len(item.messages),
        "member_count": len(item.thread_members),
        "thread_metadata": {
            "archived": item.archived,
            "locked": item.locked,
            "auto_archive_duration": item.auto_archive_minutes,
            "archive_timestamp": iso(item.changed_at),
            "create_timestamp": iso(item.changed_at),
        },
    }
    if viewer in item.thread_members:
        body["member"] = thread_member(item, viewer)
    return body


def thread_member(item: Channel, user_id: int) -> Payload:
    """Return a thread member object."""
    return {
        "id": str(item.id),
        "user_id": str(user_id),
        "join_timestamp": iso(item.changed_at),
        "flags": 0,
    }


def guild(item: Guild) -> Payload:
    """Return a guild object without channels and members."""
    return {
        "id": str(item.id),
        "name": item.name,
        "icon": None,
        "owner_id": str(item.owner_id),
        "roles": [role(r) for r in item.roles.values()],
        "emojis": [],
        "stickers": [],
        "features": [],
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 1,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "nsfw_level": 0,
        "system_channel_flags": 0,
        "premium_tier": 0,
        "premium_progress_bar_enabled": False,
        "preferred_locale": "en-US",
    }


def guild_create(world: World, item: Guild, *, all_members: bool = False) -> Payload:
    """Return the data of GUILD_CREATE; without the members intent only the bot is in it."""
    seen = [c for c in world.channels_of(item) if world.sees(c, world.bot.id)]
    threads = [t for t in world.threads_of(item) if world.sees(t, world.bot.id)]
    listed = list(item.members) if all_members else [world.bot.id]
    bot_member: Member | None = item.members.get(world.bot.id)
    return guild(item) | {
        "joined_at": iso(bot_member.joined_at if bot_member else world.clock()),
        "large": False,
        "unavailable": False,
        "member_count": len(item.members),
        "members": [member(world, item, user_id) for user_id in listed],
        "channels": [channel(world, c) for c in seen],
        "threads": [channel(world, t) for t in threads],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def attachment_address(world: World, channel_id: int, item: Attachment) -> str:
    """Return where a file is downloaded from."""
    name = quote(item.filename, safe="")
    return f"{world.origin}/attachments/{channel_id}/{item.id}/{name}?ex={int(item.expires_at):x}"


def attachment(world: World, channel_id: int, item: Attachment) -> Payload:
    """Return an attachment object."""
    address = attachment_address(world, channel_id, item)
    body: Payload = {
        "id": str(item.id),
        "filename": item.filename,
        "size": len(item.data),
        "url": address,
        "proxy_url": address,
        "content_type": item.content_type,
        "flags": item.flags,
    }
    if item.description is not None:
        body["description"] = item.description
    if item.ephemeral:
        body["ephemeral"] = True
    if item.duration_secs is not None:
        body |= {"duration_secs": item.duration_secs, "waveform": "AAAA"}
    return body


def emoji(text: str) -> Payload:
    """Return a partial emoji object of a character or of ``name:id``."""
    name, colon, number = text.partition(":")
    return {"id": number if colon else None, "name": name, "animated": False}


def message(world: World, item: Message, *, shallow: bool = False) -> Payload:
    """Return a message object as REST gives it.

    ``shallow`` leaves out the message that it answers, as Discord does one level down.
    """
    place = world.place(world.channels[item.channel_id])
    body: Payload = {
        "id": str(item.id),
        "channel_id": str(item.channel_id),
        "type": item.type,
        "author": user(world.users[item.author_id]),
        "content": item.content,
        "timestamp": iso(item.created_at),
        "edited_timestamp": None if item.edited_at is None else iso(item.edited_at),
        "tts": item.tts,
        "flags": item.flags,
        "pinned": item.pinned,
        "mention_everyone": item.mention_everyone,
        "mentions": [_mentioned(world, place.guild, u) for u in item.mentions],
        "mention_roles": [str(role_id) for role_id in item.mention_roles],
        "attachments": [attachment(world, item.channel_id, a) for a in item.attachments],
        "embeds": item.embeds,
        "components": item.components,
    }
    if item.reactions:
        body["reactions"] = [_reaction(world, e, who) for e, who in item.reactions.items()]
    if item.nonce is not None:
        body["nonce"] = item.nonce
    if item.reply_to is not None:
        body |= _reply_fields(world, item, shallow=shallow)
    if item.thread_id in world.channels:
        body["thread"] = channel(world, world.channels[item.thread_id])
    return body | item.extra


def _mentioned(world: World, of: Guild | None, user_id: int) -> Payload:
    body = user(world.users[user_id])
    if of is not None and user_id in of.members:
        body["member"] = member(world, of, user_id, with_user=False)
    return body


def _reaction(world: World, text: str, who: list[int]) -> Payload:
    return {
        "emoji": emoji(text),
        "count": len(who),
        "count_details": {"burst": 0, "normal": len(who)},
        "me": world.bot.id in who,
        "me_burst": False,
        "burst_colors": [],
    }


def _reply_fields(world: World, item: Message, *, shallow: bool) -> Payload:
    here = world.channels[item.channel_id]
    body: Payload = {
        "message_reference": {
            "type": 0,
            "message_id": str(item.reply_to),
            "channel_id": str(item.channel_id),
        }
    }
    if here.guild_id is not None:
        body["message_reference"]["guild_id"] = str(here.guild_id)
    if not shallow and item.type in {MessageKind.REPLY, MessageKind.CONTEXT_MENU_COMMAND}:
        answered = here.messages.get(item.reply_to or 0)
        body["referenced_message"] = answered and message(world, answered, shallow=True)
    return body


def message_event(world: World, item: Message) -> Payload:
    """Return the data of MESSAGE_CREATE and MESSAGE_UPDATE: with guild, member and kind."""
    here = world.channels[item.channel_id]
    body = message(world, item) | {"channel_type": int(here.kind)}
    if here.guild_id is not None:
        body["guild_id"] = str(here.guild_id)
        guild_ = world.guilds[here.guild_id]
        if item.author_id in guild_.members and "webhook_id" not in item.extra:
            body["member"] = member(world, guild_, item.author_id, with_user=False)
    return body


def without_content(data: Payload, bot_id: int) -> Payload:
    """Return a message event as it looks without the message content intent.

    A message that it answers is emptied by the same rule: unless it is the bot's or mentions it.
    """
    bare = data | {"content": "", "embeds": [], "attachments": [], "components": []}
    for key in ("poll", "message_snapshots"):
        bare.pop(key, None)
    answered = data.get("referenced_message")
    if answered:
        about = {answered["author"]["id"], *(u["id"] for u in answered["mentions"])}
        if str(bot_id) not in about:
            bare["referenced_message"] = without_content(answered, bot_id)
    return bare


def application(world: World) -> Payload:
    """Return the bot's application."""
    return {
        "id": str(world.bot.id),
        "name": world.bot.display_name,
        "icon": None,
        "description": "",
        "summary": "",
        "bot_public": False,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": sum(flag for bit, flag in _INTENT_FLAGS.items() if world.intents_allowed & bit),
        "owner": user(next(iter(u for u in world.users.values() if not u.bot), world.bot)),
        "team": None,
        "bot": user(world.bot),
        "tags": [],
        "redirect_uris": [],
        "approximate_guild_count": sum(world.bot.id in g.members for g in world.guilds.values()),
    }


_INTENT_FLAGS = {1 << 8: 1 << 13, 1 << 1: 1 << 15, 1 << 15: 1 << 19}
"""Privileged intent to the application flag of a small bot that has its switch on."""


def command(item: Command, application_id: int) -> Payload:
    """Return an application command object."""
    body = item.body | {
        "id": str(item.id),
        "application_id": str(application_id),
        "name": item.name,
        "type": item.type,
        "version": str(item.version),
    }
    if item.guild_id is not None:
        body["guild_id"] = str(item.guild_id)
    return body


def resolved_channel(world: World, item: Channel, user_id: int) -> Payload:
    """Return a channel as it stands in the resolved data of an interaction."""
    body = channel(world, item) | {"permissions": str(world.permissions(item, user_id))}
    body.pop("permission_overwrites", None)
    return body


def app_permissions(world: World, item: Channel) -> str:
    """Return what the bot may do in a channel, as interactions carry it."""
    bits = world.permissions(item, world.bot.id)
    return str(bits & ((1 << 53) - 1) or int(Permission.SEND_MESSAGES))


def guild_field(item: Channel) -> Payload:
    """Return the ``guild_id`` of an event in a channel; nothing in a DM."""
    return {} if item.guild_id is None else {"guild_id": str(item.guild_id)}
