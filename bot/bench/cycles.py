"""Sessions that come and go: what is left of them when the real pi was started and ended often.

Two conversations share one warm place, so each question ends the other's pi, in its box, and starts
or resumes its own. Processes and descriptors are counted once both have been asked, and again at
the end, when as many of them live as before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil

from bot.bench.figures import Figure, figure
from bot.bench.host import Host, running

SETTLE_SECONDS: Final = 30.0
"""Longest wait for what is ending by itself: a process to be reaped, a connection to be closed."""


async def start_and_end(home: Path, *, cycles: int) -> list[Figure]:
    """Count what is left after so many starts and ends (public report P23)."""
    async with running(home, {"sessions": {"max_warm": 1}}) as host:
        channels = (await host.far_end.do("channels", count=2))["channels"]
        await _ask_by_turns(host, channels, times=4)
        processes, descriptors = _processes(), _descriptors()
        began = time.monotonic()
        await _ask_by_turns(host, channels, times=cycles)
        took = time.monotonic() - began
        left = [await _settled(_processes, processes), await _settled(_descriptors, descriptors)]
    return [
        figure(f"r  processes left of {cycles} sessions", [left[0]], unit="", target=0.0),
        figure(f"r  descriptors left of {cycles} sessions", [left[1]], unit="", target=0.0),
        figure("r  a session from start to end", [1_000 * took / cycles]),
    ]


async def _ask_by_turns(host: Host, channels: list[int], *, times: int) -> None:
    for number in range(times):
        await host.ask(channels[number % len(channels)])


def _processes() -> int:
    """Count all processes below this one, those that nobody reaped among them."""
    return len(psutil.Process().children(recursive=True))


def _descriptors() -> int:
    return int(psutil.Process().num_fds())


async def _settled(count: Callable[[], int], before: int) -> int:
    """Give by how much a count is above what it was, once it falls no more."""
    end = time.monotonic() + SETTLE_SECONDS
    while (more := count() - before) > 0 and time.monotonic() < end:  # noqa: ASYNC110 - no event
        await asyncio.sleep(0.1)
    return max(0, more)
