"""One playground with a bot, and one window before its chat page, for all tests of a module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, BrowserContext

from bot.playground import page as chat_page
from bot.playground.server import Playground
from support.browser import WAIT_MILLISECONDS, leave, well_behaved
from support.chat_house import House
from support.hearth_bot import HearthBot
from support.playground_bot import empty, running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pg() -> AsyncIterator[Playground]:
    async with Playground(extend=[chat_page.attach]) as made, running(HearthBot(), made):
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def window(browser: Browser) -> BrowserContext:
    """One origin's tabs share a process, and with it the compiled page."""
    made = await browser.new_context(locale="en-GB")
    made.set_default_timeout(WAIT_MILLISECONDS)
    return made


@pytest_asyncio.fixture(loop_scope="module")
async def house(pg: Playground, window: BrowserContext) -> AsyncIterator[House]:
    empty(pg)
    with well_behaved(pg.origin) as seen:
        yield House(pg=pg, window=window, seen=seen)
        await leave(window)
