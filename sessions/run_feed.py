"""Word of which runs change, for whoever looks on: an id, and nothing of what happened in it.

Who tells never waits: a listener that is slow finds several changes as one. Nobody listening
costs nothing. The feed knows what no row tells: of a turn that runs, when its first word came; and
how many messages got no turn, by code.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from compiler.request import RunId, TurnId


class Listener:
    """What changed since the listener last took it, each run once."""

    def __init__(self) -> None:
        self._changed: dict[RunId, None] = {}
        self._woken = asyncio.Event()

    def tell(self, run_id: RunId) -> None:
        """Note a change."""
        self._changed[run_id] = None
        self._woken.set()

    def wake(self) -> None:
        """End the wait although nothing changed."""
        self._woken.set()

    async def heard(self) -> None:
        """Wait for a change or a call."""
        await self._woken.wait()

    def take(self) -> tuple[RunId, ...]:
        """Give the runs that changed, in the order of their first changes, and forget them."""
        self._woken.clear()
        found, self._changed = tuple(self._changed), {}
        return found


class RunFeed:
    """Passes changes on to all who listen."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._spoken: dict[TurnId, int] = {}
        self.refusals: Counter[str] = Counter()
        """Messages that got no turn since the start, by code."""

    @property
    def listening(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def tell(self, run_id: RunId) -> None:
        """Say that a run changed."""
        for listener in self._listeners:
            listener.tell(run_id)

    def speaks(self, run_id: RunId, turn_id: TurnId, first_text_us: int) -> None:
        """Say that a running turn's first word came, so long after its message."""
        self._spoken[turn_id] = first_text_us
        self.tell(run_id)

    def falls_silent(self, turn_id: TurnId) -> None:
        """Forget a turn that runs no longer."""
        self._spoken.pop(turn_id, None)

    def first_text_us(self, turn_id: TurnId) -> int | None:
        """Tell when the first word of a running turn came, counted from its message."""
        return self._spoken.get(turn_id)

    def wake(self) -> None:
        """End the wait of all who listen."""
        for listener in self._listeners:
            listener.wake()

    @contextmanager
    def listen(self) -> Iterator[Listener]:
        """Listen until the block ends."""
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
