"""Threads that nobody told us of: asked for once, so that their channel's settings hold in them.

Discord tells of a thread when it is made or comes to life again, but not of each that a server has
at a start or that we may see since a moment ago. The library then knows a message's place by its
id alone. Without the channel of a thread its settings would be anybody's: a thread of an enabled
channel would be silent, and one of a disabled channel open where the default is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import discord
import structlog

from bot import ingress
from bot.auto_threads import channel_above
from bot.sending import FAILURES, describe_failure, is_passing
from compiler.request import MessageId
from sessions.inbound import SeenMessage
from sessions.store.history import HistoryStore

ASK_SECONDS: Final = 10.0
"""How long a message may wait for its place to be known."""
MAX_ASKED: Final = 1000
_log = structlog.get_logger(__name__)


class Starters:
    """Knows the messages that threads were made of, also those said before we listened."""

    def __init__(
        self, history: HistoryStore, seen: Callable[[discord.Message], SeenMessage]
    ) -> None:
        self._history = history
        self._seen = seen
        self._asked: dict[int, None] = {}

    async def learn(self, channel: object) -> None:
        """Keep the message that a thread was made of, exactly as it stands; once for a thread.

        Raises:
            StoreUnavailable: it cannot be kept.
        """
        if not isinstance(channel, discord.Thread) or channel.id in self._asked:
            return
        if len(self._asked) >= MAX_ASKED:
            self._asked.clear()
        self._asked[channel.id] = None
        above = channel_above(channel, channel.id)
        known = await self._history.get(MessageId(ingress.prefixed(channel.id)))
        if above is None or known is not None:
            return
        try:
            async with asyncio.timeout(ASK_SECONDS):
                begun = await above.fetch_message(channel.id)
        except FAILURES as failure:  # made of no message, or of one that is gone
            _log.info("thread.starter_unknown", failure=describe_failure(failure))
            return
        await self._history.append(self._seen(begun))


class UnknownThreads:
    """Makes threads known to the library's cache that it does not have."""

    def __init__(self) -> None:
        self._asked: dict[int, None] = {}
        """Places asked for already: what is no thread, or is hidden, is not asked for again."""

    async def make_known(self, message: discord.Message) -> None:
        """Put the thread in the place of a bare id; the lane of the channel is held."""
        guild, channel = message.guild, message.channel
        if guild is None or not isinstance(channel, discord.PartialMessageable):
            return
        known = guild.get_thread(channel.id) or await self._ask(guild, channel.id)
        if known is not None:
            message.channel = known

    async def _ask(self, guild: discord.Guild, channel_id: int) -> discord.Thread | None:
        if channel_id in self._asked:
            return None
        if len(self._asked) >= MAX_ASKED:
            self._asked.clear()
        self._asked[channel_id] = None
        try:
            async with asyncio.timeout(ASK_SECONDS):
                found = await guild.fetch_channel(channel_id)
        except (*FAILURES, discord.InvalidData) as failure:
            _log.info(
                "thread.unknown",
                channel_id=ingress.prefixed(channel_id),
                failure=describe_failure(failure),
            )
            if not isinstance(failure, discord.InvalidData) and is_passing(failure):
                self._asked.pop(channel_id, None)  # the next message there asks again
            return None
        if not isinstance(found, discord.Thread):
            return None
        guild._add_thread(found)  # noqa: SLF001  (as the library does when Discord tells of one)
        return found
