"""The gateway with real discord.py: resume, reconnect, close codes, intents, shards."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import TYPE_CHECKING, Any

import aiohttp
import discord
import pytest

from bot.playground.gateway import sessions as gateway_module
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, HARBOUR, HEARTH, ORCHARD, PIER
from bot.playground.pointing import pointed_at
from support.playground_bot import SmallBot, running

if TYPE_CHECKING:
    from bot.playground.server import Playground

FULL = discord.Intents.all().value


async def test_a_dropped_connection_resumes_and_replays(pg: Playground) -> None:
    """What is said while the connection is down comes once, in order, after RESUME (P04, P05)."""
    bot = SmallBot()
    async with running(bot, pg):
        await pg.say(BO, HEARTH, "before")
        await bot.saw(1)
        pg.faults.gateway_down = True
        pg.gateway.drop()
        await pg.until(lambda: None if pg.connected.is_set() else True)
        await pg.say(BO, HEARTH, "during")
        await pg.say(BO, HEARTH, "still")
        pg.faults.gateway_down = False
        await bot.heard("RESUMED")
        await pg.say(BO, HEARTH, "after")
        texts = [m.content for m in await bot.saw(4)]
        assert texts == ["before", "during", "still", "after"]
        assert len(pg.gateway.identifies) == 1


async def test_op_7_makes_the_client_resume(pg: Playground) -> None:
    """Reconnect (op 7) costs no event and no IDENTIFY."""
    bot = SmallBot()
    async with running(bot, pg):
        pg.gateway.reconnect()
        await pg.say(BO, HEARTH, "meanwhile")
        await bot.heard("RESUMED")
        assert [m.content for m in await bot.saw(1)] == ["meanwhile"]
        assert len(pg.gateway.identifies) == 1


async def test_op_9_not_resumable_makes_the_client_identify_again(pg: Playground) -> None:
    """An invalid session starts anew; the old events are lost."""
    bot = SmallBot()
    async with running(bot, pg):
        pg.gateway.invalidate(resumable=False)
        await bot.heard("READY", 2)
        assert len(pg.gateway.identifies) == 2
        await pg.say(BO, HEARTH, "new")
        assert [m.content for m in await bot.saw(1)] == ["new"]


async def test_op_9_resumable_resumes(pg: Playground) -> None:
    """An invalid session that may be resumed keeps its number."""
    bot = SmallBot()
    async with running(bot, pg):
        pg.gateway.invalidate(resumable=True)
        await bot.heard("RESUMED")
        assert len(pg.gateway.identifies) == 1


async def test_an_expired_session_gets_op_9_on_resume(pg: Playground) -> None:
    """P05: what is said after the session has expired never reaches the bot by itself."""
    bot = SmallBot()
    async with running(bot, pg):
        pg.gateway.drop()
        pg.gateway.expire_sessions()
        await pg.say(BO, HEARTH, "lost")
        await bot.heard("READY", 2)
        await pg.say(BO, HEARTH, "new")
        assert [m.content for m in await bot.saw(1)] == ["new"]


@pytest.mark.parametrize("code", [4000, 4009])
async def test_passing_close_codes_resume(pg: Playground, code: int) -> None:
    """4000 and 4009 are no reason to log in anew."""
    bot = SmallBot()
    async with running(bot, pg):
        pg.gateway.close(code)
        await bot.heard("RESUMED")


async def test_replay_of_known_events(pg: Playground) -> None:
    """P04: Discord may send again what the client already has, when told to."""
    bot = SmallBot()
    pg.faults.replay_more = 1
    async with running(bot, pg):
        await pg.say(BO, HEARTH, "twice")
        await bot.saw(1)
        pg.gateway.reconnect()
        assert [m.content for m in await bot.saw(2)] == ["twice", "twice"]


async def test_redeliver_sends_the_same_message_again(pg: Playground) -> None:
    """The same id comes a second time."""
    bot = SmallBot()
    async with running(bot, pg):
        message = await pg.say(BO, HEARTH, "once")
        pg.redeliver(message)
        assert [m.id for m in await bot.saw(2)] == [message.id, message.id]


async def test_swallowed_events_never_come(pg: Playground) -> None:
    """A swallowed event is lost for the bot; the next one comes."""
    bot = SmallBot()
    pg.faults.swallow("MESSAGE_CREATE")
    async with running(bot, pg):
        await pg.say(BO, HEARTH, "lost")
        await pg.say(BO, HEARTH, "found")
        assert [m.content for m in await bot.saw(1)] == ["found"]


async def test_inject_sends_any_event(pg: Playground) -> None:
    """A raw event goes out as it is."""
    bot = SmallBot()
    async with running(bot, pg):
        pg.inject("SOMETHING_NEW", {"x": 1})
        await bot.heard("SOMETHING_NEW")


async def test_privileged_intents_switched_off_close_with_4014(pg: Playground) -> None:
    """P19: discord.py says which kind of refusal it was."""
    pg.intents_allowed &= ~(1 << 15)
    bot = SmallBot()
    with pointed_at(pg):
        async with bot:
            with pytest.raises(discord.PrivilegedIntentsRequired):
                await bot.start(pg.token)
    assert len(pg.gateway.identifies) == 1


class Raw:
    """A gateway client by hand, for what discord.py would never send."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def send(self, op: int, data: object) -> None:
        await self.socket.send_str(json.dumps({"op": op, "d": data}))

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(120):
            frame: dict[str, Any] = json.loads((await self.socket.receive()).data)
            return frame

    async def close_code(self) -> int | None:
        async with asyncio.timeout(120):
            async for _ in self.socket:
                pass
        return self.socket.close_code


