"""The whole playground with real discord.py over real sockets: messages and their round trips."""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import TYPE_CHECKING

import aiohttp
import discord
import pytest

from bot.playground.entities import Upload
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, KINDLING, ORCHARD, WORKSHOP
from bot.playground.pointing import pointed_at
from bot.playground.server import Playground
from support.playground_bot import SmallBot, running

if TYPE_CHECKING:
    from bot.playground.entities import Message


async def echo(message: discord.Message) -> None:
    await message.reply(f"you said {message.content}")


async def test_login_shows_both_guilds_with_channels_and_thread(pg: Playground) -> None:
    """READY and a GUILD_CREATE per guild fill discord.py's cache."""
    bot = SmallBot()
    async with running(bot, pg):
        assert {g.name for g in bot.guilds} == {"Orchard", "Harbour"}
        assert bot.user is not None
        assert bot.user.id == EMBER
        orchard = bot.get_guild(ORCHARD)
        assert orchard is not None
        assert {c.name for c in orchard.channels} == {"hearth", "workshop"}
        assert [t.id for t in orchard.threads] == [KINDLING]
        assert orchard.owner_id == ADA
        assert orchard.me.id == EMBER


async def test_application_info_names_owner_and_intents(pg: Playground) -> None:
    """``application_info`` works and shows which privileged intents are switched on."""
    bot = SmallBot()
    async with running(bot, pg):
        info = await bot.application_info()
        assert info.id == EMBER
        assert info.owner.id == ADA
        assert info.flags.gateway_message_content_limited


async def test_message_is_answered_with_a_reply_that_pings(pg: Playground) -> None:
    """A message goes out over the gateway; the reply comes back over REST."""
    async with running(SmallBot(echo), pg):
        asked = await pg.say(BO, HEARTH, "warm?")
        answer = await pg.wait_for_message(HEARTH)
        assert answer.content == "you said warm?"
        assert answer.reply_to == asked.id
        assert answer.pinged == (BO,)


async def test_replied_user_false_pings_nobody(pg: Playground) -> None:
    """``allowed_mentions`` with ``replied_user`` false leaves the author in peace."""

    async def quiet(message: discord.Message) -> None:
        await message.reply("hm", mention_author=False)

    async with running(SmallBot(quiet), pg):
        await pg.say(BO, HEARTH, "warm?")
        answer = await pg.wait_for_message(HEARTH)
        assert answer.pinged == ()
        assert answer.mentions == ()


async def test_direct_message_round_trip(pg: Playground) -> None:
    """A DM reaches the bot in a DMChannel with the stable id."""
    bot = SmallBot(echo)
    async with running(bot, pg):
        dm = await pg.open_dm(BO)
        assert dm.id == DIRECT[BO]
        await pg.say(BO, dm, "psst")
        assert (await pg.wait_for_message(dm)).content == "you said psst"
        assert isinstance(bot.seen[0].channel, discord.DMChannel)
        assert bot.seen[0].guild is None


async def test_bot_opens_a_dm_itself(pg: Playground) -> None:
    """POST /users/@me/channels gives the conversation with that user."""
    bot = SmallBot()
    async with running(bot, pg):
        user = await bot.fetch_user(BO)
        await user.send("hello Bo")
        assert pg.messages(DIRECT[BO])[-1].content == "hello Bo"


async def test_persons_reply_carries_what_it_answers(pg: Playground) -> None:
    """A reply event holds the referenced message, so no fetch is needed."""
    bot = SmallBot()
    async with running(bot, pg):
        first = await pg.say(BO, HEARTH, "first")
        await pg.say(ADA, HEARTH, "second", reply_to=first)
        await bot.saw(2)
        reference = bot.seen[1].reference
        assert reference is not None
        assert isinstance(reference.resolved, discord.Message)
        assert reference.resolved.content == "first"
        assert bot.seen[1].type is discord.MessageType.reply


async def test_edit_and_delete_reach_the_bot(pg: Playground) -> None:
    """MESSAGE_UPDATE holds the new text, MESSAGE_DELETE the id."""
    bot = SmallBot()
    edits: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    gone: asyncio.Queue[int] = asyncio.Queue()

    @bot.listen()
    async def on_message_edit(before: discord.Message, after: discord.Message) -> None:
        edits.put_nowait((before.content, after.content))

    @bot.listen()
    async def on_raw_message_delete(event: discord.RawMessageDeleteEvent) -> None:
        gone.put_nowait(event.message_id)

    async with running(bot, pg):
        message = await pg.say(BO, HEARTH, "frist")
        await pg.edit(BO, message, "first")
        await pg.delete(BO, message)
        async with asyncio.timeout(120):
            assert await edits.get() == ("frist", "first")
            assert await gone.get() == message.id


