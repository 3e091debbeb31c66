"""A few questions to Discord, one after the other, while nothing else goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp

SECONDS: Final = 10.0
SHORTEST_PAUSE: Final = 0.1
OK: Final = 200
UNAUTHORIZED: Final = 401
TOO_MANY: Final = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Discord's answer; ``status`` 0 means that none came."""

    status: int
    body: object = None

    @property
    def fields(self) -> dict[str, object]:
        """The body, if it is an object; else nothing."""
        return self.body if isinstance(self.body, dict) else {}

    @property
    def items(self) -> tuple[dict[str, object], ...]:
        """The objects of the body, if it is a list; else nothing."""
        found: Iterable[object] = self.body if isinstance(self.body, list) else ()
        return tuple(item for item in found if isinstance(item, dict))


class Rest:
    """Discord's REST interface with a token. Blocks; each question is bounded in time."""

    def __init__(self, api: str, token: str) -> None:
        self._api = api.rstrip("/")
        self._token = token

    def get(self, path: str) -> Reply:
        """Ask for something."""
        return asyncio.run(self._ask("GET", path, None))

    def post(self, path: str, body: Mapping[str, object]) -> Reply:
        """Make something."""
        return asyncio.run(self._ask("POST", path, body))

    async def _ask(self, method: str, path: str, body: Mapping[str, object] | None) -> Reply:
        return await ask(
            method, f"{self._api}{path}", body, headers={"Authorization": f"Bot {self._token}"}
        )


async def ask(
    method: str,
    address: str,
    body: Mapping[str, object] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Ask one address for JSON; what is no JSON is an answer without a body.

    A rate limit is waited out, where that takes no longer than an answer may.
    """
    left = SECONDS
    while True:
        reply = await _ask_once(method, address, body, headers)
        pause = reply.fields.get("retry_after") if reply.status == TOO_MANY else None
        if not isinstance(pause, int | float) or not 0 <= pause <= left:
            return reply
        # A limit of no time at all would be asked about without end.
        left -= max(pause, SHORTEST_PAUSE)
        await asyncio.sleep(pause)


async def _ask_once(
    method: str,
    address: str,
    body: Mapping[str, object] | None,
    headers: Mapping[str, str] | None,
) -> Reply:
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            asyncio.timeout(SECONDS),
            aiohttp.ClientSession(timeout=timeout, headers=headers, trust_env=True) as http,
            http.request(method, address, json=body) as response,
        ):
            text = await response.text(errors="replace")
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return Reply(status=0)
    try:
        return Reply(status=response.status, body=json.loads(text))
    except ValueError:
        return Reply(status=response.status)
