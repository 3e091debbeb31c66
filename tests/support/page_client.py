"""A browser's side of the chat page, without a browser: HTTP as the page speaks it."""

from __future__ import annotations

import contextlib
import io
import json
from typing import TYPE_CHECKING, Any

import aiohttp

from bot.playground import page
from bot.playground.server import Playground

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

REQUEST_SECONDS = 120


class PageClient:
    """Asks and acts; ``headers`` of a call replace those that a browser would send."""

    def __init__(self, pg: Playground, http: aiohttp.ClientSession) -> None:
        self.pg = pg
        self.http = http
        self.base = f"{pg.origin}/playground/"

    async def read(self, path: str, *, status: int = 200, **query: object) -> dict[str, Any]:
        params = {key.rstrip("_"): str(value) for key, value in query.items()}
        async with self.http.get(f"{self.base}api/{path}", params=params) as answer:
            assert answer.status == status, await answer.text()
            found: dict[str, Any] = await answer.json()
            return found

    async def act(
        self, what: str, *, status: int = 200, headers: dict[str, str] | None = None, **body: object
    ) -> dict[str, Any]:
        form = {key.rstrip("_"): value for key, value in body.items()}
        sent = {"Origin": self.pg.origin} if headers is None else headers
        data = io.BytesIO(json.dumps(form).encode())
        async with self.http.post(
            f"{self.base}api/{what}",
            data=data,
            headers={"Content-Type": "application/json", **sent},
        ) as answer:
            assert answer.status == status, await answer.text()
            found: dict[str, Any] = await answer.json()
            return found

    @contextlib.asynccontextmanager
    async def following(self, who: int) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Follow what a person sees."""
        address = f"{self.base}api/events?as={who}"
        async with self.http.ws_connect(address, headers={"Origin": self.pg.origin}) as socket:
            yield socket


@contextlib.asynccontextmanager
async def page_open(pg: Playground | None = None) -> AsyncIterator[PageClient]:
    """Run a playground with its page."""
    timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    async with (
        pg or Playground(extend=[page.attach]) as running,
        aiohttp.ClientSession(timeout=timeout) as http,
    ):
        yield PageClient(running, http)


async def told(socket: aiohttp.ClientWebSocketResponse, kind: str) -> dict[str, Any]:
    """Give the next event of a kind."""
    while True:
        event: dict[str, Any] = await socket.receive_json(timeout=REQUEST_SECONDS)
        if event["type"] == kind:
            return event
