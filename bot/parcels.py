"""What stands in the outbox, posted in the lane of its channel's other answers.

Posting is the bot's work: whoever has it done may go on, and what a killed host did not come to is
posted by the next one, which looks into the channel first (``leftovers``).
"""

from __future__ import annotations

import asyncio

import structlog

from bot import ingress
from bot.client import InglenookBot
from bot.delivery import Delivery
from bot.lanes import Lanes
from bot.logs import describe
from sessions.store.outbox import Parcel

_log = structlog.get_logger(__name__)


class Parcels:
    """Posts parcels beside everything else."""

    def __init__(
        self,
        bot: InglenookBot,
        *,
        delivery: Delivery,
        outward: Lanes,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._bot = bot
        self._delivery = delivery
        self._outward = outward
        self._tasks = tasks

    def post(self, parcel: Parcel) -> asyncio.Task[bool]:
        """Post a parcel in its turn; the task tells whether all of it stands there."""
        return self._tasks.create_task(self._post(parcel), name=parcel.key)

    async def _post(self, parcel: Parcel) -> bool:
        channel_id = ingress.snowflake(parcel.channel_id)
        guild_id = None if parcel.guild_id is None else ingress.snowflake(parcel.guild_id)
        try:
            async with self._outward.lane(channel_id):
                channel = self._bot.get_partial_messageable(channel_id, guild_id=guild_id)
                return await self._delivery.post(channel, parcel) == len(parcel.contents)
        except Exception as error:  # noqa: BLE001  (the tasks' group must outlive one message)
            _log.error(
                "parcel.unposted", run_id=parcel.run_id, turn_id=parcel.turn_id, **describe(error)
            )
            return False
