"""What Discord's ids are called, as far as the connection knows; an id without a name stays one."""

from __future__ import annotations

from typing import Final, Protocol

import discord

from compiler.normalize import one_line

MAX_NAMED: Final = 50


class Names(Protocol):
    """Looks names up without asking anybody."""

    def channel(self, channel_id: str) -> str:
        """Name a channel, or whom a direct message is with; empty when it is not known."""

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

    The inspector's pages are written in a thread. What changes there meanwhile raises RuntimeError
    in whoever goes through it, and then the id stands alone.
    """

    def __init__(self, client: discord.Client) -> None:
        self._client = client

    def channel(self, channel_id: str) -> str:
        """Name a channel or thread, ``#hearth``, or a direct message, ``DM with Bo``."""
        number = _number(channel_id)
        try:
            found = self._client.get_channel(number)
            if found is None or isinstance(found, discord.DMChannel):
                partner = self._partner(number, found)
                return _shown(f"DM with {partner}") if partner else ""
        except RuntimeError:
            return ""
        name = getattr(found, "name", None)
        return _shown(f"#{name}") if isinstance(name, str) else ""

    def _partner(self, channel_id: int, direct: discord.DMChannel | None) -> str:
        """Name whom a direct message is with, by who wrote there where Discord did not say."""
        if direct is not None and direct.recipient is not None:
            return direct.recipient.display_name
        return next(
            (
                said.author.display_name
                for said in self._client.cached_messages
                if said.channel.id == channel_id and said.guild is None and not said.author.bot
            ),
            "",
        )

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


def _shown(name: str) -> str:
    """Give a chosen name in one line that may stand in a code block."""
    return one_line(name).replace("`", "'")


def _number(prefixed: str) -> int:
    digits = prefixed.rpartition(":")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
