"""A real headless Chromium that looks at the chat page."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from support.playground_bot import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from playwright.async_api import Locator, Request

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT_MILLISECONDS = 1000 * PATIENCE_SECONDS

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")


@dataclass(slots=True, kw_only=True)
class Seen:
    """What a page did that it should not: ``complaints`` of its console, addresses elsewhere."""

    origin: str
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        page.on("console", lambda line: self._line(line.type, line.text))
        page.on("request", lambda request: self._request(request))  # noqa: PLW0108 -- playwright marks methods, slots refuse it

    def _line(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.complaints.append(text)

    def _request(self, request: Request) -> None:
        allowed = (self.origin, "blob:", "data:")
        if not request.url.startswith(allowed):
            self.elsewhere.append(request.url)


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Run a browser until the block ends."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(QUIET), timeout=WAIT_MILLISECONDS
        )
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.contextmanager
def well_behaved(origin: str) -> Iterator[Seen]:
    """Fail when a page complained or fetched anything from elsewhere."""
    seen = Seen(origin=origin)
    yield seen
    assert seen.complaints == []
    assert seen.elsewhere == []


async def sit(window: BrowserContext, seen: Seen, where: str, *, width: int = 1280) -> Page:
    """Open the page at ``#/person/channel`` in a tab of its own, and wait until it is ready."""
    page = await window.new_page()
    await page.set_viewport_size({"width": width, "height": 800})
    await sit_in(page, seen, where)
    return page


async def sit_in(page: Page, seen: Seen, where: str) -> None:
    """Open ``#/person/channel`` in a tab, and wait until it is ready."""
    page.set_default_timeout(WAIT_MILLISECONDS)
    seen.watch(page)
    await page.goto(f"{seen.origin}/playground/#/{where}")
    await seated(page, where)


async def seated(page: Page, where: str) -> None:
    """Wait until a person's conversation is shown, and all that happens there will be."""
    place = page.locator(f".place[aria-current][href='#/{where}']")
    await place.wait_for(state="attached")  # on a phone it is out of view
    await page.wait_for_selector("#messages[aria-busy=false]")


async def keep_shown(page: Page) -> None:
    """Let a page keep what it shows for some seconds alone, however long we take to look."""
    await page.evaluate(
        """() => {
            const [soon, now] = [setTimeout, Date.now()];
            globalThis.setTimeout = (work, wait) => wait < 5000 && soon(work, wait);
            Date.now = () => now;
        }"""
    )


async def leave(window: BrowserContext) -> None:
    """Close every tab, and forget what the page has kept for the next."""
    for page in window.pages:
        await page.evaluate("localStorage.clear()")
        await page.close()


def entry(page: Page) -> Locator:
    """The field that a person writes in."""
    return page.get_by_role("textbox", name="Message", exact=True)


def offered(page: Page, name: str = "") -> Locator:
    """Suggestions in view, those of a name."""
    return page.locator("li[role=option]:visible", has_text=name)


def messages(page: Page) -> Locator:
    """All messages in view, the oldest first."""
    return page.locator("#messages .message")


async def say(page: Page, text: str) -> None:
    """Write a message and send it."""
    await entry(page).fill(text)
    await page.keyboard.press("Enter")
    await expect(entry(page)).to_have_value("")


UNREADABLE = """() => {
    const read = (colour) => {
        const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
        return [r, g, b, a];
    };
    const over = (top, below) => below.map((each, i) => top[i] * top[3] + each * (1 - top[3]));
    const light = (colour) => {
        const [r, g, b] = colour.map((each) => each / 255)
            .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (node) => {
        const layers = [];
        for (let each = node; each; each = each.parentElement) {
            layers.unshift(read(getComputedStyle(each).backgroundColor));
        }
        return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const found = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const node = texts.currentNode.parentElement;
        const words = texts.currentNode.textContent.trim();
        if (!words || node.closest('svg, [disabled]') || !node.checkVisibility()) continue;
        const style = getComputedStyle(node), below = ground(node);
        const lights = [light(over(read(style.color), below)), light(below)].sort((a, b) => b - a);
        const ratio = (lights[0] + 0.05) / (lights[1] + 0.05);
        const large = parseFloat(style.fontSize) >= 24;
        if (ratio < (large ? 3 : 4.5)) found.add(`${ratio.toFixed(2)} ${words.slice(0, 40)}`);
    }
    return [...found];
}"""
"""Texts in view whose contrast is below that of WCAG 2.2, criterion 1.4.3, level AA."""


async def unreadable(page: Page) -> list[str]:
    """Name the texts of a page that are too faint on their ground."""
    found: list[str] = await page.evaluate(UNREADABLE)
    return found
