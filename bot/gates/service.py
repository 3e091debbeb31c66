"""All that a running bot does about gates, put together: the desk, its cards, and what follows.

It begins when the bot is connected, so that whatever an earlier host left is told for certain.
"""

from __future__ import annotations

import asyncio

from bot.client import InglenookBot
from bot.delivery import Delivery
from bot.gates.answers import AnswerGates
from bot.gates.buttons import buttons_of
from bot.gates.cards import GateCards
from bot.gates.continuations import Continuations
from bot.gates.parts import GateParts
from bot.memory.desk import MemoryDesk
from bot.threshold import Receiver, Threshold
from sessions.gate_desk import GateDesk
from sessions.house.keeper import RuleKeeper
from sessions.registry import Registry
from sessions.store.inbox import InboxStore
from sessions.store.outbox import OutboxStore


class GateService:
    """Runs beside the connection."""

    def __init__(
        self,
        desk: GateDesk,
        *,
        outbox: OutboxStore,
        inbox: InboxStore,
        delivery: Delivery,
        threshold: Threshold,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self.desk = desk
        """What decides."""
        self._outbox = outbox
        self._inbox = inbox
        self._delivery = delivery
        self._threshold = threshold
        self._tasks = tasks
        self._work: tuple[GateCards, Continuations] | None = None

    def add_to(
        self,
        bot: InglenookBot,
        *,
        registry: Registry,
        rules: RuleKeeper,
        memories: MemoryDesk,
        receiver: Receiver,
    ) -> None:
        """Give the bot's cards their buttons, and make what runs beside it."""
        parts = GateParts(
            bot=bot,
            desk=self.desk,
            delivery=self._delivery,
            threshold=self._threshold,
            receiver=receiver,
            tasks=self._tasks,
        )
        cards = GateCards(parts, outbox=self._outbox)
        continuations = Continuations(
            parts,
            inbox=self._inbox,
            registry=registry,
            rules=rules,
            memories=memories,
            cards=cards,
        )
        self.desk.listen(cards.rounds.wake)
        self.desk.listen(continuations.rounds.wake)
        self._delivery.buttons_of = buttons_of
        self._delivery.holds = AnswerGates(
            bot.live, desk=self.desk, outbox=self._outbox, delivery=self._delivery
        )
        self._work = (cards, continuations)

    async def run(self, bot: InglenookBot) -> None:
        """Work from the connection on, until cancelled."""
        await bot.connected.wait()
        if self._work is None:
            return
        cards, continuations = self._work
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(cards.rounds.run(), name="cards")
            tasks.create_task(continuations.rounds.run(), name="continuations")
            tasks.create_task(self.desk.run(), name="gates")

    async def close(self, *, seconds: float) -> None:
        """Begin nothing more; what is being carried out gets so long."""
        await self.desk.close(seconds=seconds)
