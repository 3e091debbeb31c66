"""What was said while nobody listened, asked for over REST and handed on in its order (P05).

A connection that begins afresh has missed whatever came before it. Until a channel has been asked
for that, nothing of it is handled: its live messages wait in the channel's lane, so they come
after what was missed. Each channel is asked once for each fresh connection, when its first message
arrives or when the sweep comes to it, whichever is first; a channel in which nothing was said is
not asked at all, which keeps a start with a thousand channels short.

Cursors move in memory with each message that is through, and are written in the background: they
only say where asking begins, and the history tells what was seen. Where both are older than what
was done, because a copy was put back or a disk lost the last of them, the channel itself tells:
what we replied to is not answered again (P04).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final, Protocol, TypeAlias

import discord
import structlog

from bot import ingress
from bot.lanes import Lanes
from bot.logs import describe
from bot.missed import Channel, LeftOut, People, may_read, read_missed, snowflake_at
from bot.sending import FAILURES, PASSING, describe_failure, is_passing
from compiler.errors import SafeError
from compiler.request import ChannelId
from sessions.limits import CatchUpSettings
from sessions.store.cursors import HOME, Cursor, CursorStore

SWEEPERS: Final = 4
"""Channels that are asked at a time; Discord allows fifty requests a second over all."""
READ_SECONDS: Final = 60.0
"""Reading one channel, with the waits that discord.py makes for rate limits."""
KEEP_EVERY_SECONDS: Final = 2.0
RETRY_SECONDS: Final = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Waits before channels are asked again that could not be read in passing."""
MAX_DIRECT: Final = 100
"""Direct messages asked for, those with the latest words first."""
_MARGIN_SECONDS: Final = 120.0
"""How far this machine's clock may be ahead of Discord's without a loss; doubles are told."""
Spoken: TypeAlias = (
    "discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread"
)
_CHANNELS: Final = (
    discord.TextChannel,
    discord.VoiceChannel,
    discord.StageChannel,
    discord.Thread,
    discord.DMChannel,
)
_log = structlog.get_logger(__name__)


class Handle(Protocol):
    """Takes a message that was missed."""

    async def __call__(self, message: discord.Message, *, answered: bool) -> bool:
        """Take a message, and whether there is an answer to it, whatever our records say.

        Returns:
            Whether it is through: written down, or in no need of that.
        """


