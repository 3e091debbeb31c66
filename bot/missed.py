"""What stands in a channel behind a point, read over REST page by page, and who said it.

Limits in age and in count bound what is read; what lies beyond them is counted, not lost silently.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import discord
import structlog

from bot import ingress
from bot.logs import describe
from bot.sending import FAILURES, is_passing
from sessions.limits import CatchUpSettings

SCANNED_PER_KEPT: Final = 10
"""So many times the limit in count are looked at, to keep the latest and to count the rest."""
PAGE_MESSAGES: Final = 100
"""The most that Discord gives at once."""
LEAST_SCANNED: Final = 1_000
_EPOCH_MS: Final = 1_420_070_400_000
Channel: TypeAlias = (
    "discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread"
    " | discord.DMChannel | discord.PartialMessageable"
)
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Messages of a channel that are not looked at any more."""

    channel_id: int
    too_old: bool
    too_many: int
    """How many were beyond the limit in count; at least so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """What was read of a channel."""

    messages: tuple[discord.Message, ...]
    """Oldest first."""
    answered: frozenset[int]
    """The ids of those to which a message of ours replies: our records of that may be lost."""
    left_out: LeftOut | None
    """What is beyond the limits, if anything is."""


async def read_missed(
    channel: Channel, cursor: int, *, before: int | None, limits: CatchUpSettings, now: float
) -> Missed:
    """Read what is behind ``cursor``, within the limits in age and count.

    Args:
        channel: the place that is read.
        cursor: the id of the last message that is through.
        before: a message from which on nothing is wanted.
        limits: ``[catch_up]``.
        now: the wall clock in seconds.
    """
    oldest = snowflake_at(now - limits.max_age_seconds)
    too_old = oldest > cursor and await _holds_between(channel, cursor, oldest)
    kept: deque[discord.Message] = deque(maxlen=limits.max_messages)
    scanned = 0
    async for message in _history(
        channel,
        after=max(cursor, oldest),
        before=before,
        limit=max(LEAST_SCANNED, limits.max_messages * SCANNED_PER_KEPT),
    ):
        kept.append(message)
        scanned += 1
    too_many = scanned - len(kept)
    left_out = None
    if too_old or too_many:
        left_out = LeftOut(channel_id=channel.id, too_old=too_old, too_many=too_many)
        _log.warning(
            "catch_up.left_out",
            channel_id=ingress.prefixed(channel.id),
            too_old=too_old,
            too_many=too_many,
        )
    return Missed(messages=tuple(kept), answered=_answered(channel, kept), left_out=left_out)


class People:
    """Members of a server as REST gives them: a message read over REST names a mere user."""

    def __init__(self) -> None:
        self._known: dict[int, discord.Member | None] = {}

    async def complete(self, message: discord.Message) -> None:
        """Put the member in the author's place, so that roles count as in a live message.

        Raises:
            Exception: one of ``sending.PASSING``; nobody knows yet what the author may.
        """
        author, guild = message.author, message.guild
        if guild is None or author.bot or isinstance(author, discord.Member):
            return
        if author.id not in self._known:
            try:
                self._known[author.id] = await guild.fetch_member(author.id)
            except FAILURES as failure:
                if is_passing(failure):
                    raise
                self._known[author.id] = None  # who left the server has no roles in it
        member = self._known[author.id]
        if member is not None:
            message.author = member


async def _history(
    channel: Channel, *, after: int, before: int | None, limit: int
) -> AsyncIterator[discord.Message]:
    """Read messages page by page, oldest first; one that the library cannot read hides no other.

    The library's own iterator ends at the first message that it does not understand.
    """
    state = channel._state  # noqa: SLF001  (the way of the library's own iterator)
    scanned = 0
    while scanned < limit:
        page: list[Any] = await state.http.logs_from(channel.id, PAGE_MESSAGES, after=after)
        for raw in sorted(page, key=lambda each: int(each["id"])):
            after = int(raw["id"])
            if before is not None and after >= before:
                return
            try:
                message = state.create_message(channel=channel, data=raw)
            except Exception as error:  # noqa: BLE001  (foreign data; the others are read on)
                _log.warning("catch_up.unreadable", message_id=after, **describe(error))
                continue
            yield message
        scanned += len(page)
        if len(page) < PAGE_MESSAGES:
            return


def _answered(channel: Channel, messages: Iterable[discord.Message]) -> frozenset[int]:
    me = channel._state.self_id  # noqa: SLF001  (as above)
    replies = (each.reference for each in messages if each.author.id == me)
    return frozenset(each.message_id for each in replies if each is not None and each.message_id)


async def _holds_between(channel: Channel, cursor: int, oldest: int) -> bool:
    async for message in channel.history(limit=1, after=discord.Object(cursor), oldest_first=True):
        return message.id < oldest
    return False


def may_read(channel: Channel) -> bool:
    """Ask the permissions that are known; without them Discord would only refuse."""
    if isinstance(channel, discord.DMChannel | discord.PartialMessageable):
        return True
    me = getattr(channel.guild, "me", None)
    if me is None:
        return True
    try:
        allowed = channel.permissions_for(me)
    except discord.ClientException:  # a thread whose channel is not known
        return True
    return allowed.read_messages and allowed.read_message_history


def snowflake_at(seconds: float) -> int:
    """Give the least id of Discord's at a moment of the wall clock."""
    return max(0, int(seconds * 1000) - _EPOCH_MS) << 22
