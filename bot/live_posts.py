"""The messages that stand for a running turn, in the outbox and in the channel.

Each is written down before it is sent, under a key of its turn and without the turn's id: it ends
nothing that is owed. What becomes of them at the end of the turn is ``Delivery``'s to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import discord
import structlog

from bot import ingress
from bot.auto_threads import channel_above
from bot.posts import live_key, nonce
from bot.sending import (
    FAILURES,
    DeliveryLimits,
    Sending,
    Target,
    describe_failure,
    partial,
    send,
)
from compiler.errors import SafeError
from compiler.request import ChannelId, MessageId, RunScope, TurnId
from sessions.store.outbox import OutboxStore, Parcel, Piece, PieceState

RETRY_SECONDS = (0.5, 2.0)
"""Waits before further attempts: the answer itself must not wait for what only stands for it."""
_log = structlog.get_logger(__name__)


class Posts(Protocol):
    """What is needed of ``Delivery``."""

    def sending(
        self,
        channel: discord.abc.Messageable,
        piece: Piece,
        buttons: discord.ui.View | None,
        *,
        edits: MessageId | None = None,
    ) -> Sending:
        """Make a part ready to be sent."""

    async def already_there(
        self, channel: discord.abc.Messageable, piece: Piece
    ) -> discord.Message | bool | None:
        """Look for a part in its channel."""

    async def note_sent(self, piece: Piece, sent: discord.Message, content: str) -> None:
        """Note that a part is in its channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What became of a message that was to stand for a running turn."""

    message_id: MessageId | None = None
    unsure: bool = False
    """Whether it may stand there after all."""


class LivePosts:
    """Posts them, changes them, finds them again and takes them away."""

    def __init__(self, posts: Posts, outbox: OutboxStore, limits: DeliveryLimits) -> None:
        self._posts = posts
        self._outbox = outbox
        self._limits = limits

    async def show(
        self,
        target: Target,
        scope: RunScope,
        turn_id: TurnId,
        *,
        number: int,
        text: str,
        button: discord.ui.View,
        pings: bool = False,
    ) -> Shown:
        """Post a message that stands for a running turn, the first of them as a reply."""
        parcel = Parcel(
            key=live_key(turn_id, number),
            channel_id=ChannelId(ingress.prefixed(target.channel.id)),
            guild_id=scope.guild_id,
            reply_to=answered(target) if number == 0 else None,
            contents=(text,),
            nonces=(nonce(turn_id, live_key(turn_id, number)),),
        )
        try:
            (piece,) = await self._outbox.open(parcel)
        except SafeError:
            return Shown()  # the next start could not know of it
        if piece.state is not PieceState.PENDING:
            return Shown(unsure=True)
        sending = self._posts.sending(target.channel, piece, button)
        sending.pings = pings
        sent = await send(sending, replace(self._limits, retry_seconds=RETRY_SECONDS))
        if sent is None:
            return Shown(unsure=True)
        await self._posts.note_sent(piece, sent, piece.content)
        return Shown(message_id=MessageId(ingress.prefixed(sent.id)))

    async def edit(
        self,
        channel: discord.abc.Messageable,
        message_id: MessageId,
        content: str,
        button: discord.ui.View | None,
    ) -> None:
        """Change a message that stands for a running turn, in one attempt.

        Raises:
            Exception: one of ``sending.FAILURES``.
        """
        await partial(channel, ingress.snowflake(message_id)).edit(
            content=content, view=button, allowed_mentions=discord.AllowedMentions.none()
        )

    async def of_turn(
        self, channel: discord.abc.Messageable, turn_id: TurnId
    ) -> tuple[MessageId, ...]:
        """Name the messages that stand for a turn, looking for those that may have arrived."""
        for piece in await self._outbox.pending(live_key(turn_id)):
            found = await self._posts.already_there(channel, piece)
            if isinstance(found, discord.Message):
                await self._posts.note_sent(piece, found, piece.content)
            else:
                await self._outbox.failed(piece, "not there")
        placed = await self._outbox.placed(live_key(turn_id))
        return tuple(message_id for _, message_id in placed)

    async def remove(self, channel: discord.abc.Messageable, messages: Sequence[MessageId]) -> None:
        """Take messages away that stood for a turn and have no part in its answer."""
        for message_id in messages:
            try:
                async with asyncio.timeout(self._limits.send_seconds):
                    await partial(channel, ingress.snowflake(message_id)).delete()
            except FAILURES as failure:
                _log.warning("draft.left", failure=describe_failure(failure))


def answered(target: Target) -> MessageId | None:
    """Name the message that is answered; one without a number stands for none.

    In the thread that was made of it there is none to name: all there is about it.
    """
    if not target.id or channel_above(target.channel, target.id) is not None:
        return None
    return MessageId(ingress.prefixed(target.id))