class CatchUp:
    """The cursors of all channels, and the reading behind them."""

    def __init__(
        self,
        store: CursorStore,
        *,
        settings: Callable[[], CatchUpSettings],
        now: Callable[[], float],
        lanes: Lanes,
    ) -> None:
        """Take the collaborators.

        Args:
            store: where cursors rest.
            settings: ``[catch_up]``, asked again each time.
            now: the wall clock in seconds; Discord's ids are made of it.
            lanes: one for each channel; ``ensure`` is called inside, ``sweep`` enters them.
        """
        self._store = store
        self._settings = settings
        self._now = now
        self._lanes = lanes
        self._cursors: dict[int, Cursor] | None = None
        self._base = 0
        self._asked: set[int] = set()
        self._moved: dict[int, Cursor] = {}
        self._began = 0
        self._closed = asyncio.Event()
        self._whole = True
        """Whether every channel that this connection asked has answered."""
        self.connection = 0
        """How many connections have begun afresh."""
        self.left_out: list[LeftOut] = []
        """What the owner has to be told of."""
        self.lost: list[int] = []
        """Channels that are gone, or closed to us."""

    @property
    def closed(self) -> bool:
        """Whether the bot is to stop: no further channel is asked."""
        return self._closed.is_set()

    def close(self) -> None:
        """Ask no further channel."""
        self._closed.set()

    async def load(self) -> None:
        """Read the cursors; a home without any begins now, and owes nothing to the past.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        found = {each.channel_id: each for each in await self._store.load()}
        home = found.pop(HOME, None)
        if home is None:
            home = Cursor(channel_id=HOME, last=snowflake_at(self._now()))
            await self._store.advance([home])
        self._base = home.last
        self._cursors = {ingress.snowflake(each.channel_id): each for each in found.values()}

    def begin(self) -> None:
        """Note that a connection begins afresh: every channel may have missed something."""
        self.connection += 1
        self._asked.clear()
        self._whole = True
        self._began = snowflake_at(self._now() - _MARGIN_SECONDS)

    async def ensure(self, channel: Channel, handle: Handle, *, before: int | None = None) -> None:
        """Hand on what a channel missed, once for each fresh connection; its lane is held.

        ``before`` is a live message that waits, which is not asked for again.
        """
        if self._cursors is None or channel.id in self._asked or self.closed:
            return
        self._asked.add(channel.id)
        if not self._settings().enabled or not may_read(channel):
            return
        try:
            async with asyncio.timeout(READ_SECONDS):
                missed = await read_missed(
                    channel,
                    self._cursor(channel.id),
                    before=before,
                    limits=self._settings(),
                    now=self._now(),
                )
        except FAILURES as failure:
            _log.warning(
                "catch_up.unread",
                channel_id=ingress.prefixed(channel.id),
                failure=describe_failure(failure),
            )
            if is_passing(failure):
                self.ask_again(channel)
            return
        if missed.left_out is not None:
            self.left_out.append(missed.left_out)
        people = People()
        for message in missed.messages:
            try:
                await people.complete(message)
            except PASSING:  # who said it decides whether it is answered
                self.ask_again(channel)
                return
            if not await handle(message, answered=message.id in missed.answered):
                self.ask_again(channel)
                return
            self.through(message)
        if missed.messages:
            _log.info(
                "catch_up.read",
                channel_id=ingress.prefixed(channel.id),
                messages=len(missed.messages),
            )

    def ask_again(self, channel: discord.abc.MessageableChannel) -> None:
        """Leave a cursor where it is: the channel's next message asks again, or a sweep does."""
        self._asked.discard(channel.id)
        self._whole = False

    def through(self, message: discord.Message) -> None:
        """Move the cursor of a channel behind a message that is recorded, or needs no record."""
        channel_id = message.channel.id
        if self._cursors is None or channel_id not in self._asked:
            return
        known = self._cursors.get(channel_id)
        if known is not None and known.last >= message.id:
            return
        cursor = Cursor(
            channel_id=ChannelId(ingress.prefixed(channel_id)),
            last=message.id,
            is_dm=isinstance(message.channel, discord.DMChannel),
        )
        self._cursors[channel_id] = self._moved[channel_id] = cursor

    async def sweep(
        self,
        bot: discord.Client,
        prepare: Callable[[Channel], Awaitable[None]],
        *,
        also: Iterable[int] = (),
        direct_with: Iterable[int] = (),
    ) -> None:
        """Ask every channel that may have missed something.

        Args:
            bot: knows the servers' channels and their last messages.
            prepare: called with each channel inside its lane; it is to call ``ensure``.
            also: channels that are to be looked at in any case.
            direct_with: people whose direct messages are looked for even if none came yet.
        """
        began, people = self._began, tuple(direct_with)
        for wait in (*RETRY_SECONDS, None):
            self._whole = True
            await self._sweep_once(bot, prepare, also=tuple(also), direct_with=people)
            if self._whole or wait is None or await self._closes_within(wait):
                break
            if began != self._began:
                return  # a later connection sweeps for itself
        all_here = not any(guild.unavailable for guild in bot.guilds)
        if began == self._began and self._whole and all_here and not self.closed:
            # Everything before this connection is through: what is first seen later begins here.
            self._moved[0] = Cursor(channel_id=HOME, last=began)
        await self.keep()

    async def _closes_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._closed.wait()
        except TimeoutError:
            return False
        return True

    async def _sweep_once(
        self,
        bot: discord.Client,
        prepare: Callable[[Channel], Awaitable[None]],
        *,
        also: tuple[int, ...],
        direct_with: tuple[int, ...],
    ) -> None:
        waiting = deque(self._candidates(bot, also))
        direct = deque(direct_with if self._settings().enabled else ())

        async def work() -> None:
            while (waiting or direct) and not self.closed:
                if waiting:
                    channel = await self._resolve(bot, waiting.popleft())
                else:
                    channel = await _direct(bot, direct.popleft())
                if channel is not None:
                    async with self._lanes.lane(channel.id):
                        await _guarded(channel, prepare)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(SWEEPERS):
                tasks.create_task(work(), name="catch-up")

    async def keep(self) -> None:
        """Write down how far the cursors are."""
        moved, self._moved = self._moved, {}
        if not moved:
            return
        try:
            await self._store.advance(moved.values())
        except SafeError as error:
            _log.warning("catch_up.unkept", code=str(error.code))
            self._moved = {**moved, **self._moved}

    async def keep_on(self) -> None:
        """Write the cursors down now and then, until cancelled."""
        while True:
            await asyncio.sleep(KEEP_EVERY_SECONDS)
            await self.keep()

    async def _resolve(self, bot: discord.Client, channel_id: int) -> Channel | None:
        """Find a channel, asking Discord for a direct message: no cache has it after a start."""
        found: object = bot.get_channel(channel_id)
        try:
            if found is None:
                found = await bot.fetch_channel(channel_id)
        except (*FAILURES, discord.InvalidData) as failure:
            _log.info(
                "catch_up.unknown_channel",
                channel_id=ingress.prefixed(channel_id),
                failure=describe_failure(failure),
            )
            if not is_passing(failure):
                self.lost.append(channel_id)
            return None
        return found if isinstance(found, _CHANNELS) else None

    def _candidates(self, bot: discord.Client, also: Iterable[int]) -> list[int]:
        """Choose the channels to ask: those with words behind their cursors."""
        found = dict.fromkeys(also)
        if not self._settings().enabled or self._cursors is None:
            return list(found)
        for guild in bot.guilds:
            for place in _places(guild):
                last = place.last_message_id
                if last is not None and last > self._cursor(place.id):
                    found[place.id] = None
                else:
                    self._asked.add(place.id)  # nothing was said there
        direct = sorted((each.last, number) for number, each in self._cursors.items() if each.is_dm)
        found |= dict.fromkeys(number for _, number in direct[-MAX_DIRECT:])
        return list(found)

    def _cursor(self, channel_id: int) -> int:
        known = (self._cursors or {}).get(channel_id)
        return self._base if known is None else known.last


def _places(guild: discord.Guild) -> Iterator[Spoken]:
    yield from guild.text_channels
    yield from guild.threads
    yield from guild.voice_channels
    yield from guild.stage_channels


async def _direct(bot: discord.Client, user_id: int) -> Channel | None:
    try:
        return await bot.create_dm(discord.Object(user_id))
    except FAILURES as failure:
        _log.info("catch_up.no_direct", failure=describe_failure(failure))
        return None


async def _guarded(channel: Channel, prepare: Callable[[Channel], Awaitable[None]]) -> None:
    """Keep one channel's trouble from the others."""
    try:
        await prepare(channel)
    except Exception as error:  # noqa: BLE001  (logged; the other channels go on)
        _log.error("catch_up.failed", channel_id=channel.id, **describe(error))
