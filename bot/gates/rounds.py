"""Looks again whenever there is news, so that what the store says is done, and done once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from bot.logs import describe
from compiler.errors import SafeError

_log = structlog.get_logger(__name__)


class Rounds:
    """One look after each piece of news; much of it at once is one look."""

    def __init__(self, look: Callable[[], Awaitable[None]], *, unread: str) -> None:
        """Take what looks; ``unread`` is the event of the log when that fails."""
        self._look = look
        self._unread = unread
        self._news = asyncio.Event()

    def wake(self) -> None:
        """Look now."""
        self._news.set()

    async def run(self) -> None:
        """Look until cancelled; a look that fails ends no other."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._look()
            except SafeError as error:
                _log.warning(self._unread, code=str(error.code))
            except Exception as error:  # noqa: BLE001  (one look must not end all others)
                _log.error(self._unread, **describe(error))
