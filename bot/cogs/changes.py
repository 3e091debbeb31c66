"""Edits and deletions: what is known of a message is what stands there now (P13).

A message that waits for its turn gets its new words, or none if it is gone. One whose turn runs is
cut off when it is deleted, and answered as it was when it is edited. Whatever may repeat later what
no longer stands there ends: a warm session that was given it is followed by a fresh one.
"""

from __future__ import annotations

import asyncio
import time

import discord
import structlog
from discord.ext import commands

from bot import ingress
from bot.answering import Answering
from bot.auto_threads import AutoThreads
from bot.client import InglenookBot
from bot.ingress import is_blank
from bot.lanes import Lanes
from bot.memory.desk import MemoryDesk
from bot.proxies import Proxies
from bot.reading import Reader
from bot.rule_notices import RULE_DELETED, RULE_EDITED, RuleNotices
from bot.sending import FAILURES, describe_failure
from compiler.request import ChannelId, MessageId, TurnId
from sessions.registry import Registry
from sessions.store.history import HistoryStore

FETCH_SECONDS = 30.0
_log = structlog.get_logger(__name__)


class Changes(commands.Cog):
    """Hears what becomes of messages."""

    def __init__(
        self,
        bot: InglenookBot,
        *,
        reader: Reader,
        registry: Registry,
        history: HistoryStore,
        notices: RuleNotices,
        answering: Answering,
        desk: MemoryDesk,
        own_threads: AutoThreads,
        proxies: Proxies,
        inward: Lanes,
    ) -> None:
        self._bot = bot
        self._reader = reader
        self._registry = registry
        self._history = history
        self._notices = notices
        self._answering = answering
        self._desk = desk
        self._own_threads = own_threads
        self._proxies = proxies
        self._inward = inward

    @commands.Cog.listener()
    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Keep the history true; a message that still waits gets its new words."""
        if {"content", "author", "type"} <= payload.data.keys():
            await self._edited(payload.message)
        # else an unfurled link or a pin: nobody's words changed

    @commands.Cog.listener()
    async def on_partial_edit(self, channel_id: int, message_id: int) -> None:
        """Look up a message of which Discord told nothing but its new words."""
        place = self._bot.get_channel(channel_id) or self._bot.get_partial_messageable(channel_id)
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                message = await place.fetch_message(message_id)  # type: ignore[union-attr]  # messages stand in no other kind of place
        except FAILURES as failure:
            _log.warning("edit.unread", message_id=message_id, failure=describe_failure(failure))
            return
        await self._edited(message)

    @commands.Cog.listener()
    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """Forget what was deleted; a message that still waits gets no turn."""
        await self._deleted(payload.channel_id, payload.message_id)

    @commands.Cog.listener()
    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Forget all that was deleted at once."""
        for message_id in sorted(payload.message_ids):
            await self._deleted(payload.channel_id, message_id)

    async def forget(self, channel_id: int, message_id: int) -> None:
        """Let nothing of a message that is gone be known any more; its channel's lane is held.

        Raises:
            StoreUnavailable: it cannot be forgotten now.
        """
        turn_id = TurnId(f"{ingress.PROVIDER}:message:{message_id}")
        # The thread that was made of a message has the message's id.
        places = [ChannelId(ingress.prefixed(number)) for number in (channel_id, message_id)]
        waited = any(self._registry.withdraw(turn_id, place) for place in places)
        said = await self._history.get(MessageId(ingress.prefixed(message_id)))
        known = await self._history.delete(MessageId(ingress.prefixed(message_id)))
        if said is not None and not said.deleted:
            for place_id in places:
                self._registry.unquote(said.entry, place_id)
        if known and not waited:
            self._answering.forget(message_id)
            for place_id in places:
                self._registry.forget(turn_id, place_id)
                await self._registry.forget_kept(place_id)
            await self._desk.take_back(MessageId(ingress.prefixed(message_id)))

    async def correct(self, channel_id: int, message_id: int, text: str) -> bool:
        """Let a message be known by its new words alone; its channel's lane is held.

        Returns:
            Whether it was known by others.

        Raises:
            StoreUnavailable: it cannot be corrected now.
        """
        known_as = MessageId(ingress.prefixed(message_id))
        if not await self._history.edit(known_as, text):
            return False
        turn_id = TurnId(f"{ingress.PROVIDER}:message:{message_id}")
        for number in (channel_id, message_id):  # as in ``forget``
            place_id = ChannelId(ingress.prefixed(number))
            await self._registry.outdate(known_as, turn_id, place_id)
        return True

    async def _edited(self, message: discord.Message) -> None:
        if message.author.id == self._reader.me:
            return  # a draft of ours that grows
        async with self._inward.lane(message.channel.id):
            channel_id = message.channel.id
            self._own_threads.place(message)
            await self._amend(message)
            # Only now: whose turn began before it had its new words is found, at hand or ended.
            changed = await self.correct(channel_id, message.id, ingress.history_text(message))
        if changed and message.edited_at is not None:  # Discord's own changes set no time
            await self._notices.stands(message, RULE_EDITED)

    async def _amend(self, message: discord.Message) -> None:
        """Give a message that waits its new words, whomever they address by now."""
        turn_id = TurnId(f"{ingress.PROVIDER}:message:{message.id}")
        place = ChannelId(ingress.prefixed(message.channel.id))
        if not self._registry.waits(turn_id, place):
            return
        facts = self._reader.facts(message)
        inbound = self._reader.inbound(message, facts, time.monotonic_ns())
        inbound = await self._reader.with_files(message, inbound)
        if is_blank(inbound.message):
            self._registry.withdraw(turn_id, place)
        else:
            self._registry.amend(inbound)

    async def _deleted(self, channel_id: int, message_id: int) -> None:
        async with self._inward.lane(channel_id):
            await self.forget(channel_id, message_id)
        self._proxies.gone(message_id)
        place = self._bot.get_partial_messageable(channel_id)
        await self._notices.stands(place.get_partial_message(message_id), RULE_DELETED)
