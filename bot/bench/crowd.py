"""Many conversations at once: what the host adds to a turn, and whether it is fair.

Every conversation asks at the same even pace, one alone first, then all. The pace is one question
in ``EVERY_SECONDS``, so that the far end and Discord's library keep up on two cores.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from pathlib import Path

from bot.bench.figures import Figure, figure, milliseconds
from bot.bench.host import Host, running
from bot.bench.still_engine import StillEngine

EVERY_SECONDS = 8.0
CROWD_RATIO_TARGET = 3.0
FAIRNESS_TARGET = 1.5
LEAST_FOR_P95 = 20
"""Questions of the one conversation; a percentile of fewer says nothing."""


async def crowd(home: Path, *, conversations: int, rounds: int) -> list[Figure]:
    """Measure event to prompt for one conversation and for many at the same pace each."""
    settings: dict[str, dict[str, object]] = {
        "sessions": {"max_warm": conversations + 1, "idle_seconds": 3600.0}
    }
    async with running(home, settings, replace=StillEngine) as host:
        channels = (await host.far_end.do("channels", count=conversations))["channels"]
        for channel in channels:  # warm all of them
            await host.ask(channel)
        alone = await _paced(host, channels[:1], rounds=max(rounds, LEAST_FOR_P95))
        together = await _paced(host, channels, rounds=rounds)
    one = [value for values in alone for value in values]
    many = [value for values in together for value in values]
    medians = [statistics.median(values) for values in together]
    single = figure("f  message event to prompt, 1 conversation", one)
    crowded = figure(f"f  message event to prompt, {conversations} conversations", many)
    return [
        single,
        crowded,
        figure(
            "f  95th percentile, many against one",
            [crowded.p95 / single.p95],
            unit="x",
            target=CROWD_RATIO_TARGET,
        ),
        figure(
            "f  slowest conversation's median against the fastest's",
            [max(medians) / min(medians)],
            unit="x",
            target=FAIRNESS_TARGET,
        ),
    ]


async def _paced(host: Host, channels: Sequence[int], *, rounds: int) -> list[list[float]]:
    """Ask in every channel at an even pace, the channels' beginnings spread over it."""
    found: list[list[float]] = [[] for _ in channels]

    async def one(number: int, channel: int) -> None:
        await asyncio.sleep(EVERY_SECONDS * number / len(channels))
        for _ in range(rounds):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(asyncio.sleep(EVERY_SECONDS))
                asked = await host.ask(channel)
            found[number].append(milliseconds(asked.prompted_ns - asked.sent_ns))

    async with asyncio.TaskGroup() as tasks:
        for number, channel in enumerate(channels):
            tasks.create_task(one(number, channel))
    return found
