"""Lanes: what belongs together happens one after the other, everything else side by side.

discord.py runs each event as a task of its own. Tasks start in the order of the events; a lane
keeps that order over the awaits that follow, for one channel, without delaying any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Lanes:
    """Locks by key, served first come first; a key that nobody uses takes no memory."""

    def __init__(self) -> None:
        self._lanes: dict[Hashable, tuple[asyncio.Lock, int]] = {}

    def __len__(self) -> int:
        return len(self._lanes)

    @asynccontextmanager
    async def lane(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for one's turn, and hold the lane meanwhile."""
        lock, users = self._lanes.get(key) or (asyncio.Lock(), 0)
        self._lanes[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._lanes[key]
            if users == 1:
                del self._lanes[key]
            else:
                self._lanes[key] = (lock, users - 1)
