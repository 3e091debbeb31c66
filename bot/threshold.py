"""The way into a channel: debts first, then what was missed, then what is said now.

Everything that reaches a conversation crosses here inside the channel's inward lane, so the order
is that of the messages, whatever came over which way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Final, Protocol

import discord
import structlog

from bot.catch_up import CatchUp
from bot.lanes import Lanes
from bot.leftovers import Leftovers
from bot.logs import describe
from bot.missed import Channel, LeftOut
from bot.sending import FAILURES, describe_failure
from config.load import LiveConfig

MAX_NAMED: Final = 20
LEFT_OUT: Final = "I was away for long, and did not read everything that was said meanwhile:"
_log = structlog.get_logger(__name__)


class Receiver(Protocol):
    """What takes messages once they are across: the conversation, or a test."""

    async def receive(self, message: discord.Message, *, answered: bool) -> bool:
        """Take a message that nobody saw yet, or that we only know from its answer.

        Returns:
            False if it has to be read again.
        """

    async def take_up(self, message: discord.Message) -> None:
        """Take a message that an earlier host wrote down and did not begin."""

    def is_of_bot(self, message: discord.Message) -> bool:
        """Tell whether nobody would read a line about a message."""

    async def forget(self, channel_id: int, message_id: int) -> None:
        """Let nothing of a message be known that was deleted meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """What stands between Discord and the conversations."""

    live: LiveConfig
    catch_up: CatchUp
    leftovers: Leftovers
    inward: Lanes
    outward: Lanes
    tasks: asyncio.TaskGroup

    async def load(self) -> None:
        """Read what is known, before the first message.

        Raises:
            StoreUnavailable: it cannot be read; nothing can be taken.
        """
        await self.catch_up.load()
        await self.leftovers.load()

    async def cross(
        self, channel: Channel, receiver: Receiver, *, before: int | None = None
    ) -> None:
        """Settle what came first in a channel, whose inward lane is held.

        ``before`` is the live message that waits for it.
        """
        await _guard(self.leftovers.pay(channel, receiver, outward=self.outward, spawn=self._spawn))
        await _guard(self.catch_up.ensure(channel, receiver.receive, before=before))

    async def sweep(self, bot: discord.Client, receiver: Receiver) -> None:
        """Look into every channel that may have missed something, and tell the owner the rest."""
        settings = self.live.current

        async def prepare(channel: Channel) -> None:
            await self.cross(channel, receiver)

        people = dict.fromkeys((*settings.discord.owners, *settings.allow.users))
        await self.catch_up.sweep(
            bot,
            prepare,
            also=self.leftovers.channels,
            direct_with=[int(user) for user in people][:MAX_NAMED],
        )
        while self.catch_up.lost:
            await self.leftovers.abandon(self.catch_up.lost.pop())
        await self._tell_left_out(bot)

    def _spawn(self, work: Coroutine[object, object, None]) -> object:
        return self.tasks.create_task(_guard(work), name="leftovers")

    async def _tell_left_out(self, bot: discord.Client) -> None:
        """Name to the first owner the places where something is not read any more."""
        found = tuple(self.catch_up.left_out)
        self.catch_up.left_out.clear()
        owners = self.live.current.discord.owners
        if not found or not owners:
            return
        lines = (LEFT_OUT, *(_line(each) for each in found[:MAX_NAMED]))
        try:
            private = await bot.create_dm(discord.Object(int(owners[0])))
            await private.send("\n".join(lines), allowed_mentions=discord.AllowedMentions.none())
        except FAILURES as failure:
            _log.warning("catch_up.owner_not_told", failure=describe_failure(failure))


def _line(left: LeftOut) -> str:
    reasons = ["older messages"] if left.too_old else []
    if left.too_many:
        reasons.append(f"{left.too_many} or more over the limit")
    return f"- <#{left.channel_id}>: {', '.join(reasons)}"


async def _guard(work: Coroutine[object, object, None]) -> None:
    """Keep one channel's trouble from ending all deliveries."""
    try:
        await work
    except Exception as error:  # noqa: BLE001  (logged; the others go on)
        _log.error("threshold.failed", **describe(error))
