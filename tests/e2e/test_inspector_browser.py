"""The inspector as its owner uses it: real Chromium, and behind it the whole bot."""

from __future__ import annotations

import asyncio
import itertools
import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from bot.inspector.server import open_inspector
from bot.names import NoNames
from bot.playground.ids import ADA, BO, DIRECT
from bot.playground.scripted_model import Answer, ScriptedModel
from bot.playground.server import Playground
from config.settings import InspectorSettings
from sessions.run_feed import RunFeed
from support.app_world import READY_SECONDS, AppWorld, running
from support.browser import Seen, needs_chromium, unreadable, well_behaved
from support.recorded_runs import RUN, Said, record_run
from support.session_world import eventually

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),  # one browser for all of them
    needs_chromium,
]
WAIT = READY_SECONDS * 1000
"""Milliseconds for a start of pi, or of anything else, on a busy machine."""
HOSTILE = (
    "\"'><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
)
LINK = re.compile(r"http://127\.0\.0\.1:\d+/sign-in\?ticket=[\w-]+")


class HostileNames(NoNames):
    """A Discord where everything is called something bad."""

    def channel(self, channel_id: str) -> str:
        return f"{HOSTILE}\u202e{channel_id}"

    def person(self, user_id: str) -> str:
        return f"{HOSTILE}\u202e{user_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A recorded run, its inspector, and a browser before it."""

    browser: Browser
    seen: Seen
    link: Callable[[], str]
    feed: RunFeed = field(default_factory=RunFeed)

    async def sit(self, *, width: int = 1280, dark: bool = False, script: bool = True) -> Page:
        """Sign in by a link of one's own, as somebody who never was here."""
        context = await self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            locale="en-GB",
        )
        return await self.sit_in(context)

    async def sit_in(self, context: BrowserContext) -> Page:
        page = await context.new_page()
        page.set_default_timeout(WAIT)
        self.seen.watch(page)
        await page.goto(self.link())
        await page.get_by_role("button", name="Sign in with this browser").click()
        await expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        return page


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    home = tmp_path_factory.mktemp("home")
    said = [Said(text=HOSTILE, number=1), Said(text="pears\u202e", number=2)]
    await record_run(home, said)
    feed, settings = RunFeed(), InspectorSettings(port=0)
    async with open_inspector(home, settings, feed=feed, names=HostileNames()) as inspector:
        assert inspector is not None
        with well_behaved(inspector.origin) as seen:
            yield Desk(browser=browser, seen=seen, link=inspector.link, feed=feed)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def nothing_stays_open(browser: Browser) -> AsyncIterator[None]:
    yield
    for context in browser.contexts:
        await context.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """The running bot, and its inspector's address once it was sent."""

    app: AppWorld
    browser: Browser


@pytest_asyncio.fixture(loop_scope="module")
async def house(browser: Browser, tmp_path: Path) -> AsyncIterator[House]:
    settings = {"inspector": {"enabled": True, "port": 0}}
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(tmp_path / "home", pg, model, settings) as app,
    ):
        yield House(app=app, browser=browser)


def posted(home: Path) -> int:
    """How many messages are known to be in their channel since when."""
    db = sqlite3.connect(home / "inglenook.db")
    (count,) = db.execute("SELECT count(*) FROM replies WHERE at IS NOT NULL").fetchone()
    db.close()
    return int(count)


async def sent_link(app: AppWorld) -> str:
    """Ask for a link as its owner does, and read it in the direct message."""
    before = app.pg.messages(DIRECT[ADA])[-1:]
    answer = await app.slash(ADA, DIRECT[ADA], "inspect")
    message = await app.pg.wait_for_message(
        DIRECT[ADA],
        lambda message: LINK.search(message.content) is not None,
        after=before[0] if before else None,
    )
    assert LINK.search(answer.text) is None  # the command's answer names no key
    assert answer.ephemeral
    found = LINK.search(message.content)
    assert found is not None
    return found.group()


async def everything_is_told(page: Page) -> None:
    """What a turn was given: blocks, what left for the provider, what changed."""
    blocks = page.locator("table.blocks")
    for block in ("identity", "runtime-policy", "runtime-scope", "message"):
        await expect(blocks.get_by_role("rowheader", name=block)).to_be_visible()
    await expect(page.locator("#turn")).to_contain_text("exactly as compiled")
    await expect(page.locator("#turn")).to_contain_text("from the provider's cache")
    await expect(page.locator("#turn")).to_contain_text("The system prompt is the same")
    changed = page.locator("table.changes tr").filter(has_text="message")
    await expect(changed).to_contain_text("changed")


