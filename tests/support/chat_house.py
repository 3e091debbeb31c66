"""A playground with a bot in it, and a browser before its chat page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.async_api import BrowserContext, Page, Route

from bot.playground.ids import ADA, HEARTH
from bot.playground.server import Playground
from support.browser import WAIT_MILLISECONDS, Seen, sit
from support.playground_bot import PATIENCE_SECONDS

ADA_AT_HEARTH = f"{ADA}/{HEARTH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What one test has before it: nothing said yet, and no page open."""

    pg: Playground
    window: BrowserContext
    seen: Seen

    async def sit(self, where: str = ADA_AT_HEARTH, *, width: int = 1280) -> Page:
        return await sit(self.window, self.seen, where, width=width)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLine:
    """Answers of the playground that are made at once, and reach the page late."""

    made: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def hold(
        self,
        page: Page,
        addresses: str,
        *,
        after: int = 0,
        said: Callable[[str], str] = lambda text: text,
    ) -> None:
        """Keep back what is asked under these addresses, save the first ``after``.

        ``said`` makes of an answer what the page gets to read.
        """
        asked = 0

        async def late(route: Route) -> None:
            nonlocal asked
            asked += 1
            held = asked > after
            answer = await route.fetch(timeout=WAIT_MILLISECONDS)
            if not held:
                await route.fulfill(response=answer)
                return
            self.made.set()
            await self.goes_on.wait()
            await route.fulfill(response=answer, body=said(await answer.text()))

        await page.route(addresses, late)

    async def busy(self) -> None:
        """Wait until an answer is being kept back."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.made.wait()
