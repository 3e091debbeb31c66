"""One gateway connection: a client that does not read, and one that only reads."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import aiohttp

from bot.playground.gateway import connection as connection_module
from bot.playground.gateway.connection import Connection
from bot.playground.ids import BO, HEARTH

if TYPE_CHECKING:
    import pytest

    from bot.playground.server import Playground


def test_a_full_queue_never_blocks_the_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sends never waits and never fails; the slow client is cut off instead."""
    monkeypatch.setattr(connection_module, "QUEUE_FRAMES", 2)
    connection = Connection(compressed=False)
    for _ in range(5):
        connection.send("{}")


async def test_a_client_that_does_not_read_is_cut_off(
    pg: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The world goes on for everyone else."""
    monkeypatch.setattr(connection_module, "QUEUE_FRAMES", 50)
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(pg.gateway_address) as socket,
    ):
        await socket.receive()
        command = {"token": pg.token, "intents": 513, "properties": {}}
        await socket.send_str(json.dumps({"op": 2, "d": command}))
        await pg.until(lambda: True if pg.connected.is_set() else None)
        for _ in range(200):
            await pg.say(BO, HEARTH, "x")
        async with asyncio.timeout(120):
            async for _ in socket:
                pass
        assert socket.close_code == 1006


async def test_uncompressed_connections_get_text(pg: Playground) -> None:
    """Without ``compress`` each event is one text frame."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(pg.gateway_address) as socket,
    ):
        hello = await socket.receive()
        assert hello.type is aiohttp.WSMsgType.TEXT
        assert json.loads(hello.data)["d"]["heartbeat_interval"] == 41250


async def test_heartbeats_can_stay_unanswered(pg: Playground) -> None:
    """A connection that is dead on the other side."""
    pg.faults.heartbeat_acks = False
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(pg.gateway_address) as socket,
    ):
        await socket.receive()
        await socket.send_str('{"op":1,"d":null}')
        await socket.send_str('{"op":99,"d":null}')
        frame = await socket.receive()
        assert frame.type is aiohttp.WSMsgType.CLOSE


async def test_the_gateway_can_be_down(pg: Playground) -> None:
    """Connections are refused with 503, other encodings with 400."""
    async with aiohttp.ClientSession() as session:
        pg.faults.gateway_down = True
        async with session.get(pg.gateway_address.replace("ws:", "http:")) as answer:
            assert answer.status == 503
        pg.faults.gateway_down = False
        address = pg.gateway_address.replace("ws:", "http:") + "?encoding=etf"
        async with session.get(address) as answer:
            assert answer.status == 400
