"""The chat page when the playground goes away and comes back: it is as it was left."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Page, WebSocketRoute, expect

from bot.playground.ids import BO, HEARTH
from support.browser import entry, messages, needs_chromium, seated, sit_in
from support.chat_house import ADA_AT_HEARTH, House

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),  # one browser for all of them
    needs_chromium,
]


@dataclass(slots=True, kw_only=True)
class Wire:
    """What tells a page of what happens; it can be cut."""

    whole: bool = True
    ends: list[WebSocketRoute] = field(default_factory=list)

    async def lay(self, page: Page) -> None:
        async def connect(end: WebSocketRoute) -> None:
            self.ends.append(end)
            if self.whole:
                end.connect_to_server()
            else:
                await end.close()

        await page.route_web_socket(re.compile("/events"), connect)

    async def cut(self) -> None:
        self.whole = False
        for end in self.ends:
            await end.close()


async def wired(house: House) -> tuple[Page, Wire]:
    """Sit as Ada, by a wire that can be cut."""
    page, wire = await house.window.new_page(), Wire()
    await wire.lay(page)
    await sit_in(page, house.seen, ADA_AT_HEARTH)
    return page, wire


async def test_what_was_missed_is_shown_and_what_was_written_stays(house: House) -> None:
    gone = await house.pg.say(BO, HEARTH, "Gone soon.")
    page, wire = await wired(house)
    await entry(page).press_sequentially("half a th")
    await wire.cut()
    await expect(page.get_by_role("alert")).to_contain_text("went away")
    await house.pg.delete(BO, gone)
    await house.pg.say(BO, HEARTH, "Said meanwhile.")
    wire.whole = True
    await expect(messages(page)).to_have_text([re.compile("Said meanwhile.")])
    await expect(page.get_by_role("alert")).to_have_text("")
    await expect(entry(page)).to_be_focused()
    await expect(entry(page)).to_have_value("half a th")


async def test_who_reads_far_back_stays_there(house: House) -> None:
    """More than one page of messages is read anew, and nothing moves."""
    for number in range(60):
        await house.pg.say(BO, HEARTH, f"Row {number} of plums.")
    page, wire = await wired(house)
    await expect(messages(page)).to_have_count(50)
    await page.locator("#timeline").evaluate("one => { one.scrollTop = 0; }")
    await expect(messages(page)).to_have_count(60)
    place = await page.locator("#timeline").evaluate("one => one.scrollTop")
    await wire.cut()
    await expect(page.get_by_role("alert")).to_contain_text("went away")
    await house.pg.say(BO, HEARTH, "Said meanwhile.")
    wire.whole = True
    await expect(messages(page)).to_have_count(61)
    await expect(page.get_by_role("button", name="New messages")).to_be_visible()
    await seated(page, ADA_AT_HEARTH)
    assert await page.locator("#timeline").evaluate("one => one.scrollTop") == place
