"""The chat page on a slow line: what a person does in a gap is kept, and nothing comes twice."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from bot.playground.ids import ADA, BO, DEE, HEARTH, WORKSHOP
from support.browser import entry, keep_shown, messages, needs_chromium, offered, seated, sit_in
from support.chat_house import ADA_AT_HEARTH, House, SlowLine

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),  # one browser for all of them
    needs_chromium,
]


async def test_what_is_said_while_the_page_reads_is_shown(house: House) -> None:
    """What comes while a conversation is read is not lost, though the answer knows it not."""
    gone = await house.pg.say(BO, HEARTH, "Gone soon.")
    page, line = await house.sit(f"{ADA}/{WORKSHOP}"), SlowLine()
    await keep_shown(page)
    await line.hold(page, "**/messages?*")
    await page.evaluate(f"location.hash = '#/{ADA_AT_HEARTH}'")
    await line.busy()
    await house.pg.delete(BO, gone)
    await house.pg.typing(BO, HEARTH)
    await expect(page.locator(".typing")).to_have_text("Bo is typing…")
    await house.pg.say(BO, HEARTH, "Said meanwhile.")
    await expect(page.locator(".typing")).to_have_text("")  # it has come
    line.goes_on.set()
    await expect(page.locator("#messages .beginning")).to_be_visible()
    await expect(messages(page)).to_have_count(1)
    await expect(messages(page)).to_contain_text("Said meanwhile.")


async def test_reading_once_more_disturbs_nobody(house: House) -> None:
    """A conversation read anew keeps the focus and a half-written edit; what changed is shown."""
    changed = await house.pg.say(BO, HEARTH, "Because.")
    stays = await house.pg.say(ADA, HEARTH, "Why?")
    page, line = await house.window.new_page(), SlowLine()
    await line.hold(
        page,
        "**/messages?*",
        after=1,
        said=lambda text: text.replace("Because.", "Therefore."),
    )
    house.seen.watch(page)
    await page.goto(f"{house.pg.origin}/playground/#/{ADA_AT_HEARTH}")
    await line.busy()  # the feed is open: what was missed meanwhile is being read
    await page.locator(f"#message-{changed.id}").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("e")
    field = page.get_by_label("Edit the message")
    await field.fill("Why not?")
    line.goes_on.set()
    await expect(page.locator(f"#message-{changed.id}")).to_contain_text("Therefore.")
    await expect(field).to_be_focused()
    await expect(field).to_have_value("Why not?")
    await page.keyboard.press("Escape")
    await expect(page.locator(f"#message-{stays.id} .text")).to_have_text("Why?")


async def test_an_edit_outlives_a_change_of_its_message(house: House) -> None:
    """A reaction of another does not end what is being written, nor move the cursor."""
    message = await house.pg.say(ADA, HEARTH, "Plums are ripe")
    page = await house.sit()
    await entry(page).press("ArrowUp")
    field = page.get_by_label("Edit the message")
    await field.fill("Pears are ripe")
    await page.keyboard.press("Home")
    await house.pg.react(BO, message, "🔥")
    await expect(page.get_by_role("button", name="🔥, 1")).to_be_visible()
    await expect(field).to_be_focused()
    await page.keyboard.type("No: ")
    await page.keyboard.press("Enter")
    await expect(messages(page)).to_contain_text("No: Pears are ripe (edited)")
    await expect(page.get_by_role("button", name="🔥, 1")).to_be_visible()
    await expect(entry(page)).to_be_focused()


async def test_a_click_counts_though_its_message_changes_meanwhile(house: House) -> None:
    """Between press and release a message is not drawn anew: it would be no click."""
    await house.pg.slash(ADA, HEARTH, "kettle", cups=0)
    (asked,) = house.pg.messages(HEARTH)
    page = await house.sit()
    await keep_shown(page)
    await page.get_by_role("button", name="Light the fire").hover()
    await page.mouse.down()
    await house.pg.react(BO, asked, "🔥")
    await house.pg.typing(BO, HEARTH)
    await expect(page.locator(".typing")).to_have_text("Bo is typing…")  # the change has come, too
    await page.mouse.up()
    await expect(messages(page).filter(has_text="Lit.")).to_be_visible()
    await expect(page.get_by_role("button", name="🔥, 1")).to_be_visible()


async def test_a_click_counts_though_its_place_changes_meanwhile(house: House) -> None:
    """An unread mark that comes between press and release takes no click away."""
    page = await house.sit()
    place = page.get_by_role("link", name="workshop")
    await place.hover()
    await page.mouse.down()
    await house.pg.say(BO, WORKSHOP, "Are you there?")
    await expect(page.get_by_role("link", name="workshop unread")).to_be_visible()
    await page.mouse.up()
    await seated(page, f"{ADA}/{WORKSHOP}")
    await expect(messages(page)).to_contain_text("Are you there?")


async def test_a_command_typed_before_the_commands_are_known_opens(house: House) -> None:
    """It is not said to everybody."""
    line, page = SlowLine(), await house.window.new_page()
    await line.hold(page, "**/commands?*")
    await sit_in(page, house.seen, ADA_AT_HEARTH)
    await entry(page).press_sequentially("/books show")
    await page.keyboard.press("Enter")
    await line.busy()
    line.goes_on.set()
    await expect(page.get_by_role("form", name="Command books show")).to_be_visible()
    assert house.pg.messages(HEARTH) == ()


async def test_choices_for_other_words_are_not_offered(house: House) -> None:
    """What Enter takes is an answer to what stands in the field."""
    page, line = await house.sit(), SlowLine()
    await entry(page).press_sequentially("/books show ")
    await expect(offered(page)).to_have_text(["Embers", "Ashes", "Smoke"])
    await line.hold(page, "**/autocomplete")
    await page.keyboard.type("sm")
    await line.busy()
    await expect(offered(page)).to_have_count(0)
    line.goes_on.set()
    await expect(offered(page)).to_have_text(["Smoke"])
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await expect(messages(page)).to_contain_text("Thirty lines.")
    await expect(messages(page).get_by_role("heading", name="Smoke")).to_be_visible()


async def test_what_is_written_while_a_message_is_on_its_way_stays(house: House) -> None:
    """The field is free at once, and messages arrive in the order in which they were sent."""
    page, line = await house.sit(), SlowLine()
    await line.hold(page, "**/say")
    await entry(page).press_sequentially("one")
    await page.keyboard.press("Enter")
    await expect(entry(page)).to_have_value("")
    await line.busy()
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")
    await page.keyboard.type("and th")
    line.goes_on.set()
    await expect(messages(page)).to_have_count(2)
    await expect(entry(page)).to_have_value("and th")
    await expect(entry(page)).to_be_focused()
    assert [each.content for each in house.pg.messages(HEARTH)] == ["one", "two"]


async def test_what_came_for_another_is_shown_to_nobody(house: House) -> None:
    """Privacy: an answer that only Ada may see comes when Bo sits there already."""
    await house.pg.slash(ADA, HEARTH, "books show", title="Embers")
    page, line = await house.sit(f"{ADA}/{WORKSHOP}"), SlowLine()
    await line.hold(page, f"**/messages?as={ADA}&*")
    await page.evaluate(f"location.hash = '#/{ADA_AT_HEARTH}'")
    await line.busy()
    await page.get_by_label("You are").select_option(label="Bo")
    await seated(page, f"{BO}/{HEARTH}")
    async with page.expect_request_finished(lambda one: f"messages?as={ADA}&" in one.url):
        line.goes_on.set()
    await house.pg.say(BO, HEARTH, "Good evening.")
    await expect(messages(page)).to_have_text([re.compile("Good evening.")])


async def test_the_seat_is_the_one_chosen_last(house: House) -> None:
    """Whoever is chosen while the world of another is still being read sits there."""
    page, line = await house.sit(), SlowLine()
    await line.hold(page, f"**/world?as={BO}")
    await page.get_by_label("You are").select_option(label="Bo")
    await line.busy()
    await expect(page.locator("#composer")).to_have_attribute("inert", "")  # nobody sits there
    await page.get_by_label("You are").select_option(label="Dee")
    async with page.expect_request_finished(lambda one: f"world?as={BO}" in one.url):
        line.goes_on.set()
    await seated(page, f"{DEE}/{HEARTH}")
    await expect(page.get_by_label("You are")).to_have_value(str(DEE))
