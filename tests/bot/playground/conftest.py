"""A playground that is running, and a plain REST client for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp
import pytest

from bot.playground.server import Playground
from support.playground_rest import Api

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def pg() -> AsyncIterator[Playground]:
    async with Playground() as playground:
        yield playground


@pytest.fixture
async def api(pg: Playground) -> AsyncIterator[Api]:
    async with aiohttp.ClientSession() as session:
        yield Api(pg, session)
