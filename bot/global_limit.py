"""Discord's rate limit over all requests, and who waits it out.

The library shuts a gate before every request while one of them waits until the limit is over, and
that one opens it. If it is given up meanwhile (the sign that we type, when the answer is there),
nobody would open the gate again, and nothing more would be sent. Here whoever leaves opens it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import discord

Request: TypeAlias = Callable[..., Awaitable[Any]]


class LimitGate(asyncio.Event):
    """Shut by a request that waits for the limit to be over."""

    def __init__(self) -> None:
        super().__init__()
        self.set()
        self._keeper: asyncio.Task[Any] | None = None

    def clear(self) -> None:
        """Shut the gate, and know by whom."""
        super().clear()
        self._keeper = asyncio.current_task()

    def set(self) -> None:
        """Open the gate."""
        super().set()
        self._keeper = None

    def leave(self) -> None:
        """Open the gate if it is this task that keeps it shut; it does so no more.

        Who comes next hears from Discord whether the limit holds still.
        """
        if self._keeper is asyncio.current_task():
            self.set()


def guard(client: discord.Client) -> None:
    """Put such a gate in front of a client's requests, once it is logged in."""
    gate = LimitGate()
    request: Request = client.http.request

    async def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  (passed on)
        try:
            return await request(*args, **kwargs)
        finally:
            gate.leave()

    client.http._global_over = gate  # noqa: SLF001  (the library has no other place for it)
    client.http.request = guarded  # type: ignore[method-assign]
