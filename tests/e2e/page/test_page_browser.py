"""The chat page as a person uses it: real Chromium, real discord.py, real sockets."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from bot.playground.ids import ADA, BO, DEE, DIRECT, EMBER, HEARTH, WORKSHOP
from support.browser import (
    entry,
    keep_shown,
    messages,
    needs_chromium,
    offered,
    say,
    seated,
    sit,
)
from support.chat_house import ADA_AT_HEARTH, House

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),  # one browser for all of them
    needs_chromium,
]


async def test_ada_speaks_and_is_answered(house: House) -> None:
    """The issue's way in: pick who you are, mention the bot, see its answer as a reply."""
    page = await house.sit(f"{BO}/{HEARTH}")
    await page.get_by_label("You are").select_option(label="Ada (owner)")
    await seated(page, ADA_AT_HEARTH)
    await entry(page).press_sequentially("@em")
    await expect(offered(page, "@Ember")).to_be_visible()
    await page.keyboard.press("Enter")
    await page.keyboard.type("good evening")
    await page.keyboard.press("Enter")
    await expect(messages(page)).to_have_count(2)
    asked, answered = house.pg.messages(HEARTH)
    assert asked.author_id == ADA
    assert asked.content == f"<@{EMBER}> good evening"
    assert answered.reply_to == asked.id
    await expect(messages(page).last).to_contain_text("You said: @Ember good evening")
    await expect(messages(page).last.locator(".origin")).to_contain_text("Ada")


async def test_reply_edit_react_delete(house: House) -> None:
    theirs = await house.pg.say(BO, HEARTH, "Who is there?")
    page = await house.sit()
    await messages(page).first.hover()
    await messages(page).first.get_by_label("Reply").click()
    await say(page, "It is me")
    await expect(messages(page)).to_have_count(2)
    mine = house.pg.messages(HEARTH)[-1]
    assert mine.reply_to == theirs.id
    await entry(page).press("ArrowUp")
    field = page.get_by_label("Edit the message")
    await expect(field).to_be_focused()
    await field.fill("It is I")
    await page.keyboard.press("Enter")
    await expect(messages(page).last).to_contain_text("It is I (edited)")
    assert mine.content == "It is I"
    await messages(page).last.hover()
    await messages(page).last.get_by_label("Add a reaction").click()
    await page.get_by_role("menuitem", name="fire").click()
    await expect(
        messages(page).last.get_by_role("button", name="🔥, 1, with yours")
    ).to_be_visible()
    await messages(page).last.hover()
    await messages(page).last.get_by_label("More").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("button", name="Delete").click()
    await expect(messages(page)).to_have_count(1)
    assert house.pg.messages(HEARTH) == (theirs,)


async def test_a_slash_command_answers_ada_alone(house: House, browser: Browser) -> None:
    """Palette, autocomplete and options by keyboard; the answer is nobody else's."""
    ada = await house.sit()
    async with await browser.new_context() as other:  # of two tabs in a window, one is not drawn
        await _shown_to_ada_alone(house, ada, await sit(other, house.seen, f"{BO}/{HEARTH}"))


async def _shown_to_ada_alone(house: House, ada: Page, bo: Page) -> None:
    await entry(ada).press_sequentially("/boo")
    await expect(offered(ada, "/books show")).to_be_visible()
    await ada.keyboard.press("Enter")
    await expect(ada.get_by_role("form", name="Command books show")).to_be_visible()
    await ada.keyboard.type("em")
    await expect(offered(ada)).to_have_text(["Embers"])
    await ada.keyboard.press("Enter")
    await ada.keyboard.press("Enter")
    whisper = messages(ada).first
    await expect(whisper).to_contain_text("Only you can see this")
    await expect(whisper.get_by_role("heading", name="Embers")).to_be_visible()
    await whisper.get_by_role("button", name="Show all 30 lines").click()
    await expect(whisper.locator(".file-text")).to_contain_text("line 30 of Embers")
    async with ada.expect_download() as download:
        await whisper.get_by_label("Download pages.txt").click()
    assert (await download.value).suggested_filename == "pages.txt"
    await house.pg.say(DEE, HEARTH, "after it")
    await expect(messages(bo)).to_have_count(1)
    await expect(messages(bo).first).to_contain_text("after it")
    await whisper.get_by_role("button", name="Dismiss").click()
    await expect(messages(ada)).to_have_count(1)


async def test_commands_of_the_owner_are_not_offered_to_others(house: House) -> None:
    page = await house.sit(f"{BO}/{HEARTH}")
    await page.get_by_role("button", name="Commands").click()
    await expect(offered(page)).to_have_count(2)
    await expect(offered(page, "/books show")).to_have_count(0)


async def test_buttons_selects_and_forms(house: House) -> None:
    await house.pg.slash(ADA, HEARTH, "kettle", cups=0)
    page = await house.sit()
    await page.get_by_role("button", name="Light the fire").click()
    await expect(messages(page).last).to_contain_text("Lit.")
    await page.get_by_role("button", name="Ask me").click()
    await page.get_by_label("What is it about?").fill("<b>warmth</b>")
    await page.keyboard.press("Enter")
    await expect(messages(page).last).to_contain_text("You asked about <b>warmth</b>.")
    await messages(page).first.get_by_role("combobox").select_option("tea")
    await expect(messages(page).last).to_contain_text("tea it is.")


