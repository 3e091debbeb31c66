"""The pictures of docs/: every page and every drawn answer, at two widths and in both themes.

From ``tests``: ``PYTHONPATH=.. python -m support.pictures`` runs the bot on the playground with a
scripted model, lives through an evening in it, and takes the pictures with Chromium. Times and ids
differ from one run to the next; what is shown, and how it is made, does not.
"""

from __future__ import annotations

import asyncio
import io
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.async_api import Browser, Page

from bot.playground import page as chat_page
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HEARTH
from bot.playground.scripted_model import Answer, HttpError, ScriptedModel
from bot.playground.server import Playground
from support.app_world import AppWorld, running
from support.browser import chromium

HERE: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
WIDTHS: Final = {"": (1100, 860), "-phone": (390, 800)}
DRAWN: Final = {"runs-show": "turn"}
"""What the drawing alone is called, where it is not as its answer."""
THEMES: Final = ("light", "dark")
COLOURS: Final = 200
"""Of a picture: as many as flat pages need, so that a clone stays light."""
WAIT: Final = 40_000
"""Milliseconds."""
ENGINE: Final = {
    "provider": "test",
    "model": "scripted",
    "context_window": 200_000,
    "max_tokens": 512,
    "retry_base_seconds": 0.01,
    "cost_input": 0.25,
    "cost_output": 2.0,
    "cost_cache_read": 0.025,
}
PURPOSE: Final = (
    "The hearth of the Orchard: plans for the harvest, and what is on the table tonight."
)
EVENING: Final = (
    (ADA, "Good evening! What shall we do with all these plums?", "Jam, and a cake for tonight."),
    (BO, "I can bring the big pot. When do we start?", "At six, before the light goes."),
    (CY, "Is there cinnamon left?", "Half a jar, on the shelf by the window."),
    (BO, "And who brings the jars?", "Cy has two dozen, and I know where the lids are."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Studio:
    """A running bot in the middle of its evening, and a browser before it."""

    app: AppWorld
    browser: Browser
    inspector: str
    """Where the inspector is."""
    to: Path

    async def seat(self, *, size: tuple[int, int], theme: str) -> Page:
        """Give a fresh browser of a width and a theme."""
        context = await self.browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if theme == "dark" else "light",
            device_scale_factor=1,
            locale="en-GB",
        )
        page = await context.new_page()
        page.set_default_timeout(WAIT)
        return page

    async def link(self) -> str:
        """Ask for a sign-in link, as its owner does."""
        before = self.app.pg.messages(DIRECT[ADA])[-1:]
        await self.app.slash(ADA, DIRECT[ADA], "inspect")
        message = await self.app.pg.wait_for_message(
            DIRECT[ADA],
            lambda message: "/sign-in?ticket=" in message.content,
            after=before[0] if before else None,
        )
        found = next(word for word in message.content.split() if "/sign-in?ticket=" in word)
        return found.strip("<>")

    async def signed_in(self, *, size: tuple[int, int], theme: str) -> Page:
        """Give a browser that was let in."""
        page = await self.seat(size=size, theme=theme)
        await page.goto(await self.link())
        await page.get_by_role("button", name="Sign in with this browser").click()
        await page.locator("table.runs").wait_for()
        return page

    async def take(self, page: Page, name: str) -> None:
        """Take a picture of what is in view."""
        png = await page.screenshot(animations="disabled")
        flat = (
            Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        )
        await asyncio.to_thread(flat.save, self.to / f"{name}.png", optimize=True)
        sys.stdout.write(f"{name}\n")


async def live_through(app: AppWorld) -> None:
    """Have an evening: answers, a house rule, a refusal of the provider."""
    await app.slash(ADA, HEARTH, "channel purpose", text=PURPOSE)
    app.model.script(Answer.of("No raisins, then. Nobody will miss them."))
    await app.ask(ADA, HEARTH, f"<@{EMBER}> prohibit raisins")
    for who, said, answer in EVENING:
        app.model.script(Answer.of(*answer.partition(", ")))
        await app.ask(who, HEARTH, f"<@{EMBER}> {said}")
    app.model.script(Answer.of("Almonds, thinly sliced."))
    await app.ask(BO, HEARTH, f"<@{EMBER}> What goes on top of the cake?")
    app.model.script(HttpError(status=401))
    await app.ask(CY, HEARTH, f"<@{EMBER}> Shall I fetch more wood?")
    app.model.script(Answer.of("Only if you pass the shed anyway."))
    await app.ask(CY, HEARTH, f"<@{EMBER}> Shall I fetch more wood?")
    app.model.script(Answer.of("Good evening, Ada. The kettle is on."))
    await app.ask(ADA, DIRECT[ADA], "Good evening, Ember.")


# --- the inspector


async def sign_in(studio: Studio, page: Page, run: str) -> None:
    """Show the one button of a link."""
    del run
    await page.goto(await studio.link())


async def refused(studio: Studio, page: Page, run: str) -> None:
    """Show what becomes of a link that was used."""
    del run
    await page.goto(f"{studio.inspector}/sign-in?ticket=used")


async def runs(studio: Studio, page: Page, run: str) -> None:
    """Show the list."""
    del run
    await page.goto(f"{studio.inspector}/")


async def one_run(studio: Studio, page: Page, run: str) -> None:
    """Show a run."""
    await page.goto(f"{studio.inspector}/runs/{run}?turn=3")


async def text(studio: Studio, page: Page, run: str) -> None:
    """Show the exact text of a block, opened in its place."""
    await page.goto(f"{studio.inspector}/runs/{run}?turn=3")
    await page.locator("#text-message").click()
    await page.locator("pre.exact").wait_for()
    await page.locator("table.blocks").scroll_into_view_if_needed()
    await page.locator("table.blocks").evaluate("table => table.scrollIntoView()")


async def difference(studio: Studio, page: Page, run: str) -> None:
    """Show the first byte that differs, and the provider's cache below."""
    await page.goto(f"{studio.inspector}/runs/{run}?turn=3")
    await page.locator("#differs-message").click()
    await page.locator("pre.exact mark").first.wait_for()
    await page.locator("h3", has_text="What changed").evaluate("title => title.scrollIntoView()")


async def verify(studio: Studio, page: Page, run: str) -> None:
    """Show a trace that was worked out anew."""
    await page.goto(f"{studio.inspector}/runs/{run}")
    await page.get_by_role("button", name="Verify now").click()
    await page.get_by_text("Everything is as it was written").wait_for()


async def take_live(studio: Studio, page: Page, run: str, name: str) -> None:
    """Take a turn in the middle of its answer."""
    await page.goto(f"{studio.inspector}/runs/{run}")
    await page.locator("#live.on").wait_for()
    before = await page.locator("#timeline a.turn").count()
    rest = asyncio.Event()
    studio.app.model.script(Answer(chunks=("Not yet; ", "the stars come first."), between=rest))
    asked = await studio.app.pg.say(CY, HEARTH, f"<@{EMBER}> Is it time to go in?")
    await page.locator("#timeline a.turn").nth(before).wait_for()
    await page.locator("#turn .word").wait_for()
    await page.locator("#timeline").evaluate("part => part.scrollIntoView()")
    await studio.take(page, name)
    rest.set()
    await studio.app.pg.wait_for_message(
        HEARTH, lambda message: message.reply_to == asked.id, after=asked
    )


SEEN: Final = """async line => {
    for (const each of line.querySelectorAll('img')) {
        each.loading = 'eager';
        await each.decode();
    }
}"""
"""Waits until the pictures of an answer are drawn."""
Show = Callable[[Studio, Page, str], Awaitable[None]]
INSPECTOR: Final[dict[str, Show]] = {
    "runs": runs,
    "inspector": one_run,
    "text": text,
    "difference": difference,
    "verify": verify,
}
OUTSIDE: Final[dict[str, Show]] = {"sign-in": sign_in, "refused": refused}


async def take_inspector(studio: Studio, run: str) -> None:
    """Take all pages of the inspector."""
    for narrow, size in WIDTHS.items():
        for theme in THEMES:
            stranger = await studio.seat(size=size, theme=theme)
            for name, show in OUTSIDE.items():
                await show(studio, stranger, run)
                await studio.take(stranger, f"{name}{narrow}-{theme}")
            page = await studio.signed_in(size=size, theme=theme)
            for name, show in INSPECTOR.items():
                await show(studio, page, run)
                await studio.take(page, f"{name}{narrow}-{theme}")
            await take_live(studio, page, run, f"live{narrow}-{theme}")
            for each in (stranger, page):
                await each.context.close()


# --- Discord, as the playground shows it


async def take_chat(studio: Studio, answers: dict[str, Message]) -> None:
    """Take the conversation, and the answers that carry a picture."""
    for narrow, size in WIDTHS.items():
        for theme in THEMES:
            page = await studio.seat(size=size, theme=theme)
            await sit(studio, page, BO)
            await studio.take(page, f"chat-page{narrow}-{theme}")
            await sit(studio, page, ADA)
            for name, message in answers.items():
                shown = page.locator(f'[data-id="{message.id}"]')
                await shown.evaluate("line => line.scrollIntoView({ block: 'start' })")
                await shown.evaluate(SEEN)
                await studio.take(page, f"{name}{narrow}-{theme}")
            await page.context.close()


async def sit(studio: Studio, page: Page, who: int) -> None:
    """Open the hearth as somebody; answers for one alone are seen by nobody else."""
    await page.goto(f"{studio.app.pg.origin}/playground/#/{who}/{HEARTH}")
    await page.reload()
    await page.wait_for_selector("#messages[aria-busy=false]")
    await page.locator("#messages .message").last.wait_for()


async def keep_drawings(studio: Studio, answers: dict[str, Message]) -> None:
    """Keep the drawn pictures themselves."""
    for name, message in answers.items():
        for attachment in message.attachments:
            if attachment.filename.endswith(".png"):
                drawn = studio.to / f"{DRAWN.get(name, name)}.png"
                await asyncio.to_thread(drawn.write_bytes, attachment.data)


async def main(to: Path) -> None:
    """Take everything."""
    await asyncio.to_thread(to.mkdir, parents=True, exist_ok=True)

    def attach(app: object, playground: Playground) -> None:
        chat_page.attach(app, playground)  # type: ignore[arg-type]  # an aiohttp application

    with tempfile.TemporaryDirectory() as home:
        async with (
            Playground(extend=(attach,)) as pg,
            ScriptedModel() as model,
            chromium() as browser,
        ):
            settings = {
                "inspector": {"enabled": True, "port": 0},
                "box": {"mode": "off"},
                "engine": {**ENGINE, "url": model.url},
            }
            async with running(Path(home), pg, model, settings) as app:
                await live_through(app)
                told = await app.slash(ADA, HEARTH, "runs show")
                address = next(word.strip("<>") for word in told.text.split() if "/runs/" in word)
                inspector, _, run = address.partition("/runs/")
                answers = {"runs-show": told.messages[0]}
                for name in ("usage", "cache"):
                    answers[name] = (await app.slash(ADA, HEARTH, name)).messages[0]
                studio = Studio(app=app, browser=browser, inspector=inspector, to=to)
                await keep_drawings(studio, answers)
                await take_chat(studio, answers)
                await take_inspector(studio, run.partition("?")[0])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if sys.argv[1:] else HERE))
