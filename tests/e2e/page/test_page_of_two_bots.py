"""The chat page of a server with two bots, whose commands have the same names."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from bot.playground import page as chat_page
from bot.playground.entities import Event
from bot.playground.ids import ADA, HEARTH, ORCHARD
from bot.playground.server import Playground
from support.browser import entry, messages, needs_chromium, offered, sit, well_behaved

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    needs_chromium,
]

COMMANDS = ({"name": "count", "description": "Count."}, {"name": "About this", "type": 3})


async def test_a_person_sees_whose_command_it_is_and_asks_that_bot(browser: Browser) -> None:
    """Issue 8 "Several imps": as in Discord, commands of one name are told apart by their bot."""
    asked: list[str] = []

    def hear(event: Event) -> None:
        if event.name == "INTERACTION_CREATE":
            asked.append(event.data["application_id"])

    async with Playground(extend=[chat_page.attach]) as pg:
        scribe = pg.add_bot("Scribe", guilds=[ORCHARD])
        for registry in (pg.registry, scribe.registry):
            registry.overwrite(None, list(COMMANDS))
        pg.invoking.answer_seconds = 0.0  # neither of them is there to answer
        pg.subscribe(hear)
        await pg.say(ADA, HEARTH, "three")
        window = await browser.new_context(locale="en-GB")
        with well_behaved(pg.origin) as seen:
            page = await sit(window, seen, f"{ADA}/{HEARTH}")
            await entry(page).press_sequentially("/count")
            await expect(offered(page)).to_have_count(2)
            await expect(offered(page, "Ember: Count.")).to_be_visible()
            await entry(page).press_sequentially(" ")  # a whole name alone says not whose it is
            await offered(page, "Scribe: Count.").click()
            form = page.get_by_role("form", name="Command count")
            await expect(form).to_contain_text("Scribe")
            async with page.expect_response("**/api/slash"):
                await form.get_by_role("button", name="Run").click()
            assert asked == [str(scribe.user.id)]
            await messages(page).first.click(button="right")
            async with page.expect_response("**/api/context"):
                await page.get_by_text("About this (Scribe)").click()
            assert asked == [str(scribe.user.id)] * 2
        await window.close()
