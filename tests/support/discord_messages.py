"""Real discord.py models from gateway payloads: one bot, server Orchard, its people."""

from __future__ import annotations

from typing import Any, TypeAlias

import discord
from discord.state import ConnectionState

State: TypeAlias = ConnectionState[discord.Client]

ME, ADA, BO, CY, DEE = 1000, 1, 2, 3, 4
ORCHARD, HEARTH, THREAD, HELPERS, KEEPERS, DM = 20, 10, 11, 30, 31, 90
NAMES = {ME: "Ember", ADA: "Ada", BO: "Bo", CY: "Cy", DEE: "Dee"}
WHEN = "2026-11-29T23:16:35.123000+00:00"


def user(user_id: int, **changes: object) -> dict[str, object]:
    """A user as Discord sends it."""
    name = NAMES.get(user_id, f"user{user_id}")
    return {
        "id": str(user_id),
        "username": name.lower(),
        "global_name": name,
        "discriminator": "0",
        "avatar": None,
        "bot": user_id == ME,
    } | changes


def member(*roles: int, nick: str | None = None) -> dict[str, object]:
    """The member part of a message in a server."""
    return {
        "roles": [str(role) for role in roles],
        "nick": nick,
        "joined_at": WHEN,
        "deaf": False,
        "mute": False,
        "flags": 0,
    }


def role(role_id: int, name: str, permissions: int = 0) -> dict[str, object]:
    """A role as Discord sends it."""
    return {
        "id": str(role_id),
        "name": name,
        "permissions": str(permissions),
        "position": 1,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": False,
        "mentionable": True,
        "flags": 0,
    }


def make_state() -> State:
    """Make the connection state of a logged-in bot that is in Orchard."""
    client = discord.Client(intents=discord.Intents.none())
    state: State = client._connection
    state.user = discord.ClientUser(state=state, data=user(ME))  # type: ignore[arg-type]
    channel = {"id": str(HEARTH), "type": 0, "name": "hearth", "position": 0}
    thread = {
        "id": str(THREAD),
        "type": 11,
        "name": "embers",
        "parent_id": str(HEARTH),
        "owner_id": str(ADA),
        "guild_id": str(ORCHARD),
        "last_message_id": None,
        "message_count": 0,
        "member_count": 1,
        "thread_metadata": {
            "archived": False,
            "auto_archive_duration": 60,
            "archive_timestamp": WHEN,
        },
    }
    payload: Any = {
        "id": str(ORCHARD),
        "name": "Orchard",
        "owner_id": str(ADA),
        "roles": [
            role(ORCHARD, "@everyone"),
            role(HELPERS, "helpers"),
            role(KEEPERS, "keepers", 8),
        ],
        "channels": [channel | {"permission_overwrites": [], "nsfw": False}],
        "threads": [thread],
        "members": [],
        "member_count": 4,
        "features": [],
    }
    state._add_guild(discord.Guild(data=payload, state=state))
    return state


def message_payload(text: str = "", *, author: object = BO, **changes: object) -> dict[str, object]:
    """A message of Orchard's #hearth, or of a direct message with ``guild_id=None``."""
    payload: dict[str, object] = {
        "id": "500",
        "channel_id": str(HEARTH),
        "guild_id": str(ORCHARD),
        "author": user(int(str(author))),
        "member": member(),
        "content": text,
        "timestamp": WHEN,
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "type": 0,
        "flags": 0,
    } | changes
    if payload["guild_id"] is None:
        del payload["guild_id"], payload["member"]
    return payload


def make_message(state: State, text: str = "", **changes: object) -> discord.Message:
    """Make the model that discord.py would hand to ``on_message``."""
    data: Any = message_payload(text, **changes)
    channel: Any = state._get_guild_channel(data)[0]
    return discord.Message(state=state, channel=channel, data=data)


def direct(state: State, text: str, **changes: object) -> discord.Message:
    """Make a direct message."""
    return make_message(state, text, channel_id=str(DM), guild_id=None, **changes)


def reply_to(author: int, text: str, **changes: object) -> dict[str, object]:
    """The fields that make a payload a reply."""
    replied = message_payload(text, author=author, id="499") | changes
    return {
        "type": 19,
        "message_reference": {
            "type": 0,
            "message_id": "499",
            "channel_id": str(HEARTH),
            "guild_id": str(ORCHARD),
        },
        "referenced_message": replied,
    }


def attachment(**changes: object) -> dict[str, object]:
    """An uploaded file as Discord describes it."""
    return {
        "id": "700",
        "filename": "message.txt",
        "size": 5300,
        "url": "https://cdn.example.org/700",
        "proxy_url": "https://cdn.example.org/700",
        "content_type": "text/plain; charset=utf-8",
    } | changes
