"""Reactions to messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.playground.entities import Event
from bot.playground.errors import refusal
from bot.playground.world import payloads
from bot.playground.world.permissions import Permission

if TYPE_CHECKING:
    from bot.playground.entities import Message, Payload
    from bot.playground.world.state import World

REACTIONS_LIMIT = 20
"""Different emojis on one message."""


class Reactions:
    """The reactions of a world's messages."""

    def __init__(self, world: World) -> None:
        self._world = world

    def add(self, user_id: int, message: Message, emoji: str) -> None:
        """Add a reaction; a second one of the same kind by the same user changes nothing."""
        channel = self._world.channel(message.channel_id)
        self._world.require(channel, user_id, Permission.READ_MESSAGE_HISTORY)
        if channel.archived:
            raise refusal(50083)
        if not emoji:
            raise refusal(10014)
        if emoji not in message.reactions:
            self._world.require(channel, user_id, Permission.ADD_REACTIONS)
            if len(message.reactions) >= REACTIONS_LIMIT:
                raise refusal(30010)
        who = message.reactions.setdefault(emoji, [])
        if user_id not in who:
            who.append(user_id)
            self._tell_reaction("MESSAGE_REACTION_ADD", message, user_id, emoji)

    def remove(self, actor_id: int, user_id: int, message: Message, emoji: str) -> None:
        """Take a reaction away; another's needs MANAGE_MESSAGES."""
        channel = self._world.channel(message.channel_id)
        if actor_id != user_id:
            self._world.require(channel, actor_id, Permission.MANAGE_MESSAGES)
        who = message.reactions.get(emoji, [])
        if user_id not in who:
            raise refusal(10014)
        who.remove(user_id)
        if not who:
            del message.reactions[emoji]
        self._tell_reaction("MESSAGE_REACTION_REMOVE", message, user_id, emoji)

    def clear(self, actor_id: int, message: Message, emoji: str | None = None) -> None:
        """Take all reactions away, or all of one emoji."""
        channel = self._world.channel(message.channel_id)
        self._world.require(channel, actor_id, Permission.MANAGE_MESSAGES)
        data: Payload = {"channel_id": str(channel.id), "message_id": str(message.id)}
        data |= payloads.guild_field(channel)
        name = "MESSAGE_REACTION_REMOVE_ALL"
        if emoji is None:
            message.reactions.clear()
        else:
            message.reactions.pop(emoji, None)
            name = "MESSAGE_REACTION_REMOVE_EMOJI"
            data |= {"emoji": payloads.emoji(emoji)}
        self._emit(name, message, data)

    def _tell_reaction(self, name: str, message: Message, user_id: int, emoji: str) -> None:
        channel = self._world.channel(message.channel_id)
        data: Payload = {
            "user_id": str(user_id),
            "channel_id": str(channel.id),
            "message_id": str(message.id),
            "message_author_id": str(message.author_id),
            "emoji": payloads.emoji(emoji),
            "burst": False,
            "type": 0,
            **payloads.guild_field(channel),
        }
        if channel.guild_id is not None and name.endswith("ADD"):
            guild = self._world.guilds[channel.guild_id]
            data["member"] = payloads.member(self._world, guild, user_id)
        self._emit(name, message, data)

    def _emit(self, name: str, message: Message, data: Payload) -> None:
        channel = self._world.channel(message.channel_id)
        self._world.emit(
            Event(
                name=name,
                data=data,
                guild_id=channel.guild_id,
                channel_id=channel.id,
                message=message,
            )
        )