async def test_the_menu_of_a_message_by_keyboard(house: House) -> None:
    """No mouse: into the list, open the menu, choose the app's entry."""
    message = await house.pg.say(BO, HEARTH, "Because.")
    page = await house.sit()
    await page.locator(f"#message-{message.id}").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitem", name="Reply")).to_be_focused()
    await page.keyboard.press("End")
    await page.keyboard.press("Enter")
    await expect(messages(page).last).to_contain_text(f"Because of {message.id}.")


HOSTILE = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "[click](javascript:alert(1)) <javascript:alert(1)>",
    "**bold** <b>not</b> `<i>code</i>`",
    "||spoiler|| \u202eabc \ud800",
    "# </article></main><h1>big</h1>",
]


async def test_hostile_texts_stay_texts(house: House) -> None:
    """No markup of a person becomes markup of the page, and nothing is fetched for it."""
    for text in HOSTILE:
        await house.pg.say(BO, HEARTH, text)
    await house.pg.say(BO, HEARTH, "https://elsewhere.test/a.png <https://elsewhere.test>")
    page = await house.sit()
    await expect(messages(page)).to_have_count(len(HOSTILE) + 1)
    made = await page.locator("#messages .text").evaluate_all(
        "nodes => nodes.flatMap(n => [...n.querySelectorAll('script, img, i, b, h1, a')]).length"
    )
    assert made == 0
    assert await page.locator("#messages .text strong").all_text_contents() == ["bold"]
    await expect(messages(page).nth(0)).to_contain_text("<script>document.title='owned'</script>")
    await expect(page).not_to_have_title("owned")


async def test_marks_of_text_are_drawn(house: House) -> None:
    await house.pg.say(
        BO, HEARTH, "*a* **b** __c__ ~~d~~ `e` snake_case_name 2*3*4\n> quote\n- one"
    )
    await house.pg.say(BO, HEARTH, f"<@{ADA}> <#{WORKSHOP}> <t:0:D>\n```py\nx = '*y*'\n```")
    page = await house.sit()
    first, second = messages(page).nth(0), messages(page).nth(1)
    for mark, text in (("em", "a"), ("strong", "b"), ("u", "c"), ("s", "d"), ("code", "e")):
        await expect(first.locator(f".text {mark}").first).to_have_text(text)
    await expect(first.locator("blockquote")).to_have_text("quote")
    await expect(first.locator("li")).to_have_text("one")
    await expect(first).to_contain_text("snake_case_name")
    await expect(second.locator(".mention")).to_have_text(["@Ada", "#workshop"])
    await expect(second.locator("time[datetime='1970-01-01T00:00:00.000Z']")).to_have_count(1)
    await expect(second.locator("pre code")).to_have_text("x = '*y*'")


async def test_files_are_sent_and_shown(house: House) -> None:
    page = await house.sit()
    files = [{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello there"}]
    await page.locator("#composer input[type=file]").set_input_files(files)  # type: ignore[arg-type]
    await expect(page.get_by_role("list", name="Files to send")).to_contain_text("notes.txt")
    await entry(page).press("Enter")
    await expect(messages(page).last.locator(".file-text")).to_have_text("hello there")
    assert house.pg.messages(HEARTH)[-1].attachments[0].data == b"hello there"


async def test_unread_marks_and_typing(house: House) -> None:
    page = await house.sit()
    await keep_shown(page)
    await house.pg.typing(BO, HEARTH)
    await expect(page.locator(".typing")).to_have_text("Bo is typing…")
    await house.pg.say(BO, WORKSHOP, "Are you there?")
    place = page.get_by_role("link", name="workshop unread")
    await expect(place).to_be_visible()
    await place.click()
    await expect(messages(page)).to_have_count(1)
    await expect(page.get_by_role("link", name="unread")).to_have_count(0)


async def test_a_refusal_is_said_in_words_and_loses_nothing(house: House) -> None:
    page = await house.sit()
    await keep_shown(page)
    await entry(page).fill("x" * 2001)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("2000")
    await expect(entry(page)).to_have_value("x" * 2001)
    house.seen.complaints.clear()  # the browser's console notes every answer of 400


async def test_a_phone_shows_one_thing_at_a_time(house: House) -> None:
    page = await house.sit(width=390)
    await house.pg.say(BO, HEARTH, "w" * 900 + " `" + "v" * 300 + "`")
    await expect(messages(page)).to_have_count(1)
    wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide
    await expect(page.get_by_role("navigation")).not_to_be_visible()
    await page.get_by_label("Show conversations").click()
    await page.get_by_role("link", name="Ember").click()
    await expect(page.get_by_role("heading", name="Ember")).to_be_visible()
    await expect(page.get_by_role("navigation")).not_to_be_visible()
    await say(page, "hello")
    await expect(messages(page).last).to_contain_text("You said: hello")
    assert house.pg.messages(DIRECT[ADA])[-1].author_id == EMBER


async def test_every_control_has_a_name(house: House) -> None:
    """Screen readers: no button, link or field without a name."""
    await house.pg.slash(ADA, HEARTH, "kettle", cups=0)
    page = await house.sit()
    nameless = await page.evaluate(
        """() => [...document.querySelectorAll('button, a, select, textarea, input:not([hidden])')]
            .filter(n => !(n.ariaLabel || n.textContent.trim() || n.labels?.length))
            .map(n => n.outerHTML)"""
    )
    assert nameless == []