async def a_turn_is_followed(app: AppWorld, page: Page) -> None:
    """Issue "Live": a turn is seen while the model is at it, and so is its first word."""
    turns = page.locator("#timeline a.turn")
    gate, rest = asyncio.Event(), asyncio.Event()
    app.model.script(Answer(chunks=("At ", "last."), before=gate, between=rest))
    asked = await app.pg.say(ADA, DIRECT[ADA], "Who brings the plums?")
    await expect(turns.last).to_contain_text("running")
    await expect(page.get_by_role("heading", name="Turn 2")).to_be_visible()
    await expect(page.locator("main")).not_to_contain_text("first word after")
    gate.set()
    await expect(turns.last).to_contain_text("first word after")
    await expect(turns.last).to_contain_text("running")
    await expect(page.locator("#announcer")).to_contain_text("running, first word after")
    rest.set()
    await app.pg.wait_for_message(
        DIRECT[ADA], lambda message: message.reply_to == asked.id, after=asked
    )
    await expect(turns.last).to_contain_text("replied")
    await expect(page.locator("#announcer")).to_have_text("Turn 2: replied")
    await expect(page.locator("main")).not_to_contain_text("first word after")


async def test_an_owner_follows_an_answer_and_understands_it(house: House) -> None:
    """Issue "Done when": sign-in, live following, a run, a diff, the exact text, verify."""
    app = house.app
    link = await sent_link(app)
    with well_behaved(link.partition("/sign-in")[0]) as seen:
        desk = Desk(browser=house.browser, seen=seen, link=lambda: link)
        page = await desk.sit()
        await expect(page.get_by_text("No runs yet")).to_be_visible()
        await expect(page.get_by_role("status").filter(has_text="live")).to_be_visible()

        # The list follows: a run appears, and says how its turn ended.
        await app.ask(ADA, DIRECT[ADA], "Good evening")
        row = page.get_by_role("row").filter(has_text="DM with Ada")
        await expect(row).to_contain_text("replied")
        await row.get_by_role("link").click()
        turns = page.locator("#timeline a.turn")
        await expect(turns).to_have_count(1)

        await a_turn_is_followed(app, page)
        await everything_is_told(page)
        await expect(page.locator("main")).not_to_contain_text("Who brings the plums?")

        # Private texts open by a click, in their place, and close by another.
        await page.locator("#text-message").click()
        await expect(page.locator("pre.exact")).to_contain_text("Who brings the plums?")
        await page.locator("#text-message").click()
        await expect(page.locator("pre.exact")).to_have_count(0)
        await page.locator("#differs-message").focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("pre.exact mark")).to_have_count(2)

        # From Discord's answer it is one click to the turn.
        shown = await app.slash(ADA, DIRECT[ADA], "runs show", run="latest", turn="1")
        address = re.search(r"<(http://[^>]+/runs/[^>]+)>", shown.text)
        assert address is not None
        await page.goto(address.group(1))
        await expect(page.get_by_role("heading", name="Turn 1", exact=True)).to_be_visible()

        await page.get_by_role("button", name="Verify now").click()
        await expect(page.get_by_role("heading")).to_contain_text("Everything is as it was written")

        # The link has been used, and leaving ends the session.
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_text("This browser is signed out.")).to_be_visible()
        for path in (link, link.partition("/sign-in")[0]):
            await page.goto(path)
            await expect(page.get_by_text("/inspect")).to_be_visible()
        seen.complaints.clear()  # the console notes refusals
    refused = await app.slash(BO, DIRECT[BO], "inspect")
    assert "Only my owner" in refused.text
    await eventually(lambda: posted(app.home) == 2)


