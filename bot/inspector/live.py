"""Word of changed runs for open pages, as server-sent events: ids and nothing else.

A page asks for itself anew when it hears of its run; what it may see is decided there. The stream
is silent while nothing happens, and ends with its page, its session or the bot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from aiohttp import web

from sessions.run_feed import Listener, RunFeed

MAX_STREAMS: Final = 12
"""Open pages that are told at once; a further one has to be loaded anew by hand."""
BEAT_SECONDS: Final = 20.0
"""A line without meaning, so that the end of a page is noticed."""
RETRY_MILLISECONDS: Final = 3000


class LivePages:
    """All streams; ``feed`` tells what changes."""

    def __init__(self, feed: RunFeed, *, beat_seconds: float = BEAT_SECONDS) -> None:
        self._feed = feed
        self._beat_seconds = beat_seconds
        self._open = 0
        self._over = False

    @property
    def open(self) -> int:
        """How many pages follow."""
        return self._open

    def close(self) -> None:
        """End all streams."""
        self._over = True
        self._feed.wake()

    async def serve(
        self, request: web.Request, run: str, *, lasts: Callable[[], bool]
    ) -> web.StreamResponse:
        """Tell a page of changes of its run, or of every run, while its session lasts."""
        if self._open >= MAX_STREAMS or self._over:
            return web.Response(status=503, text="Too many pages follow.\n")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        self._open += 1
        try:
            with self._feed.listen() as listener:
                await response.prepare(request)
                await response.write(f"retry: {RETRY_MILLISECONDS}\n\n".encode())
                await self._follow(response, listener, run, lasts)
        except ConnectionError:
            pass  # the page left while it was being told something
        finally:
            self._open -= 1
        return response

    async def _follow(
        self,
        response: web.StreamResponse,
        listener: Listener,
        run: str,
        lasts: Callable[[], bool],
    ) -> None:
        while not self._over and lasts():
            try:
                async with asyncio.timeout(self._beat_seconds):
                    await listener.heard()
            except TimeoutError:
                await response.write(b": \n\n")
            for changed in listener.take():
                if run in {"", changed}:
                    await response.write(f"event: changed\ndata: {changed}\n\n".encode())
