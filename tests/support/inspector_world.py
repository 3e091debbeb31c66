"""An inspector over a home, and a browser's side of it without a browser."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import aiohttp

from bot.inspector.server import Inspector, open_inspector
from bot.names import Names, NoNames
from config.settings import InspectorSettings
from sessions.run_feed import RunFeed

REQUEST_SECONDS = 120


class Wall:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass(slots=True)
class Markup(HTMLParser):
    """What a page is made of, as a browser reads it."""

    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    """Tag, name, value."""
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @classmethod
    def of(cls, html: str) -> Markup:
        found = cls()
        found.feed(html)
        return found

    def value(self, tag: str, name: str, **others: str) -> str:
        """The value of an attribute of the first such tag."""
        del others
        return next(value for t, n, value in self.attributes if (t, n) == (tag, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Asks as a browser does."""

    inspector: Inspector
    http: aiohttp.ClientSession
    feed: RunFeed
    clock: Wall

    async def get(self, path: str, *, status: int = 200, **headers: str) -> str:
        """Read a page."""
        address = f"{self.inspector.origin}{path}"
        async with self.http.get(address, headers=headers, allow_redirects=False) as answer:
            body = await answer.text()
            assert answer.status == status, body
            return body

    async def post(
        self, path: str, fields: dict[str, str], *, status: int = 303, **headers: str
    ) -> str:
        """Send a form, from the page itself unless ``headers`` say otherwise."""
        sent = headers or {"Origin": self.inspector.origin}
        address = f"{self.inspector.origin}{path}"
        async with self.http.post(
            address, data=fields, headers=sent, allow_redirects=False
        ) as answer:
            body = await answer.text()
            assert answer.status == status, body
            return body

    async def sign_in(self) -> None:
        """Open a link and press its button."""
        link = self.inspector.link()
        await self.get(link.removeprefix(self.inspector.origin))
        await self.post("/sign-in", {"ticket": link.partition("ticket=")[2]})

    async def token(self) -> str:
        """The token in the forms of this session's pages."""
        page = await self.get("/")
        return page.partition('name="token" value="')[2].partition('"')[0]


@contextlib.asynccontextmanager
async def inspecting(
    home: Path, *, names: Names | None = None, signed_in: bool = True
) -> AsyncIterator[Reader]:
    """Open the inspector of a home, and sign in."""
    feed, clock = RunFeed(), Wall()
    jar = aiohttp.CookieJar(unsafe=True)  # it takes no cookies from addresses otherwise
    timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    async with (
        open_inspector(
            home, InspectorSettings(port=0), feed=feed, names=names or NoNames(), now=clock
        ) as inspector,
        aiohttp.ClientSession(timeout=timeout, cookie_jar=jar) as http,
    ):
        assert inspector is not None
        reader = Reader(inspector=inspector, http=http, feed=feed, clock=clock)
        if signed_in:
            await reader.sign_in()
        yield reader
