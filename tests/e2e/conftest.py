"""One running bot, and one browser, for all tests of a module that need none of their own.

A module that uses them says ``pytest.mark.asyncio(loop_scope="module")``: they live in the loop in
which they were started.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from support.app_world import AppWorld, housed
from support.browser import WAIT_MILLISECONDS, chromium

USUAL_MILLISECONDS = 5_000
"""What the library waits where nobody says otherwise."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """A Chromium that runs until the module's last test, and looks as long as it may need."""
    expect.set_options(timeout=WAIT_MILLISECONDS)
    async with chromium() as started:
        yield started
    expect.set_options(timeout=USUAL_MILLISECONDS)


@pytest.fixture(scope="module")
def house_settings() -> Mapping[str, Any]:
    """What the owner has set; a module may say otherwise."""
    return {}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(
    tmp_path_factory: pytest.TempPathFactory, house_settings: Mapping[str, Any]
) -> AsyncIterator[AppWorld]:
    """A bot that runs until the module's last test."""
    async with housed(tmp_path_factory.mktemp("house") / "home", house_settings) as world:
        yield world
    assert world.said == []


@pytest_asyncio.fixture(loop_scope="module")
async def app(house: AppWorld) -> AsyncIterator[AppWorld]:
    """The module's bot, with nothing said or asked that one can see from outside."""
    house.begin_anew()
    yield house
    await house.noted()
    assert house.said == []
