"""A thread of its own for each question, in the channels where the owner wants that (P14).

Discord gives a thread that is made from a message the message's own id, and makes at most one of
it. So whatever becomes of the request, there is one place to look at: a thread that was made
although the answer said no is found, and nothing is made twice. Where there is none in the end,
the question is answered in its channel, as if threads were off. A channel where none can be made,
for want of a permission or because of a rate limit, is left alone for a while.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import discord
import regex
import structlog

from bot import ingress
from bot.alarms import OwnerAlarms
from bot.sending import FAILURES, describe_failure
from compiler.request import MessageInput

OPEN_SECONDS: Final = 6.0
"""How long a question may wait for its thread: one repetition of the library's is within."""
LOOK_SECONDS: Final = 6.0
PAUSE_SECONDS: Final = 600.0
"""How long a channel without the permission is not asked again."""
SHORT_PAUSE_SECONDS: Final = 60.0
"""How long after Discord was in trouble."""
TITLE_CHARS: Final = 80
"""Discord allows 100; a list of threads shows fewer."""
MAX_REMEMBERED: Final = 1_000
_FORBIDDEN: Final = 403
_EXISTS: Final = 160004
_GRAPHEME: Final = regex.compile(r"\X")
_log = structlog.get_logger(__name__)


class AutoThreads:
    """Opens the threads, and finds those that are there."""

    def __init__(
        self, *, alarms: OwnerAlarms | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._alarms = alarms
        self._monotonic = monotonic
        self._paused: dict[int, float] = {}
        """Channels and when they are asked again."""
        self._placed: dict[int, None] = {}
        """Messages that count as said in their threads."""

    async def open(self, message: discord.Message, title: str) -> None:
        """Put a message into a thread of its own, if there can be one; its lane is held.

        What was asked is then said in that thread: ``message.channel`` is the thread.
        """
        channel = message.channel
        if not isinstance(channel, discord.TextChannel) or message.guild is None:
            return
        if _thread_of(message) is None and self._monotonic() >= self._paused.get(channel.id, 0.0):
            await self._make(message, channel, title)
        thread = _thread_of(message)
        if thread is not None:
            if len(self._placed) >= MAX_REMEMBERED:
                del self._placed[next(iter(self._placed))]
            self._placed[message.id] = None
            message.channel = thread

    def place(self, message: discord.Message) -> None:
        """Take a message that was put into a thread for one that was said there."""
        thread = _thread_of(message)
        if thread is not None and message.id in self._placed:
            message.channel = thread

    async def _make(
        self, message: discord.Message, channel: discord.TextChannel, title: str
    ) -> None:
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                made = await message.create_thread(name=title)
        except FAILURES as failure:
            _log.warning(
                "thread.not_opened",
                channel_id=ingress.prefixed(channel.id),
                failure=describe_failure(failure),
            )
            self._pause(channel, failure)
            if not _is_refusal(failure):
                await self._look(message)
            return
        _know(message.guild, made)

    async def _look(self, message: discord.Message) -> None:
        """Ask for a thread that may have been made although no answer said so."""
        guild = message.guild
        if guild is None or guild.get_thread(message.id) is not None:
            return  # the gateway told of it meanwhile
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                found = await guild.fetch_channel(message.id)
        except (*FAILURES, discord.InvalidData) as failure:
            _log.info("thread.not_there", failure=describe_failure(failure))
            return
        if isinstance(found, discord.Thread):
            _know(guild, found)

    def _pause(self, channel: discord.TextChannel, failure: BaseException) -> None:
        seconds = 0.0
        if isinstance(failure, discord.RateLimited):
            seconds = failure.retry_after
        elif isinstance(failure, discord.HTTPException) and failure.status == _FORBIDDEN:
            seconds = PAUSE_SECONDS
            if self._alarms is not None:
                self._alarms.no_threads(ingress.prefixed(channel.id))
        elif not isinstance(failure, discord.HTTPException) or failure.code != _EXISTS:
            seconds = SHORT_PAUSE_SECONDS
        if seconds:
            if len(self._paused) >= MAX_REMEMBERED:
                self._paused.clear()
            self._paused[channel.id] = self._monotonic() + seconds


def channel_above(channel: object, message_id: int) -> discord.TextChannel | None:
    """Give the channel where a message stands of which this thread was made; None elsewhere.

    A forum's post begins inside its thread.
    """
    if not isinstance(channel, discord.Thread) or channel.id != message_id:
        return None
    return channel.parent if isinstance(channel.parent, discord.TextChannel) else None


def opened_for(channel: object, message_id: int) -> discord.Thread | None:
    """Give the thread that the imp opened for a question in a channel, if it is known."""
    guild = getattr(channel, "guild", None)
    if not isinstance(guild, discord.Guild):
        return None
    thread = guild.get_thread(message_id)
    mine = getattr(guild.me, "id", 0)  # not there before the server is, whatever its type says
    return thread if thread is not None and thread.owner_id == mine else None


def _thread_of(message: discord.Message) -> discord.Thread | None:
    return None if message.guild is None else message.guild.get_thread(message.id)


def title_of(message: MessageInput) -> str:
    """Make a thread's name of what was asked: one line, short, and naming nobody by a mark."""
    text = message.text
    for mark, meaning in message.mentions:
        name = "" if meaning.endswith("(you)") else meaning.rsplit(" (", 1)[0]
        text = text.replace(mark, name)
    line = ingress.one_line(discord.utils.remove_markdown(text), limit_chars=2 * TITLE_CHARS)
    short = _cut(discord.utils.escape_mentions(line).strip())
    return short or f"A talk with {message.author_label}"[:TITLE_CHARS]


def _cut(line: str) -> str:
    """Keep the beginning, at a word where there is one, never half a character."""
    if len(line) <= TITLE_CHARS:
        return line
    kept = ""
    for found in _GRAPHEME.finditer(line):
        if found.end() > TITLE_CHARS - 1:
            break
        kept = line[: found.end()]
    words = kept.rsplit(" ", 1)[0]
    return f"{words if len(words) > TITLE_CHARS // 2 else kept}…"


def _is_refusal(failure: BaseException) -> bool:
    """Tell whether Discord surely made nothing."""
    if isinstance(failure, discord.RateLimited):
        return True
    return isinstance(failure, discord.HTTPException) and failure.status == _FORBIDDEN


def _know(guild: discord.Guild | None, thread: discord.Thread) -> None:
    if guild is not None and guild.get_thread(thread.id) is None:
        guild._add_thread(thread)  # noqa: SLF001  (as the library does when Discord tells of one)
