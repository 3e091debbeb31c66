"""What the bot does for its home once an hour: prune what is over, and look at the disk."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Final

import discord
import structlog

from bot.alarms import OwnerAlarms
from config.load import LiveConfig
from sessions.clock import Clock
from sessions.errors import StoreUnavailable
from sessions.pruning import Pruned, Pruner
from sessions.retention import disk_warning
from sessions.store.database import Database

FIRST_SECONDS: Final = 120.0
"""A start has better things to do."""
EVERY_SECONDS: Final = 3600.0
PASS_RUNS: Final = 500
"""Runs pruned in one pass; a year's backlog goes in a few days, and nobody waits for it."""
_log = structlog.get_logger(__name__)


def pruner_of(live: LiveConfig, database: Database, clock: Clock) -> Pruner:
    """Make what prunes a home by its settings of the moment."""
    return Pruner(
        home=live.home,
        database=database,
        clock=clock,
        settings=lambda: live.current.retention,
        ordinal_at=place_in_time,
    )


def place_in_time(moment: datetime) -> int:
    """Give the least id of a message that is written at a moment."""
    return max(0, discord.utils.time_snowflake(moment))


class Housekeeper:
    """Does one pass after another, until it is cancelled."""

    def __init__(self, live: LiveConfig, pruner: Pruner, *, alarms: OwnerAlarms) -> None:
        self._live = live
        self._pruner = pruner
        self._alarms = alarms

    async def run(self) -> None:
        """Go on for as long as the bot runs; what fails is tried again in an hour."""
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            await self.one_pass()
            await asyncio.sleep(EVERY_SECONDS)

    async def one_pass(self) -> Pruned:
        """Prune some of what is over, and warn of what fills up."""
        done = Pruned()
        try:
            done = await self._pruner.carry_out(await self._pruner.look(PASS_RUNS))
            warning = disk_warning(await self._pruner.disk(), self._live.current.retention)
        except (StoreUnavailable, OSError) as error:
            _log.warning("housekeeping.failed", reason=type(error).__name__)
            return done
        if done != Pruned():
            _log.info(
                "housekeeping.pruned",
                traces=done.traces,
                bytes=done.size_bytes,
                turns=done.turns,
                messages=done.messages,
                kept=len(done.kept),
            )
        if done.kept:
            self._alarms.unsound(done.kept)
        if warning:
            self._alarms.disk(warning)
        return done
