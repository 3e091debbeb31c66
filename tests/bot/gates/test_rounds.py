"""Looking again: once for much news, and again after a look that failed."""

from __future__ import annotations

import asyncio
from enum import StrEnum

from bot.gates.rounds import Rounds
from compiler.errors import SafeError
from support.session_world import BOUND_SECONDS


class Code(StrEnum):
    AWAY = "away"


async def test_news_of_one_moment_is_one_look() -> None:
    """Whatever came together is found together."""
    looks: list[int] = []
    looked = asyncio.Event()

    async def look() -> None:
        looks.append(len(looks))
        looked.set()

    rounds = Rounds(look, unread="test.unread")
    rounds.wake()
    rounds.wake()
    async with asyncio.timeout(BOUND_SECONDS), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(rounds.run())
        await looked.wait()
        looked.clear()
        rounds.wake()
        await looked.wait()
        running.cancel()
    assert looks == [0, 1]


async def test_a_look_that_fails_ends_no_other() -> None:
    """Neither a store that is away for a while nor a fault of ours leaves gates unseen."""
    failures: list[Exception] = [ValueError("ours"), SafeError(Code.AWAY, "The store is away.")]
    done = asyncio.Event()

    async def look() -> None:
        if failures:
            rounds.wake()
            raise failures.pop()
        done.set()

    rounds = Rounds(look, unread="test.unread")
    rounds.wake()
    async with asyncio.timeout(BOUND_SECONDS), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(rounds.run())
        await done.wait()
        running.cancel()
    assert failures == []
