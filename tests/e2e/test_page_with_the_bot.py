"""The owner's first evening: the chat page in real Chromium, and behind it the whole bot."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from bot.playground import page as chat_page
from bot.playground.ids import ADA, DIRECT
from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from support.app_world import AppWorld, running
from support.browser import (
    entry,
    messages,
    needs_chromium,
    offered,
    say,
    sit,
    well_behaved,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    needs_chromium,
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evening:
    """The running bot, and Ada's page in her direct messages."""

    app: AppWorld
    page: Page


@pytest_asyncio.fixture(loop_scope="module")
async def evening(browser: Browser, tmp_path: Path) -> AsyncIterator[Evening]:
    settings = {"grants": [{"tool": "bash", "verdict": "gate"}]}
    async with (
        Playground(extend=[chat_page.attach]) as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, settings) as app,
        await browser.new_context(locale="en-GB") as window,
    ):
        await app.commands.wait()
        with well_behaved(pg.origin) as seen:
            yield Evening(app=app, page=await sit(window, seen, f"{ADA}/{DIRECT[ADA]}"))


async def choose(page: Page, *keys: str) -> Locator:
    """Type a command, confirm each step with Enter, and give the newest message."""
    known = await messages(page).count()
    await entry(page).press_sequentially(keys[0])
    await expect(offered(page, keys[0])).to_be_visible()
    await page.keyboard.press("Enter")
    for typed in keys[1:]:
        await page.keyboard.type(typed)
        await expect(offered(page)).to_have_count(1)
        await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await expect(messages(page)).to_have_count(known + 1)
    return messages(page).last


async def test_ada_is_answered_and_looks_why(evening: Evening) -> None:
    """Issue "Proofs": a DM, its answer, /runs show, and "Why this answer?", all on the page."""
    app, page = evening.app, evening.page
    app.model.script(Answer.of("Good evening, ", "Ada."))
    await say(page, "Good evening, Ember")
    await expect(messages(page)).to_have_count(2)
    answer = messages(page).nth(1)
    await expect(answer).to_contain_text("Good evening, Ada.")
    (run,) = (folder.name for folder in (app.home / "runs").iterdir())

    shown = await choose(page, "/runs show", run[-4:])
    await expect(shown).to_contain_text("Only you can see this")
    await expect(shown).to_contain_text("verified")
    for block in ("identity", "runtime-policy", "runtime-scope", "message"):
        await expect(shown).to_contain_text(block)
    await expect(shown).not_to_contain_text("Good evening")  # sizes and hashes, no content

    await answer.hover()
    await answer.get_by_label("More").click()
    await page.get_by_role("menuitem", name="Why this answer?").click()
    await expect(messages(page)).to_have_count(4)
    why = messages(page).last
    await expect(why).to_contain_text(run)
    await expect(why).to_contain_text("Only you can see this")


async def test_ada_reads_exactly_what_the_model_was_given(evening: Evening) -> None:
    """Issue "Bot": /runs context gives system prompt and input as files, and they are the sent."""
    app, page = evening.app, evening.page
    await app.ask(ADA, DIRECT[ADA], "what is an inglenook?")
    await expect(messages(page)).to_have_count(2)
    shown = await choose(page, "/runs context", "20")
    await expect(shown).to_contain_text("every hash matches")
    files = shown.locator(".file-text")
    await expect(files.first).to_contain_text("INGLENOOK SYSTEM BLOCK: IDENTITY")
    await expect(files.last).to_contain_text("what is an inglenook?")
    async with page.expect_download() as download:
        await shown.get_by_label("Download system.md").click()
    text = (await (await download.value).path()).read_text(encoding="utf-8")
    assert text in app.model.requests[0].system_text


async def test_ada_lets_a_command_run_and_it_finds_no_secret(evening: Evening) -> None:
    """Issue "Done when": a command waits, she approves it on the page, and it stays in its box.

    What it printed is in the next turn's briefing, and the imp says so by itself.
    """
    app, page = evening.app, evening.page
    secret = app.home / "org.toml"
    assert "token" in secret.read_text(encoding="utf-8")
    pry = f"cat {secret} {app.home}/.env /proc/1/environ | grep -ai token; ls {app.home}; id -un"
    app.model.script(
        Answer.call(ToolCall(name="bash", arguments={"command": pry})),
        Answer.of("That waits for you."),
        Answer.of("There is nothing to be seen."),
    )
    await say(page, "Show me your secrets")
    card = messages(page).filter(has_text="asks: may I?")
    await expect(card).to_contain_text("run a command")
    await expect(card).to_contain_text("grep -ai token")
    await card.get_by_role("button", name="Approve").click()
    await expect(card).to_contain_text("and done")
    word = messages(page).filter(has_text="There is nothing to be seen.")
    await expect(word).to_be_visible()
    briefing = app.model.requests[-1].last_user_text
    assert '"outcome":"executed"' in briefing
    assert briefing.count("No such file or directory") == 3
    assert "imp" in briefing
    assert "token =" not in briefing