async def test_bulk_delete_is_one_event(pg: Playground) -> None:
    """MESSAGE_DELETE_BULK names all ids at once."""
    bot = SmallBot()
    gone: asyncio.Queue[set[int]] = asyncio.Queue()

    @bot.listen()
    async def on_raw_bulk_message_delete(event: discord.RawBulkMessageDeleteEvent) -> None:
        gone.put_nowait(event.message_ids)

    async with running(bot, pg):
        messages = [await pg.say(BO, HEARTH, text) for text in ("a", "b")]
        await pg.bulk_delete(ADA, HEARTH, messages)
        async with asyncio.timeout(120):
            assert await gone.get() == {m.id for m in messages}
        assert pg.messages(HEARTH) == ()


async def test_reactions_both_ways(pg: Playground) -> None:
    """People's reactions reach the bot, the bot's reach the message."""
    bot = SmallBot()
    added: asyncio.Queue[tuple[str, int]] = asyncio.Queue()

    @bot.listen()
    async def on_raw_reaction_add(event: discord.RawReactionActionEvent) -> None:
        added.put_nowait((str(event.emoji), event.user_id))

    async with running(bot, pg):
        message = await pg.say(BO, HEARTH, "nice?")
        await pg.react(ADA, message, "🔥")
        async with asyncio.timeout(120):
            assert await added.get() == ("🔥", ADA)
        handle = bot.get_partial_messageable(HEARTH).get_partial_message(message.id)
        await handle.add_reaction("🔥")
        await handle.add_reaction("👍")
        await handle.remove_reaction("👍", discord.Object(EMBER))
        assert message.reactions == {"🔥": [ADA, EMBER]}


async def test_typing_is_seen_and_ends_with_the_message(pg: Playground) -> None:
    """The bot's typing shows until its next message in that channel."""

    async def slow(message: discord.Message) -> None:
        await message.channel.typing()
        await message.channel.send("done")

    async with running(SmallBot(slow), pg):
        seen: list[tuple[int | None, str]] = []
        pg.subscribe(
            lambda e: (
                seen.append((e.channel_id, e.data["user_id"])) if e.name == "TYPING_START" else None
            )
        )
        await pg.say(BO, HEARTH, "go")
        await pg.until(lambda: seen or None)
        assert seen == [(HEARTH, str(EMBER))]
        await pg.wait_for_message(HEARTH)
        assert pg.typing_in(HEARTH) == ()


async def test_persons_typing_reaches_the_bot(pg: Playground) -> None:
    """TYPING_START names channel and user, in a DM as well."""
    bot = SmallBot()
    typing: asyncio.Queue[tuple[int, int]] = asyncio.Queue()

    @bot.listen()
    async def on_raw_typing(event: discord.RawTypingEvent) -> None:
        typing.put_nowait((event.channel_id, event.user_id))

    async with running(bot, pg):
        await pg.typing(BO, HEARTH)
        await pg.typing(ADA, DIRECT[ADA])
        async with asyncio.timeout(120):
            assert await typing.get() == (HEARTH, BO)
            assert await typing.get() == (DIRECT[ADA], ADA)


async def test_attachments_both_ways(pg: Playground) -> None:
    """A person's file is downloaded by the bot; the bot's files arrive byte for byte."""

    async def copy(message: discord.Message) -> None:
        data = await message.attachments[0].read()
        files = [
            discord.File(BytesIO(data[::-1]), "back.txt", description="turned"),
            discord.File(BytesIO(b"\x00\x01"), "raw.bin"),
        ]
        await message.channel.send("here", files=files)

    async with running(SmallBot(copy), pg):
        await pg.say(BO, HEARTH, "", attachments=[Upload(filename="a b?.txt", data=b"abc")])
        answer = await pg.wait_for_message(HEARTH)
        assert [(a.filename, a.data) for a in answer.attachments] == [
            ("back.txt", b"cba"),
            ("raw.bin", b"\x00\x01"),
        ]
        assert answer.attachments[0].description == "turned"
        assert answer.attachments[0].content_type == "text/plain"


async def test_attachment_address_stops_working_after_a_day() -> None:
    """Discord's attachment addresses carry an expiry."""
    now = [1_700_000_000.0]
    async with Playground(clock=lambda: now[0]) as pg, aiohttp.ClientSession() as session:
        message = await pg.say(BO, HEARTH, "", attachments=[Upload(filename="a.txt", data=b"x")])
        item = message.attachments[0]
        address = f"{pg.origin}/attachments/{HEARTH}/{item.id}/a.txt"
        async with session.get(address) as answer:
            assert await answer.read() == b"x"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        now[0] += 86_401
        async with session.get(address) as answer:
            assert answer.status == 404