def identify(pg: Playground, **more: object) -> dict[str, object]:
    return {"token": pg.token, "intents": 513, "properties": {}, **more}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"token": "wrong"}, 4004),
        ({"shard": [2, 2]}, 4010),
        ({"intents": 1 << 40}, 4013),
        ({"intents": "many"}, 4013),
    ],
)
async def test_identify_refused(pg: Playground, change: dict[str, object], code: int) -> None:
    """Each wrong IDENTIFY closes with its own code."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(pg.gateway_address) as socket,
    ):
        raw = Raw(socket)
        assert (await raw.next())["op"] == 10
        await raw.send(2, identify(pg, **change))
        assert await raw.close_code() == code


async def test_commands_before_identify_close_with_4003(pg: Playground) -> None:
    """Only heartbeats may come before IDENTIFY; a second IDENTIFY is 4005."""
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(pg.gateway_address) as socket:
            await Raw(socket).send(8, {})
            assert await Raw(socket).close_code() == 4003
        async with session.ws_connect(pg.gateway_address) as socket:
            raw = Raw(socket)
            await raw.send(2, identify(pg))
            await raw.send(2, identify(pg))
            assert await raw.close_code() == 4005


@pytest.mark.parametrize(
    ("frame", "code"), [("not json", 4002), ("[]", 4002), ('{"op":99,"d":null}', 4003)]
)
async def test_broken_frames(pg: Playground, frame: str, code: int) -> None:
    """A frame that is no command closes the connection."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(pg.gateway_address) as socket,
    ):
        await socket.send_str(frame)
        assert await Raw(socket).close_code() == code


async def test_too_many_commands_close_with_4008(pg: Playground) -> None:
    """More than 120 commands in a minute are too many."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(pg.gateway_address) as socket,
    ):
        for _ in range(130):
            await Raw(socket).send(1, None)
        assert await Raw(socket).close_code() == 4008


async def test_heartbeat_is_acknowledged_after_a_while(pg: Playground) -> None:
    """The ACK comes, though not at once, and not at all when switched off."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(pg.gateway_address) as socket,
    ):
        raw = Raw(socket)
        await raw.next()
        loop = asyncio.get_running_loop()
        start = loop.time()
        await raw.send(1, None)
        assert (await raw.next())["op"] == 11
        assert loop.time() - start >= 0.02


async def test_events_are_one_zlib_stream(pg: Playground) -> None:
    """Each message of a compressed connection ends with a sync flush of one stream."""
    address = f"{pg.gateway_address}?v=10&encoding=json&compress=zlib-stream"
    async with aiohttp.ClientSession() as session, session.ws_connect(address) as socket:
        unpack = zlib.decompressobj()
        first = (await socket.receive()).data
        assert first.endswith(b"\x00\x00\xff\xff")
        assert json.loads(unpack.decompress(first))["op"] == 10
        await Raw(socket).send(2, identify(pg))
        ready = json.loads(unpack.decompress((await socket.receive()).data))
        assert ready["t"] == "READY"
        assert ready["d"]["resume_gateway_url"] == pg.gateway_address


async def test_identify_too_soon_gets_op_9(pg: Playground) -> None:
    """With Discord's spacing on, a shard bucket may identify once in so many seconds."""
    pg.faults.identify_spacing_seconds = 60.0
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(pg.gateway_address) as socket:
            raw = Raw(socket)
            await raw.next()
            await raw.send(2, identify(pg))
            assert (await raw.next())["t"] == "READY"
        async with session.ws_connect(pg.gateway_address) as socket:
            raw = Raw(socket)
            await raw.next()
            await raw.send(2, identify(pg))
            assert await raw.next() == {"op": 9, "d": False, "s": None, "t": None}


async def test_resume_from_the_future_closes_with_4007(pg: Playground) -> None:
    """A sequence number that was never given is refused."""
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(pg.gateway_address) as socket:
            raw = Raw(socket)
            await raw.next()
            await raw.send(2, identify(pg))
            session_id = (await raw.next())["d"]["session_id"]
            pg.gateway.drop()
            await raw.close_code()
        async with session.ws_connect(pg.gateway_address) as socket:
            raw = Raw(socket)
            await raw.next()
            await raw.send(6, {"token": pg.token, "session_id": session_id, "seq": 999})
            assert await raw.close_code() == 4007


