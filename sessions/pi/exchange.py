"""One prompt and what pi says to it, as it comes."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Self

from sessions.pi.errors import PiError
from sessions.pi.protocol import AgentSettled, PiEvent


class Exchange:
    """One prompt and the events that answer it: an async iterator whose last is the settled one.

    It ends exactly once: after ``AgentSettled``, or by raising what went wrong (``PiExited``,
    ``PiRefused``, ``ProtocolError``). Events wait here until they are asked for; a consumer that
    leaves early loses nothing but them, and the client is free again when pi has settled.
    """

    def __init__(self) -> None:
        self._events: deque[PiEvent] = deque()
        self._news = asyncio.Event()
        self._failure: PiError | None = None
        self._closed = False
        self._drained = False

    @property
    def closed(self) -> bool:
        """Whether pi is done with this prompt."""
        return self._closed

    def put(self, event: PiEvent) -> None:
        """Take the next event of pi's."""
        if not self._closed:
            self._events.append(event)
            self._closed = isinstance(event, AgentSettled)
            self._news.set()

    def fail(self, failure: PiError) -> None:
        """End without a settled event; what came before it can still be read."""
        if not self._closed:
            self._failure = failure
            self._closed = True
            self._news.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> PiEvent:
        while not self._events:
            if self._closed:
                self._end()
            self._news.clear()
            await self._news.wait()
        return self._events.popleft()

    def _end(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        raise StopAsyncIteration
