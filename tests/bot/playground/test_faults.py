"""Scripted faults as a bot meets them: errors, limits, lost and late answers."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import aiohttp
import discord
import pytest

from bot.playground.faults import SEND, Faults
from bot.playground.ids import BO, HEARTH
from support.playground_bot import SmallBot, running

if TYPE_CHECKING:
    from bot.playground.server import Playground
    from support.playground_rest import Api

PATH = f"/channels/{HEARTH}/messages"


async def test_429_has_discords_headers_and_discord_py_retries(pg: Playground) -> None:
    """discord.py waits ``retry_after`` and sends once more."""

    async def answer(message: discord.Message) -> None:
        await message.channel.send("at last")

    async with running(SmallBot(answer), pg):
        pg.faults.rate_limit(retry_after=0.2)
        start = time.monotonic()
        await pg.say(BO, HEARTH, "go")
        await pg.wait_for_message(HEARTH)
        assert time.monotonic() - start >= 0.2
        sends = [r.status for r in pg.requests if (r.method, r.route) == ("POST", SEND)]
        assert sends == [429, 200]


async def test_429_in_its_three_scopes(pg: Playground, api: Api) -> None:
    """user, shared and global differ in header and body."""
    for scope in ("user", "shared"):
        pg.faults.rate_limit(retry_after=1.5, scope=scope)
        answer = await api("POST", PATH, {"content": "x"})
        assert answer.status == 429
        assert answer.body["retry_after"] == 1.5
        assert answer.body["global"] is False
        assert answer.headers["X-RateLimit-Scope"] == scope
        assert "Via" in answer.headers
    pg.faults.rate_limit(retry_after=2, is_global=True)
    answer = await api("POST", PATH, {"content": "x"})
    assert answer.body["global"] is True
    assert answer.headers["X-RateLimit-Global"] == "true"
    assert pg.messages(HEARTH) == ()


async def test_real_limit_counts_per_channel(pg: Playground, api: Api) -> None:
    """A limit that is switched on has buckets per channel and says what is left."""
    pg.faults.limit("POST", SEND, count=2, seconds=60)
    first = await api("POST", PATH, {"content": "1"})
    assert first.headers["X-RateLimit-Remaining"] == "1"
    await api("POST", PATH, {"content": "2"})
    third = await api("POST", PATH, {"content": "3"})
    assert third.status == 429
    assert 59 < third.body["retry_after"] <= 60
    assert (await api("POST", f"/channels/{HEARTH + 1}/messages", {"content": "1"})).status == 200


async def test_realistic_limits_count_over_all_routes(pg: Playground, api: Api) -> None:
    """More than fifty requests in a second meet the global limit."""
    pg.faults.realistic_limits()
    statuses = [(await api("GET", "/users/@me")).status for _ in range(51)]
    if 429 in statuses:  # on a slow machine the second may be over before the fifty-first
        assert statuses.index(429) == 50


async def test_error_before_and_after_the_deed(pg: Playground, api: Api) -> None:
    """500 without the message, and "created, but answered 500" (P14)."""
    pg.faults.fail(status=500)
    assert (await api("POST", PATH, {"content": "x"})).status == 500
    assert pg.messages(HEARTH) == ()
    pg.faults.fail(status=502, after=True)
    assert (await api("POST", PATH, {"content": "x"})).status == 502
    assert len(pg.messages(HEARTH)) == 1
    pg.faults.fail(status=403, code=50013, message="Missing Permissions", times=2)
    assert [(await api("POST", PATH, {"content": "x"})).code for _ in range(2)] == [50013] * 2
    assert (await api("POST", PATH, {"content": "x"})).status == 200


async def test_odd_answers(pg: Playground, api: Api) -> None:
    """The deed is done; its answer has other fields, or is none of Discord's."""
    pg.faults.alter({"type": 99, "shiny": True})
    altered = await api("POST", PATH, {"content": "x"})
    assert altered.body["content"] == "x"
    assert (altered.status, altered.body["type"], altered.body["shiny"]) == (200, 99, True)
    for body, status in (({"a": 1}, 200), (None, 204)):
        pg.faults.answer(body)
        other = await api("POST", PATH, {"content": "x"})
        assert (other.status, other.body) == (status, body)
    assert len(pg.messages(HEARTH)) == 3


async def test_dropped_answers(pg: Playground, api: Api) -> None:
    """The connection is cut, before or after the deed."""
    pg.faults.drop()
    with pytest.raises(aiohttp.ClientError):
        await api("POST", PATH, {"content": "x"})
    assert pg.messages(HEARTH) == ()
    pg.faults.drop(after=True)
    with pytest.raises(aiohttp.ClientError):
        await api("POST", PATH, {"content": "x"})
    assert len(pg.messages(HEARTH)) == 1


async def test_held_requests_and_answers(pg: Playground, api: Api) -> None:
    """A request, or only its answer, waits for an event."""
    early, late = asyncio.Event(), asyncio.Event()
    pg.faults.hold(early)
    async with asyncio.TaskGroup() as group:
        sent = group.create_task(api("POST", PATH, {"content": "x"}))
        held = await pg.wait_for_request("POST", SEND, answered=False)
        assert (held.status, pg.messages(HEARTH)) == (0, ())
        early.set()
    assert sent.result().status == 200
    pg.faults.hold(late, after=True)
    async with asyncio.TaskGroup() as group:
        sent = group.create_task(api("POST", PATH, {"content": "y"}))
        held = await pg.wait_for_request("POST", SEND, count=2, answered=False)
        await pg.wait_for_message(HEARTH, lambda m: m.content == "y")
        assert held.status == 0
        late.set()
    assert sent.result().status == 200


def test_routes_match_by_template_pattern_and_path() -> None:
    """A fault is given by template, with a star, or with real ids."""
    faults = Faults()
    faults.fail("*", "/channels/*", times=1)
    faults.fail("PUT", f"/channels/{HEARTH}", times=1)
    assert faults.take("PUT", "/users/@me", "/users/@me") is None
    assert faults.take("PUT", "/channels/{channel_id}", f"/channels/{HEARTH}") is not None
    assert faults.take("PUT", "/channels/{channel_id}", f"/channels/{HEARTH}") is not None
    assert faults.take("PUT", "/channels/{channel_id}", f"/channels/{HEARTH}") is None


def test_clear_forgets_everything() -> None:
    """A cleared script has no faults left."""
    faults = Faults()
    faults.fail()
    faults.swallow("MESSAGE_CREATE")
    faults.gateway_down = True
    faults.clear()
    assert faults.take("POST", SEND, PATH) is None
    assert not faults.loses("MESSAGE_CREATE")
    assert not faults.gateway_down
