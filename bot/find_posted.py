"""Whether a message that may have been sent is in its channel: looked for, not remembered (P06).

Discord gives no nonce back with old messages, so a part is known by its words, by the question that
it answers, and by not being a message that is known already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container
from datetime import UTC, datetime, timedelta

import discord
import structlog

from bot import ingress
from bot.sending import FAILURES, describe_failure
from compiler.request import MessageId
from sessions.clock import parse_timestamp
from sessions.store.outbox import Piece

RECENT_MESSAGES = 100
"""So many messages behind its question, or its row, are looked through for what was posted."""
CLOCK_SECONDS = 600.0
"""How far this machine's clock may be ahead of Discord's; nothing was posted before its row."""
NONCE_SECONDS = 120.0
"""Discord knows a nonce again for "the past few minutes"; this long is surely within."""
_log = structlog.get_logger(__name__)


async def find_posted(
    channel: discord.abc.Messageable, piece: Piece, known: Container[MessageId], *, seconds: float
) -> discord.Message | bool | None:
    """Look for a part in its channel: the message, False if it is not there, None if unsure."""
    written_at = parse_timestamp(piece.created_at) - timedelta(seconds=CLOCK_SECONDS)
    began = discord.utils.time_snowflake(written_at)
    if piece.reply_to is not None:
        began = max(began, ingress.snowflake(piece.reply_to))
    try:
        async with asyncio.timeout(seconds):
            async for message in channel.history(
                limit=RECENT_MESSAGES, after=discord.Object(began), oldest_first=True
            ):
                if MessageId(ingress.prefixed(message.id)) not in known and _is(message, piece):
                    return message
    except FAILURES as failure:
        _log.warning("delivery.unread", failure=describe_failure(failure))
        age = datetime.now(UTC) - parse_timestamp(piece.created_at)
        return False if age.total_seconds() < NONCE_SECONDS else None
    return False


async def find_answer(
    channel: discord.abc.Messageable,
    question: int,
    known: Container[MessageId],
    *,
    seconds: float,
) -> discord.Message | None:
    """Look for an answer of ours of which nothing is written down; None if none is found.

    It was posted while the records could not be reached: the answer is worth more than the note.
    """
    try:
        async with asyncio.timeout(seconds):
            async for message in channel.history(
                limit=RECENT_MESSAGES, after=discord.Object(question), oldest_first=True
            ):
                refers = message.reference and message.reference.message_id == question
                unknown = MessageId(ingress.prefixed(message.id)) not in known
                if refers and unknown and _is_ours(message):
                    return message
    except FAILURES as failure:
        _log.warning("delivery.unread", failure=describe_failure(failure))
    return None


def _is_ours(message: discord.Message) -> bool:
    me = message.guild.me if message.guild else getattr(message.channel, "me", None)
    return message.author.bot and (me is None or message.author.id == me.id)


def _is(message: discord.Message, piece: Piece) -> bool:
    """Tell whether a message in the channel is this part: ours, these words, to that question."""
    if message.nonce is not None:
        return str(message.nonce) == piece.nonce
    if not _is_ours(message):
        return False
    if message.content.strip() != piece.content.strip():
        return False
    answered = message.reference.message_id if message.reference else None
    return (
        answered is None or piece.reply_to is None or answered == ingress.snowflake(piece.reply_to)
    )