async def test_message_without_the_intent_is_empty_unless_it_mentions_the_bot(
    pg: Playground,
) -> None:
    """Without message content, only DMs, mentions and own messages have text."""
    bot = SmallBot(content=False)
    async with running(bot, pg):
        await pg.say(BO, HEARTH, "hidden", attachments=[Upload(filename="a.txt", data=b"x")])
        await pg.say(BO, HEARTH, f"<@{EMBER}> shown")
        await pg.say(BO, DIRECT[BO], "private")
        await bot.saw(3)
        texts = sorted(m.content for m in bot.seen)
        assert texts == ["", f"<@{EMBER}> shown", "private"]
        assert all(not m.attachments for m in bot.seen)


async def test_threads_by_people_and_bot(pg: Playground) -> None:
    """A thread from a message has its id; the bot can open one and speak in it."""
    made: list[Message] = []

    async def branch(message: discord.Message) -> None:
        thread = await message.create_thread(name="aside")
        await thread.send("in here")

    bot = SmallBot(branch)
    async with running(bot, pg):
        asked = await pg.say(BO, HEARTH, "long story")
        await pg.until(lambda: pg.world.channels.get(asked.id))
        made.append(await pg.wait_for_message(asked.id))
        assert made[0].channel_id == asked.id
        assert pg.world.channel(asked.id).parent_id == HEARTH
        with pytest.raises(discord.HTTPException) as refused:
            await bot.seen[0].create_thread(name="again")
        assert refused.value.code == 160004


async def test_new_channel_and_member_reach_the_bot(pg: Playground) -> None:
    """What the world gains while the bot runs is in discord.py's cache."""
    bot = SmallBot()
    async with running(bot, pg):
        channel = pg.world.add_channel(ORCHARD, "attic")
        await pg.say(BO, channel, "dusty")
        await bot.saw(1)
        assert isinstance(bot.seen[0].channel, discord.TextChannel)
        assert bot.seen[0].channel.name == "attic"


async def test_hidden_channel_is_never_shown_to_the_bot(pg: Playground) -> None:
    """Without VIEW_CHANNEL the bot gets no events, and 50001 from REST."""
    bot = SmallBot()
    pg.world.set_overwrite(WORKSHOP, EMBER, kind=1, deny=1 << 10)
    async with running(bot, pg):
        await pg.say(BO, WORKSHOP, "secret")
        await pg.say(BO, HEARTH, "open")
        await bot.saw(1)
        assert [m.content for m in bot.seen] == ["open"]
        with pytest.raises(discord.Forbidden) as refused:
            await bot.get_partial_messageable(WORKSHOP).send("x")
        assert refused.value.code == 50001


async def test_history_pages(pg: Playground) -> None:
    """before, after, around and limit give the same pages as Discord."""
    bot = SmallBot()
    async with running(bot, pg):
        said = [await pg.say(BO, HEARTH, str(n)) for n in range(7)]
        channel = bot.get_channel(HEARTH)
        assert isinstance(channel, discord.TextChannel)

        async def page(**bounds: object) -> list[str]:
            return [m.content async for m in channel.history(**bounds)]  # type: ignore[arg-type]

        assert await page(limit=3) == ["6", "5", "4"]
        assert await page(limit=2, before=discord.Object(said[3].id)) == ["2", "1"]
        assert await page(limit=2, after=discord.Object(said[3].id)) == ["4", "5"]
        assert sorted(await page(limit=3, around=discord.Object(said[3].id))) == ["2", "3", "4"]


async def test_pins(pg: Playground) -> None:
    """A pin is listed and announced by a system message."""
    bot = SmallBot()
    pg.world.guild(ORCHARD).roles[ORCHARD].permissions |= 1 << 13
    async with running(bot, pg):
        message = await pg.say(BO, HEARTH, "keep")
        await bot.get_partial_messageable(HEARTH).get_partial_message(message.id).pin()
        channel = bot.get_channel(HEARTH)
        assert isinstance(channel, discord.TextChannel)
        assert [m.id async for m in channel.pins()] == [message.id]
        assert pg.messages(HEARTH)[-1].type == discord.MessageType.pins_add.value


async def test_token_of_another_bot_is_refused(pg: Playground) -> None:
    """A wrong token gives 401, which discord.py calls a login failure."""
    with pointed_at(pg):
        bot = SmallBot()
        with pytest.raises(discord.LoginFailure):
            async with bot:
                await bot.start("wrong")


async def test_other_host_names_are_refused(pg: Playground) -> None:
    """No web page reaches in by rebinding its own name to loopback."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{pg.api_base}/gateway", headers={"Host": "evil.example"}) as answer,
    ):
        assert answer.status == 421


async def test_two_hundred_conversations_at_once(pg: Playground) -> None:
    """Every one of 200 channels gets its own answer."""
    channels = [pg.world.add_channel(ORCHARD, f"room-{n}") for n in range(200)]
    async with running(SmallBot(echo), pg):
        for number, channel in enumerate(channels):
            await pg.say(BO, channel, str(number))
        for number, channel in enumerate(channels):
            answer = await pg.wait_for_message(channel, timeout=120)
            assert answer.content == f"you said {number}"
