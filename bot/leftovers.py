"""What an earlier host owed when it ended, paid once by this one (P06).

    outbox    parts that were not certainly posted: posted, unless they are in the channel already
    inbox     a turn had begun: one honest line that it was interrupted; nothing is run again
              no turn had begun: the message is taken up as if it had just come
              either way, unless a word of ours stands under it that could not be written down

A channel's debts are paid before anything else is handled there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from itertools import groupby
from typing import Final, Protocol, TypeAlias

import discord
import structlog

from bot import ingress
from bot.auto_threads import opened_for
from bot.delivery import Delivery
from bot.errors import with_run
from bot.find_posted import find_answer
from bot.ingress import PROVIDER, snowflake
from bot.lanes import Lanes
from bot.missed import Channel, People
from bot.posts import LIVE, nonce
from bot.sending import FAILURES, describe_failure, is_passing
from compiler.request import GuildId
from sessions.errors import StoreUnavailable
from sessions.store.inbox import InboxStore, OwedMessage
from sessions.store.outbox import OutboxStore, Parcel, Piece

INTERRUPTED: Final = "I was interrupted before I could answer this. Please ask me again."
FETCH_SECONDS: Final = 60.0
Spawn: TypeAlias = Callable[[Coroutine[object, object, None]], object]
_log = structlog.get_logger(__name__)


class Debtor(Protocol):
    """Who owes: the conversation."""

    async def take_up(self, message: discord.Message) -> None:
        """Run a message as if it had just come."""

    def is_of_bot(self, message: discord.Message) -> bool:
        """Tell whether nobody would read a line about a message."""

    async def forget(self, channel_id: int, message_id: int) -> None:
        """Let nothing of a message be known that was deleted meanwhile."""


class Leftovers:
    """The debts of earlier hosts, channel by channel."""

    def __init__(self, *, inbox: InboxStore, outbox: OutboxStore, delivery: Delivery) -> None:
        self._inbox = inbox
        self._outbox = outbox
        self._delivery = delivery
        self._owed: dict[int, list[OwedMessage]] = {}
        self._pieces: dict[int, list[Piece]] = {}

    async def load(self) -> None:
        """Read what is owed; called once, before anything new is taken.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        await self._inbox.prune()
        await self._outbox.prune()
        for piece in await self._outbox.pending():
            if piece.key.startswith(f"{LIVE}:"):
                continue  # found with the turn that it stands for
            self._pieces.setdefault(ingress.snowflake(piece.channel_id), []).append(piece)
        for owed in await self._inbox.owed():
            self._owed.setdefault(ingress.snowflake(owed.channel_id), []).append(owed)
        if self._pieces or self._owed:
            _log.info(
                "leftovers.found",
                parts=sum(map(len, self._pieces.values())),
                messages=sum(map(len, self._owed.values())),
            )

    @property
    def channels(self) -> tuple[int, ...]:
        """The channels where something is owed still."""
        return tuple(dict.fromkeys((*self._pieces, *self._owed)))

    async def pay(self, channel: Channel, debtor: Debtor, *, outward: Lanes, spawn: Spawn) -> None:
        """Pay what is owed in a channel; its inward lane is held.

        Posting goes on in the outward lane, so that a Discord in trouble holds up no message.
        """
        pieces = tuple(self._pieces.pop(channel.id, ()))
        owed = self._owed.pop(channel.id, [])
        begun = _one_a_turn([each for each in owed if each.run_id is not None])
        wanted = [each for each in begun if await self._wants_line(channel, each, debtor)]
        if pieces or wanted:
            # A task begins before those made after it, so this one is first in the lane.
            spawn(self._post(channel, pieces, wanted, outward))
        for each in owed:
            if each.run_id is None:
                await self._take_up(channel, each, debtor)

    async def abandon(self, channel_id: int) -> None:
        """Give up the debts in a channel that is gone or closed."""
        await self._delivery.give_up(tuple(self._pieces.pop(channel_id, ())), "no channel")
        for each in self._owed.pop(channel_id, []):
            _log.warning("leftovers.abandoned", turn_id=each.turn_id)
            await self._inbox.finish(each.turn_id)

    async def _post(
        self,
        channel: Channel,
        pieces: tuple[Piece, ...],
        begun: list[OwedMessage],
        outward: Lanes,
    ) -> None:
        async with outward.lane(channel.id):
            for _, parcel in groupby(pieces, key=lambda piece: piece.key):
                await self._delivery.resume(channel, tuple(parcel))
            for each in begun:
                number = ingress.snowflake(each.message_id)
                place = opened_for(channel, number) or channel
                over = await self._delivery.live.of_turn(place, each.turn_id)
                target = place.get_partial_message(number)
                line = with_run(INTERRUPTED, each.run_id)
                await self._delivery.notice(
                    target, line, key="interrupted", ends=each.turn_id, over=over
                )

    async def _wants_line(self, channel: Channel, owed: OwedMessage, debtor: Debtor) -> bool:
        """Tell whether anybody would read that a turn was interrupted.

        Who deleted his message would not, and a bot would answer it (P10).
        """
        try:
            message = await _fetch(channel, owed)
        except discord.NotFound:
            await debtor.forget(channel.id, ingress.snowflake(owed.message_id))
        except FAILURES as failure:
            _log.info("leftovers.unread", turn_id=owed.turn_id, failure=describe_failure(failure))
            return True
        else:
            if await self._answered_unrecorded(channel, owed, message):
                return False
            if not debtor.is_of_bot(message):
                return True
        await self._delivery.live.remove(
            channel, await self._delivery.live.of_turn(channel, owed.turn_id)
        )
        await self._inbox.finish(owed.turn_id)
        return False

    async def _answered_unrecorded(
        self, channel: Channel, owed: OwedMessage, message: discord.Message
    ) -> bool:
        """Tell whether an answer, or a line, stands there that could not be written down.

        That is done now, or by the next start where it cannot be done yet.
        """
        place = opened_for(channel, message.id) or channel
        await self._delivery.live.of_turn(
            place, owed.turn_id
        )  # what only stood for it is known now
        known = await self._outbox.known_messages(owed.channel_id)
        answer = await find_answer(channel, message.id, known, seconds=FETCH_SECONDS)
        if answer is None:
            return False
        parcel = Parcel(
            key=f"turn:{owed.turn_id}",
            channel_id=owed.channel_id,
            guild_id=GuildId(ingress.prefixed(message.guild.id)) if message.guild else None,
            reply_to=owed.message_id,
            turn_id=owed.turn_id,
            run_id=owed.run_id,
            contents=(answer.content,),
            nonces=(nonce(owed.turn_id, 0),),
            # No turn, no words of the model; and a line of the host's own names the run.
            quotable=owed.run_id is not None and f"`{owed.run_id}`" not in answer.content,
        )
        try:
            (piece, *_) = await self._outbox.open(parcel)
        except StoreUnavailable as error:
            _log.warning("leftovers.unrecorded", turn_id=owed.turn_id, **error.facts)
            return True
        await self._delivery.note_sent(piece, answer, answer.content)
        _log.info("leftovers.answered", run_id=owed.run_id, turn_id=owed.turn_id)
        return True

    async def _take_up(self, channel: Channel, owed: OwedMessage, debtor: Debtor) -> None:
        """Run a message that was written down and not begun.

        One deleted since is let go, and so is one whose author was told that it got no turn.
        """
        try:
            message = await _fetch(channel, owed)
            await People().complete(message)
        except FAILURES as failure:
            _log.warning(
                "leftovers.unread", turn_id=owed.turn_id, failure=describe_failure(failure)
            )
            if is_passing(failure):  # the channel's next message asks again
                self._owed.setdefault(channel.id, []).append(owed)
                return
            if isinstance(failure, discord.NotFound):
                await debtor.forget(channel.id, ingress.snowflake(owed.message_id))
            await self._inbox.finish(owed.turn_id)
            return
        if not await self._answered_unrecorded(channel, owed, message):
            await debtor.take_up(message)


async def _fetch(channel: Channel, owed: OwedMessage) -> discord.Message:
    async with asyncio.timeout(FETCH_SECONDS):
        return await channel.fetch_message(ingress.snowflake(owed.message_id))


def _one_a_turn(begun: list[OwedMessage]) -> list[OwedMessage]:
    """Choose the message that a turn is named for, of those that make it up."""
    own = {each.turn_id: each for each in begun}
    for each in begun:
        if each.turn_id.removeprefix(f"{PROVIDER}:message:") == str(snowflake(each.message_id)):
            own[each.turn_id] = each
    return list(own.values())
