"""What Discord's ids are called, as far as the connection knows; the page shows both."""

from __future__ import annotations

from typing import Final, Protocol

import discord

MAX_NAMED: Final = 50


class Names(Protocol):
    """Looks names up without asking anybody."""

    def channel(self, channel_id: str) -> str:
        """Name a channel; empty when it is not known."""

    def person(self, user_id: str) -> str:
        """Name a person; empty when not known."""

    def channels_named(self, text: str) -> tuple[str, ...]:
        """Find channels whose name holds a text."""


class NoNames:
    """Knows nobody."""

    def channel(self, channel_id: str) -> str:
        """Give nothing."""
        del channel_id
        return ""

    def person(self, user_id: str) -> str:
        """Give nothing."""
        del user_id
        return ""

    def channels_named(self, text: str) -> tuple[str, ...]:
        """Find nothing."""
        del text
        return ()


class DiscordNames:
    """The names in a client's memory.

    Pages are written in a thread. What changes there meanwhile raises RuntimeError in whoever goes
    through it, and then the id stands alone.
    """

    def __init__(self, client: discord.Client) -> None:
        self._client = client

    def channel(self, channel_id: str) -> str:
        """Name a channel or thread."""
        try:
            found = self._client.get_channel(_number(channel_id))
        except RuntimeError:
            return ""
        name = getattr(found, "name", None)
        return f"#{name}" if isinstance(name, str) else ""

    def person(self, user_id: str) -> str:
        """Name a person, by what was said last where Discord tells of no members."""
        number = _number(user_id)
        user = self._client.get_user(number)
        if user is not None:
            return user.display_name
        try:
            said = (each.author for each in self._client.cached_messages)
            return next((author.display_name for author in said if author.id == number), "")
        except RuntimeError:
            return ""

    def channels_named(self, text: str) -> tuple[str, ...]:
        """Find channels by a part of their name, whatever its case."""
        wanted = text.strip().lstrip("#").casefold()
        if not wanted:
            return ()
        found = (
            f"discord:{channel.id}"
            for channel in self._client.get_all_channels()
            if wanted in channel.name.casefold()
        )
        return tuple(each for each, _ in zip(found, range(MAX_NAMED), strict=False))


def _number(prefixed: str) -> int:
    digits = prefixed.rpartition(":")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