async def test_a_session_keeps_only_its_last_events(
    pg: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who missed more than is kept gets op 9, never a gap."""
    monkeypatch.setattr(gateway_module, "BUFFER_EVENTS", 3)
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(pg.gateway_address) as socket:
            raw = Raw(socket)
            await raw.next()
            await raw.send(2, identify(pg))
            ready = await raw.next()
            pg.gateway.drop()
            await raw.close_code()
        for _ in range(4):
            await pg.say(BO, HEARTH, "x")
        resume = {"token": pg.token, "session_id": ready["d"]["session_id"]}
        async with session.ws_connect(pg.gateway_address) as socket:
            raw = Raw(socket)
            await raw.next()
            await raw.send(6, resume | {"seq": ready["s"]})
            assert (await raw.next())["op"] == 9
            await raw.send(6, resume | {"seq": ready["s"] + 4})
            assert (await raw.next())["s"] == ready["s"] + 5


async def test_a_client_that_says_goodbye_cannot_resume(pg: Playground) -> None:
    """A close with 1000 ends the session."""
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(pg.gateway_address) as socket:
            raw = Raw(socket)
            await raw.next()
            await raw.send(2, identify(pg))
            session_id = (await raw.next())["d"]["session_id"]
        await pg.until(lambda: None if pg.gateway.sessions else True)
        async with session.ws_connect(pg.gateway_address) as socket:
            raw = Raw(socket)
            await raw.next()
            await raw.send(6, {"token": pg.token, "session_id": session_id, "seq": 1})
            assert (await raw.next())["op"] == 9


async def test_intents_decide_which_events_come(pg: Playground) -> None:
    """Without the typing, reaction and DM intents nothing of them is heard."""
    intents = discord.Intents(guilds=True, guild_messages=True, message_content=True)
    bot = SmallBot(intents=intents)
    bot_events = bot.events
    async with running(bot, pg):
        message = await pg.say(BO, HEARTH, "one")
        await pg.react(ADA, message, "🔥")
        await pg.typing(ADA, HEARTH)
        await pg.say(BO, DIRECT[BO], "private")
        await pg.say(BO, HEARTH, "two")
        assert [m.content for m in await bot.saw(2)] == ["one", "two"]
        assert not {"TYPING_START", "MESSAGE_REACTION_ADD"} & set(bot_events)


async def test_a_guild_without_the_bot_is_silent(pg: Playground) -> None:
    """After the bot was removed from a guild it hears nothing from it."""
    bot = SmallBot()
    async with running(bot, pg):
        pg.world.remove_bot(HARBOUR)
        await bot.heard("GUILD_DELETE")
        pg.world.add_role(HARBOUR, "crew")
        await pg.say(BO, PIER, "gone")
        await pg.say(BO, HEARTH, "here")
        assert [m.content for m in await bot.saw(1)] == ["here"]
        assert "GUILD_ROLE_CREATE" not in bot.events


async def test_two_shards_share_the_guilds(pg: Playground) -> None:
    """``/gateway/bot`` advises two shards: each guild and DM comes once, on its shard."""
    pg.gateway.shards = 2
    bot = SmallBot()
    async with running(bot, pg):
        assert bot.shard_count == 2
        shards = {guild.id: guild.shard_id for guild in bot.guilds}
        assert set(shards) == {ORCHARD, HARBOUR}
        assert sorted(shards.values()) == [0, 1]
        await pg.say(BO, HEARTH, "orchard")
        await pg.say(BO, PIER, "harbour")
        await pg.say(CY, DIRECT[CY], "direct")
        assert sorted(m.content for m in await bot.saw(3)) == ["direct", "harbour", "orchard"]
        assert [i["shard"] for i in pg.gateway.identifies] == [[0, 2], [1, 2]]


async def test_members_are_chunked_on_request(pg: Playground) -> None:
    """With the members intent the whole guild is known; op 8 answers a query."""
    bot = SmallBot(intents=discord.Intents.all())
    async with running(bot, pg):
        orchard = bot.get_guild(ORCHARD)
        assert orchard is not None
        assert {m.name for m in orchard.members} == {"ada", "bo", "cy", "dee", "ember"}
        found = await orchard.query_members("c", limit=5)
        assert [m.id for m in found] == [CY]
        by_id = await orchard.query_members(user_ids=[ADA, 42])
        assert [m.id for m in by_id] == [ADA]


async def test_gateway_bot_tells_the_start_limit(pg: Playground) -> None:
    """The session start limit counts down with each IDENTIFY."""
    bot = SmallBot()
    async with running(bot, pg):
        limits = await bot.fetch_session_start_limits()
        assert limits.remaining == 999
        assert limits.max_concurrency == 1
    assert not pg.connected.is_set()
    assert pg.bot_user.id == EMBER
