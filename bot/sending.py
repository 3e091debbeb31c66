"""One message on its way to Discord: attempts, waits, and when to give up.

What passes is tried again: no connection, an error of Discord's own, a rate limit with its own
wait. What is final is not: a channel that is gone or closed to us, a direct message that its
person shut, a thread that is archived and locked. The same nonce goes with every attempt, so that
Discord itself drops a second copy of one that had arrived after all.
"""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import aiohttp
import discord
import structlog

from sessions.workspace_files import WorkspaceFile

ANSWER_FILE: Final = "answer.md"
_TOO_MANY = 429
_NO_REFERENCE = frozenset({10008, 160002})
"""The message replied to is gone, or its channel's history may not be read: post without it."""
_NOT_OURS = frozenset({10008, 50005})
_FORM_INVALID = 50035
UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What the library raises over an answer that is not of Discord's form."""
PASSING: Final = (
    aiohttp.ClientError,
    OSError,
    TimeoutError,
    discord.DiscordServerError,
    discord.RateLimited,
    *UNREADABLE,  # something in between may answer for Discord
)
FAILURES: Final = (*PASSING, discord.HTTPException)
_log = structlog.get_logger(__name__)
Target: TypeAlias = "discord.Message | discord.PartialMessage"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLimits:
    """Bounds of posting; times in seconds."""

    send_seconds: float = 60.0
    """One attempt, with the waits that discord.py makes for rate limits and server errors."""
    retry_seconds: tuple[float, ...] = (0.5, 2.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0)
    """Waits before the second and further attempts; an outage of minutes loses no answer."""
    rate_limit_seconds: float = 900.0
    """A longer wait that Discord asks for is not made."""
    typing_delay_seconds: float = 0.02
    """From a message's acceptance to the first typing; what is answered by then shows none."""
    typing_seconds: float = 5.0
    typing_every_seconds: float = 8.0
    """Discord shows typing for ten seconds."""
    typing_grace_seconds: float = 0.25
    """How long a typing request in flight may hold up the answer, lest it show after it."""


@dataclass(slots=True, kw_only=True)
class Sending:
    """One message on its way."""

    channel: discord.abc.Messageable
    channel_id: int
    content: str
    nonce: str
    edits: int | None = None
    """Our own message that becomes this one; dropped when Discord refuses that for good."""
    reply_to: int | None = None
    """The message that it answers; dropped when Discord says that it is gone."""
    file_text: str | None = None
    attached: tuple[WorkspaceFile, ...] = ()
    buttons: discord.ui.View | None = None
    pings: bool = False
    """Whether the author of ``reply_to`` is notified; nobody else ever is."""
    attempts: list[str] = field(default_factory=list)
    """How each attempt failed: a status with Discord's code, or an error's kind."""


async def send(sending: Sending, limits: DeliveryLimits) -> discord.Message | None:
    """Post a message; None when it is given up, and ``attempts`` say why."""
    waits = iter(limits.retry_seconds)
    while True:
        try:
            async with asyncio.timeout(limits.send_seconds):
                return await _post(sending)
        except FAILURES as failure:
            sending.attempts.append(describe_failure(failure))
            if sending.edits is not None and not is_passing(failure):
                await _post_instead(sending, failure, limits)
                continue
            if sending.reply_to is not None and _blames_reference(failure):
                sending.reply_to = None
                continue
            wait = _wait(failure, next(waits, None), limits)
            if wait is None:
                return None
            _log.info("delivery.waits", seconds=wait, failure=sending.attempts[-1])
            await asyncio.sleep(wait)


def _wait(failure: BaseException, planned: float | None, limits: DeliveryLimits) -> float | None:
    """Give the seconds before the next attempt, None if there is to be none."""
    if planned is None or not is_passing(failure):
        return None
    if isinstance(failure, discord.RateLimited):
        return failure.retry_after if failure.retry_after <= limits.rate_limit_seconds else None
    return planned


async def _post(sending: Sending) -> discord.Message:
    nobody = discord.AllowedMentions.none()
    files = []
    if sending.file_text is not None:
        files.append(discord.File(io.BytesIO(sending.file_text.encode()), ANSWER_FILE))
    files += [discord.File(io.BytesIO(each.content), each.name) for each in sending.attached]
    if sending.edits is not None:
        return await _edit(sending, files)
    if sending.reply_to is None:
        return await sending.channel.send(
            sending.content,
            files=files,
            nonce=sending.nonce,
            allowed_mentions=nobody,
            view=sending.buttons,  # type: ignore[arg-type]  # None is the library's default
        )
    reference = discord.MessageReference(
        message_id=sending.reply_to, channel_id=sending.channel_id, fail_if_not_exists=False
    )
    return await sending.channel.send(
        sending.content,
        files=files,
        nonce=sending.nonce,
        allowed_mentions=nobody,
        reference=reference,
        mention_author=sending.pings,
        view=sending.buttons,  # type: ignore[arg-type]  # None is the library's default
    )


async def _edit(sending: Sending, files: list[discord.File]) -> discord.Message:
    """Make a message of ours into this one; its buttons go."""
    message = partial(sending.channel, sending.edits or 0)
    return await message.edit(
        content=sending.content,
        attachments=files,
        allowed_mentions=discord.AllowedMentions.none(),
        view=sending.buttons,
    )


async def _post_instead(sending: Sending, failure: BaseException, limits: DeliveryLimits) -> None:
    """Make a new message of what was to be an edit, and take the old one away if it stands."""
    gone, sending.edits = sending.edits or 0, None
    if is_gone(failure):
        return
    try:
        async with asyncio.timeout(limits.send_seconds):
            await partial(sending.channel, gone).delete()
    except FAILURES as other:
        _log.warning("draft.left", failure=describe_failure(other))


def partial(channel: discord.abc.Messageable, message_id: int) -> discord.PartialMessage:
    """Name a message in a channel without asking for it."""
    return channel.get_partial_message(message_id)  # type: ignore[attr-defined, no-any-return]  # every channel that we post in has it


def is_gone(failure: BaseException) -> bool:
    """Tell whether a message of ours is not there any more, or is not ours to change."""
    return isinstance(failure, discord.HTTPException) and failure.code in _NOT_OURS


def is_passing(failure: BaseException) -> bool:
    """Tell whether another attempt may go better."""
    if isinstance(failure, discord.HTTPException):
        return failure.status == _TOO_MANY or isinstance(failure, discord.DiscordServerError)
    return True


def describe_failure(failure: BaseException) -> str:
    """Name a failure without its text."""
    if isinstance(failure, discord.HTTPException):
        return f"{failure.status}/{failure.code}"
    return type(failure).__name__


def _blames_reference(failure: BaseException) -> bool:
    if not isinstance(failure, discord.HTTPException):
        return False
    return failure.code in _NO_REFERENCE or (
        failure.code == _FORM_INVALID and "message_reference" in failure.text
    )
