"""Watching a playground: subscribers, and waiting for something to become true.

Nothing polls: conditions are looked at once when asked, and again after every event and request.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.playground.entities import Event

T = TypeVar("T")

WAIT_SECONDS = 120.0
"""How long to wait unless told otherwise: on a machine with much else to do, too."""


class Watch:
    """Who wants to know what happens."""

    def __init__(self) -> None:
        self._subscribers: dict[object, Callable[[Event], None]] = {}
        self._conditions: dict[object, Callable[[], None]] = {}

    def tell(self, event: Event) -> None:
        """Hand an event to everyone who watches."""
        for subscriber in list(self._subscribers.values()):
            subscriber(event)
        self.look_again()

    def look_again(self) -> None:
        """Look at every condition that someone waits for."""
        for look in list(self._conditions.values()):
            look()

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back for each event from now on; return what ends it."""
        key = object()
        self._subscribers[key] = callback

        def end() -> None:
            self._subscribers.pop(key, None)

        return end

    async def wait_for(
        self,
        predicate: Callable[[Event], bool],
        *,
        timeout: float = WAIT_SECONDS,  # noqa: ASYNC109 - a test's own bound, as in discord.py
    ) -> Event:
        """Wait for the next event of a kind.

        Raises:
            TimeoutError: it did not come in ``timeout`` seconds.
        """
        found: asyncio.Future[Event] = asyncio.get_running_loop().create_future()

        def look(event: Event) -> None:
            if not found.done() and predicate(event):
                found.set_result(event)

        end = self.subscribe(look)
        try:
            async with asyncio.timeout(timeout):
                return await found
        finally:
            end()

    async def until(
        self,
        check: Callable[[], T | None],
        *,
        timeout: float = WAIT_SECONDS,  # noqa: ASYNC109 - as above
    ) -> T:
        """Wait until a check of the state gives something other than None, and return that.

        Raises:
            TimeoutError: it did not become true in ``timeout`` seconds.
        """
        now = check()
        if now is not None:
            return now
        found: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def look() -> None:
            if not found.done() and (value := check()) is not None:
                found.set_result(value)

        key = object()
        self._conditions[key] = look
        try:
            async with asyncio.timeout(timeout):
                return await found
        finally:
            del self._conditions[key]
