"""A plain REST client for a playground, for what discord.py would never send."""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import aiohttp

    from bot.playground.server import Playground


class Answer:
    """Status, JSON and headers of one answer."""

    def __init__(self, status: int, body: Any, headers: dict[str, str]) -> None:  # noqa: ANN401
        self.status = status
        self.body = body
        self.headers = headers

    @property
    def code(self) -> int:
        return int(self.body["code"])

    def wrong(self, *path: str) -> list[str]:
        """Return the error codes at a path of the 50035 tree."""
        node = self.body["errors"]
        for part in path:
            node = node[part]
        return [error["code"] for error in node["_errors"]]


class Api:
    """REST calls with the bot's token, as a hand-written client makes them."""

    def __init__(self, pg: Playground, session: aiohttp.ClientSession) -> None:
        self._pg = pg
        self._session = session

    async def __call__(
        self, method: str, path: str, body: object = None, *, raw: bytes | None = None
    ) -> Answer:
        headers = {"Authorization": f"Bot {self._pg.token}"}
        content: dict[str, Any] = {"data": BytesIO(raw)} if raw is not None else {"json": body}
        async with (
            asyncio.timeout(120),
            self._session.request(
                method, self._pg.api_base + path, headers=headers, **content
            ) as answer,
        ):
            text = await answer.text()
            parsed = await answer.json() if text else None
            return Answer(answer.status, parsed, dict(answer.headers))
