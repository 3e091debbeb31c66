"""What happens reaches the open pages of those who may see it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, cast

import pytest
from aiohttp import web

from bot.playground.entities import Event
from bot.playground.ids import ADA, BO, CY, DEE, HEARTH, ORCHARD, PIER
from bot.playground.page.feed import QUEUE_EVENTS, Feed, Viewer
from bot.playground.world.state import default_world
from support.page_client import PageClient, page_open, told
from support.playground_bot import SmallBot, running

if TYPE_CHECKING:
    from aiohttp.web import WebSocketResponse


@pytest.fixture
async def client() -> AsyncIterator[PageClient]:
    async with page_open() as opened:
        yield opened


async def test_a_message_arrives_fresh_and_its_changes_follow(client: PageClient) -> None:
    async with client.following(BO) as socket:
        message = await client.pg.say(ADA, HEARTH, "hello")
        event = await told(socket, "message")
        assert event["fresh"]
        assert event["message"]["content"] == "hello"
        await client.pg.edit(ADA, message, "hello again")
        event = await told(socket, "message")
        assert not event["fresh"]
        assert event["message"]["content"] == "hello again"
        await client.pg.react(CY, message, "🔥")
        assert (await told(socket, "message"))["message"]["reactions"][0]["count"] == 1
        await client.pg.delete(ADA, message)
        assert await told(socket, "gone") == {
            "type": "gone",
            "channel": str(HEARTH),
            "ids": [str(message.id)],
        }


async def test_typing_and_new_places_are_told(client: PageClient) -> None:
    async with client.following(BO) as socket:
        await client.pg.typing(ADA, HEARTH)
        assert (await told(socket, "typing"))["user"] == str(ADA)
        client.pg.world.add_channel(ORCHARD, "attic")
        await told(socket, "world")


async def test_bulk_deletes_are_told_with_all_ids(client: PageClient) -> None:
    said = [await client.pg.say(BO, HEARTH, text) for text in ("one", "two")]
    async with client.following(BO) as socket:
        await client.pg.bulk_delete(ADA, HEARTH, said)
        assert (await told(socket, "gone"))["ids"] == [str(message.id) for message in said]


async def test_nobody_hears_of_a_place_they_are_not_in(client: PageClient) -> None:
    """Dee is not in Harbour: what she hears first is what was said in Orchard afterwards."""
    async with client.following(DEE) as socket:
        await client.pg.say(ADA, PIER, "secret of the pier")
        await client.pg.say(ADA, HEARTH, "for all")
        assert (await told(socket, "message"))["message"]["content"] == "for all"


async def test_an_ephemeral_message_is_told_to_its_reader(client: PageClient) -> None:
    feed = Feed(client.pg.world)
    message = await client.pg.say(ADA, HEARTH, "x")
    event = Event(
        name="PLAYGROUND_MESSAGE_CREATE",
        data={},
        guild_id=ORCHARD,
        channel_id=HEARTH,
        message=message,
        only_for=ADA,
        to_bot=False,
    )
    seen = feed.translate(event, ADA)
    assert seen is not None
    assert seen["fresh"]
    assert feed.translate(event, BO) is None


async def test_lone_surrogates_survive_the_socket(client: PageClient) -> None:
    async with client.following(BO) as socket:
        await client.pg.say(ADA, HEARTH, "a \ud800 b")
        assert (await told(socket, "message"))["message"]["content"] == "a \ud800 b"


async def test_the_page_learns_when_the_bot_comes_and_goes(client: PageClient) -> None:
    async with client.following(BO) as socket:
        async with running(SmallBot(), client.pg):
            assert (await told(socket, "bot"))["online"]
            assert (await client.read("world", as_=BO))["bot"]["online"]
        assert not (await told(socket, "bot"))["online"]


async def test_closing_the_playground_says_good_bye_to_pages() -> None:
    async with page_open() as client, client.following(BO) as socket:
        async with asyncio.TaskGroup() as group:
            group.create_task(client.pg.__aexit__(None, None, None))
            await socket.receive(timeout=120)
        assert socket.close_code == 1001


async def test_what_the_page_does_not_show_is_not_told() -> None:
    feed = Feed(default_world())
    for name in ("INTERACTION_CREATE", "CHANNEL_PINS_UPDATE", "PLAYGROUND_INTERACTION_ANSWERED"):
        assert feed.translate(Event(name=name, data={}, channel_id=HEARTH), ADA) is None


async def test_a_page_that_falls_behind_is_let_go() -> None:
    """It comes back by itself; memory does not grow with a sleeping page."""
    viewer = Viewer(user_id=ADA, socket=cast("WebSocketResponse", web.WebSocketResponse()))
    for number in range(QUEUE_EVENTS):
        viewer.offer(json.dumps(number))
    viewer.offer("one too many")
    assert viewer.queue.qsize() == 1
    assert viewer.queue.get_nowait() is None