async def test_hostile_texts_stay_texts_on_a_phone_and_in_the_dark(desk: Desk) -> None:
    """Issue "Bad input": hostile names and texts in every field, at phone width."""
    page = await desk.sit(width=390, dark=True)
    for path in ("/", f"/runs/{RUN}?turn=1", f"/runs/{RUN}"):
        await page.goto(desk.seen.origin + path)
        await expect(page.locator("main")).to_contain_text(HOSTILE)
        await expect(page).not_to_have_title("owned")
        strange = await page.evaluate(
            "document.querySelectorAll('main img, main script, main i, main style').length"
        )
        assert strange == 0
        wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide, path
    await page.locator("#text-message").click()
    await expect(page.locator("pre.exact .odd").first).to_have_text("U+202E")
    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    await page.get_by_role("button", name="light").click()
    await expect(page.get_by_role("button", name="light")).to_have_attribute("aria-pressed", "true")
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") != ground
    await expect(page).to_have_url(re.compile(f"/runs/{RUN}"))  # where it was


async def test_without_a_script_everything_is_there(desk: Desk) -> None:
    """Issue "Bad input": a browser without script."""
    page = await desk.sit(script=False)
    await page.locator(f"#run-{RUN}").click()
    await page.locator("#turn-1").click()
    await expect(page.get_by_role("heading", name="Turn 1", exact=True)).to_be_visible()
    await page.locator("#text-message").click()
    await expect(page.locator("pre.exact")).to_contain_text("owned")
    await page.goto(f"{desk.seen.origin}/runs/{RUN}/turns/2/difference/message")
    await expect(page.locator("pre.exact mark")).to_have_count(2)
    await page.get_by_role("button", name="dark").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_every_control_and_picture_has_a_name(desk: Desk) -> None:
    """Keyboard and screen readers: names, one main part, headings in order, focus that is seen."""
    page = await desk.sit()
    for path in ("/", f"/runs/{RUN}", f"/runs/{RUN}/turns/2/text/message"):
        await page.goto(desk.seen.origin + path)
        nameless = await page.evaluate(
            """() => [...document.querySelectorAll(
                'button, a, select, input:not([type=hidden]), [role=img], [role=region], table'
            )].filter(n => !(n.ariaLabel || n.textContent.trim() || n.labels?.length))
              .map(n => n.outerHTML)"""
        )
        assert nameless == []
        levels = await page.evaluate(
            "[...document.querySelectorAll('h1, h2, h3')].map(n => Number(n.tagName[1]))"
        )
        assert levels[0] == 1
        assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_every_text_stands_out_from_its_ground(desk: Desk, dark: bool) -> None:  # noqa: FBT001
    """Both themes can be read: WCAG's contrast, also of what is folded away or went wrong."""
    page = await desk.sit(dark=dark)
    run = f"/runs/{RUN}"
    for path in (
        "/?q=nothing",
        "/",
        run,
        f"{run}/turns/2/text/message",
        f"{run}/turns/2/difference/message",
        "/runs/2020-01-01-00-00-00-zzzz",
    ):
        await page.goto(desk.seen.origin + path)
        await page.evaluate(
            "document.querySelectorAll('details').forEach(one => { one.open = 1; })"
        )
        assert await unreadable(page) == [], path
    desk.seen.complaints.clear()  # the console notes the page that is not there


async def test_a_page_that_nobody_looks_at_asks_for_nothing(desk: Desk) -> None:
    """Issue "Live": no polling storm, and it ends when the page is hidden.

    What changed after the page was made and before it was told anything is looked for at once.
    """
    await eventually(lambda: desk.feed.listening == 0)  # pages of other tests
    context = await desk.browser.new_context()
    asked: list[str] = []
    context.on("request", lambda request: asked.append(f"{request.resource_type} {request.url}"))
    page = await desk.sit_in(context)
    look = f"fetch {desk.seen.origin}/"
    await eventually(lambda: look in asked)
    assert desk.feed.listening == 1
    asked.clear()
    for _ in range(50):
        desk.feed.tell(RUN)
    await eventually(lambda: look in asked)
    await turn_to(page, hidden=True)
    await expect(page.locator("#live")).to_have_text("paused")
    await eventually(lambda: desk.feed.listening == 0)
    assert asked.count(look) == 1  # for all fifty
    desk.feed.tell(RUN)
    await turn_to(page, hidden=False)
    await expect(page.locator("#live")).to_have_text("live")
    await eventually(lambda: desk.feed.listening == 1)


async def turn_to(page: Page, *, hidden: bool) -> None:
    """Tell the page that its tab was left, or is looked at again."""
    await page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )
