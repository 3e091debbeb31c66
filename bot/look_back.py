"""What was deleted or edited in a channel while nobody listened, found before it is quoted (P13).

Discord tells of a deletion once, to whoever is connected. So before the first answer of each fresh
connection the latest kept messages of a channel are held against those that stand there now. What
is not there any more is forgotten as if we had heard of it, and what reads otherwise is corrected;
with both goes what a warm session was told of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import discord
import structlog

from bot import ingress
from bot.missed import PAGE_MESSAGES, Channel, may_read
from bot.sending import FAILURES, describe_failure, is_passing
from compiler.errors import SafeError
from compiler.request import ChannelId, HistoryMessage, MessageId
from sessions.store.history import HistoryStore, storable

LOOK_SECONDS: Final = 10.0
"""How long an answer may be held up by this."""
MAX_PAGES: Final = 3
"""Where little is kept of what is said, the kept messages may lie years apart."""
LEAST_KEPT: Final = 100
"""So many are looked for in any case: a warm session holds more than a history shows."""
MAX_LOOKED: Final = 10_000
Gone: TypeAlias = Callable[[int, int], Awaitable[object]]
"""Called with the ids of a channel and of a message that is not there any more."""
Edited: TypeAlias = Callable[[int, int, str], Awaitable[bool]]
"""Called with those ids and the words that stand there now; tells whether they are new."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What was read of a channel, by the ids of its messages; all that is not older than a point.

    A text is empty where a message shows other things than words.
    """

    texts: dict[int, str]
    since: int


class LookBack:
    """Compares what is kept of channels with what stands there, once a connection."""

    def __init__(
        self,
        history: HistoryStore,
        *,
        connection: Callable[[], int],
        gone: Gone,
        edited: Edited,
    ) -> None:
        """Take the collaborators; ``connection`` numbers the connections that began afresh."""
        self._history = history
        self._connection = connection
        self._gone = gone
        self._edited = edited
        self._looked: dict[int, int] = {}

    async def ensure(self, channel: Channel, *, before: int, count: int) -> None:
        """Correct the latest messages kept of a channel, ``count`` or more; its lane is held.

        What fails in passing holds up no answer: the next one looks again.
        """
        now = self._connection()
        if self._looked.get(channel.id) == now or not may_read(channel):
            return
        try:
            looked = await self._look(channel, before=before, count=count)
        except SafeError as error:
            _log.warning("look_back.unread", channel_id=channel.id, code=str(error.code))
            return
        if looked:
            if len(self._looked) >= MAX_LOOKED:
                self._looked.clear()
            self._looked[channel.id] = now

    async def _look(self, channel: Channel, *, before: int, count: int) -> bool:
        place = ChannelId(ingress.prefixed(channel.id))
        recent = await self._history.recent(
            place, max(count, LEAST_KEPT), before=MessageId(ingress.prefixed(before))
        )
        # What a thread was made of stands in the channel above.
        above = [each for each in recent if ingress.snowflake(each.message_id) == channel.id]
        kept = [each for each in recent if each not in above]
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                there = await _read_back(channel, before=before, kept=kept) if kept else None
        except FAILURES as failure:
            _log.warning("look_back.unread", channel_id=place, failure=describe_failure(failure))
            if is_passing(failure):
                return False
            there = None
        if there is not None and (there.texts or _surely_read(channel)):
            await self._correct(channel.id, kept, there)
        return not above or await self._look_above(channel, above)

    async def _look_above(self, thread: Channel, above: list[HistoryMessage]) -> bool:
        """Correct the message that a thread was made of; False if nobody knows how it stands."""
        parent_id = getattr(thread, "parent_id", None)
        if parent_id is None:
            return True
        texts: dict[int, str] = {}
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                raw = await thread._state.http.get_message(parent_id, thread.id)  # noqa: SLF001  (as below)
            texts[thread.id] = raw["content"]
        except discord.NotFound:
            pass  # it does not stand there
        except FAILURES as failure:
            _log.warning(
                "look_back.unread", channel_id=thread.id, failure=describe_failure(failure)
            )
            return not is_passing(failure)
        await self._correct(parent_id, above, Standing(texts=texts, since=0))
        return True

    async def _correct(self, channel_id: int, kept: list[HistoryMessage], there: Standing) -> None:
        gone = edited = 0
        for entry in kept:
            number = ingress.snowflake(entry.message_id)
            text = there.texts.get(number)
            if text is None and number >= there.since:
                gone += 1
                await self._gone(channel_id, number)
            elif text and not entry.is_imp and storable(text) != entry.text:
                edited += await self._edited(channel_id, number, text)
        if gone or edited:
            _log.info(
                "look_back.corrected",
                channel_id=ingress.prefixed(channel_id),
                gone=gone,
                edited=edited,
            )


async def _read_back(channel: Channel, *, before: int, kept: list[HistoryMessage]) -> Standing:
    """Read what stands in a channel, towards the oldest message that is kept."""
    oldest = min(ingress.snowflake(entry.message_id) for entry in kept)
    texts: dict[int, str] = {}
    for _ in range(MAX_PAGES):
        page: list[Any] = await channel._state.http.logs_from(  # noqa: SLF001  (``missed`` says why)
            channel.id, PAGE_MESSAGES, before=before
        )
        texts |= {int(raw["id"]): raw["content"] for raw in page}
        if len(page) < PAGE_MESSAGES:
            return Standing(texts=texts, since=0)
        before = min(texts)
        if before <= oldest:
            break
    return Standing(texts=texts, since=before)


def _surely_read(channel: Channel) -> bool:
    """Tell whether an empty history is one: who may not read any is shown nothing, not refused."""
    if isinstance(channel, discord.DMChannel):
        return True
    guild = getattr(channel, "guild", None)
    return guild is not None and guild.me is not None  # then the permissions were asked
