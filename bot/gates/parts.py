"""What cards and continuations both work with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bot.client import InglenookBot
from bot.delivery import Delivery
from bot.missed import Channel
from bot.threshold import Receiver, Threshold
from sessions.gate_desk import GateDesk


@dataclass(frozen=True, slots=True, kw_only=True)
class GateParts:
    """The ways to those who decide and to the conversations, of one connection."""

    bot: InglenookBot
    desk: GateDesk
    delivery: Delivery
    threshold: Threshold
    receiver: Receiver
    """Takes what was said in a channel before the gate has its word there."""
    tasks: asyncio.TaskGroup
    """Owns what is done for each gate."""

    async def cross(self, channel: Channel) -> None:
        """Settle what came first in a channel, whose inward lane is held."""
        await self.threshold.cross(channel, self.receiver)
