"""The cap on warm sessions: who may hold a place, and who leaves first.

A holder is idle or busy. When all places are taken, the idle holder that was used least recently
is asked to leave; a busy one never is (issue rule "the least recently used idle one goes first").
Whoever waits is served in the order of asking. Each step takes constant time, however many
sessions there are.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable


class WarmSlots:
    """Places for warm sessions. ``ask_to_leave`` tells an idle holder to release its place."""

    def __init__(self, limit: int, ask_to_leave: Callable[[Hashable], None]) -> None:
        self._limit = limit
        self._ask_to_leave = ask_to_leave
        self._idle: OrderedDict[Hashable, None] = OrderedDict()
        """Idle holders that were not asked yet, the least recently used first."""
        self._holders: set[Hashable] = set()
        self._leaving: set[Hashable] = set()
        self._waiting: deque[tuple[Hashable, asyncio.Future[None]]] = deque()

    @property
    def taken(self) -> int:
        """How many places are held; never above the limit."""
        return len(self._holders)

    @property
    def has_free(self) -> bool:
        """Whether a place is there for the taking, with nobody waiting for it."""
        return not self._waiting and len(self._holders) < self._limit

    async def acquire(self, holder: Hashable) -> None:
        """Take a place as a busy holder, once one is free; bound the wait from outside."""
        if self.has_free:
            self._holders.add(holder)
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((holder, place))
        self._make_room()
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self.release(holder)
            elif (holder, place) in self._waiting:
                self._waiting.remove((holder, place))
            raise

    def mark_idle(self, holder: Hashable) -> None:
        """Note that a holder finished something just now; it becomes the most recently used."""
        if holder in self._holders and holder not in self._leaving:
            self._idle[holder] = None
            self._idle.move_to_end(holder)
            self._make_room()

    def mark_busy(self, holder: Hashable) -> None:
        """Note that a holder has work; it will not be asked to leave.

        One that was asked just before stays, and another is asked instead.
        """
        self._idle.pop(holder, None)
        if holder in self._leaving:
            self._leaving.discard(holder)
            self._make_room()

    def release(self, holder: Hashable) -> None:
        """Give a place back; nothing happens if none was held."""
        if holder not in self._holders:
            return
        self._holders.discard(holder)
        self._leaving.discard(holder)
        self._idle.pop(holder, None)
        while self._waiting and len(self._holders) < self._limit:
            heir, place = self._waiting.popleft()
            if not place.done():
                self._holders.add(heir)
                place.set_result(None)

    def _make_room(self) -> None:
        """Ask as many idle holders to leave as there are waiting without one already leaving."""
        while self._idle and len(self._leaving) < len(self._waiting):
            holder, _ = self._idle.popitem(last=False)
            self._leaving.add(holder)
            self._ask_to_leave(holder)
