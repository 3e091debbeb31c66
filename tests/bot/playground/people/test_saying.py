"""Acting as people, without a bot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.playground.entities import MessageFlag, MessageKind, Upload
from bot.playground.errors import ApiError
from bot.playground.ids import ADA, BO, CY, EMBER, HEARTH, ORCHARD
from bot.playground.messages.drafts import Draft
from bot.playground.world.bodies import EditMessage

if TYPE_CHECKING:
    from bot.playground.server import Playground


async def test_reply_pings_unless_switched_off(pg: Playground) -> None:
    """A person chooses whether the reply notifies."""
    first = await pg.say(BO, HEARTH, "first")
    loud = await pg.say(CY, HEARTH, "hm", reply_to=first)
    quiet = await pg.say(CY, HEARTH, "hm", reply_to=first.id, ping=False)
    assert (loud.type, loud.pinged, quiet.pinged) == (MessageKind.REPLY, (BO,), ())


async def test_system_messages_of_any_type(pg: Playground) -> None:
    """P11: every type can be made, unknown ones too, with any fields."""
    for kind in (6, 7, 18, 46, 999):
        message = await pg.say(BO, HEARTH, "hm", type=kind, extra={"flags": 0})
        assert message.type == kind


async def test_extra_fields_reach_the_event(pg: Playground) -> None:
    """P10, P12: webhooks, polls and flags are what the sender says they are."""
    event_data: list[dict[str, object]] = []
    pg.subscribe(lambda event: event_data.append(event.data))
    await pg.say(BO, HEARTH, "x", extra={"webhook_id": "7", "flags": 8192})
    await pg.say(BO, HEARTH, "", extra={"poll": {"question": {"text": "?"}, "answers": []}})
    assert event_data[0]["webhook_id"] == "7"
    assert event_data[0]["flags"] == 8192
    assert "member" not in event_data[0]
    assert "poll" in event_data[1]
    with pytest.raises(ApiError):
        await pg.say(BO, HEARTH, "", extra={"flags": 0})


async def test_nonce_of_a_person_dedupes(pg: Playground) -> None:
    """A client that sends twice says it once."""
    first = await pg.say(BO, HEARTH, "x", nonce="1")
    assert await pg.say(BO, HEARTH, "x", nonce="1") is first


async def test_big_files_and_too_many(pg: Playground) -> None:
    """P17: a person may send far more than a bot, but ten files a message."""
    small = Upload(filename="a", data=b"")
    big = await pg.say(BO, HEARTH, "", attachments=[Upload(filename="a", data=b"x" * 30_000_000)])
    assert len(big.attachments[0].data) == 30_000_000
    with pytest.raises(ApiError) as refused:
        await pg.say(BO, HEARTH, "", attachments=[small] * 11)
    assert refused.value.code == 50035


async def test_a_bot_hears_of_a_private_thread_when_it_is_brought_in(pg: Playground) -> None:
    """As at Discord: who does not take part sees nothing of it."""
    thread = await pg.create_thread(BO, HEARTH, "a surprise", private=True)
    assert not pg.world.sees(thread, EMBER)
    with pytest.raises(ApiError):
        await pg.bring_in(CY, thread, EMBER)
    await pg.bring_in(BO, thread, EMBER)
    assert pg.world.sees(thread, EMBER)


async def test_threads_of_people(pg: Playground) -> None:
    """A thread of a message has its id, once; another posts a line in its parent."""
    message = await pg.say(BO, HEARTH, "story")
    thread = await pg.create_thread(BO, HEARTH, "aside", message=message)
    assert thread.id == message.id
    with pytest.raises(ApiError) as refused:
        await pg.create_thread(BO, HEARTH, "aside", message=message)
    assert refused.value.code == 160004
    await pg.create_thread(BO, HEARTH, "free")
    assert pg.messages(HEARTH)[-1].type == MessageKind.THREAD_CREATED
    with pytest.raises(ApiError):
        await pg.archive(CY, thread)
    assert (await pg.archive(BO, thread)).archived


async def test_wait_for_message_finds_what_has_already_come(pg: Playground) -> None:
    """It looks behind the last words of a person, so nothing is missed or taken twice."""
    bot = pg.bot_user
    await pg.say(bot, HEARTH, "old")
    asked = await pg.say(BO, HEARTH, "?")
    await pg.say(bot, HEARTH, "one")
    await pg.say(bot, HEARTH, "two")
    assert (await pg.wait_for_message(HEARTH)).content == "one"
    found = await pg.wait_for_message(HEARTH, lambda m: m.content == "two", after=asked)
    assert (await pg.wait_for_message(HEARTH, after=0)).content == "old"
    with pytest.raises(TimeoutError):
        await pg.wait_for_message(HEARTH, after=found, timeout=0.01)


async def test_wait_for_message_wants_the_bots_words(pg: Playground) -> None:
    """A "thinking" line and what other people say are no answer; its filled form is."""
    asked = await pg.say(BO, HEARTH, "?")
    thinking = Draft(flags=int(MessageFlag.LOADING))
    line = pg.talk.send(EMBER, pg.world.channel(HEARTH), thinking)
    await pg.say(CY, HEARTH, "me first")
    with pytest.raises(TimeoutError):
        await pg.wait_for_message(HEARTH, after=asked, timeout=0.01)
    pg.talk.edit(EMBER, line, EditMessage(content="here"))
    assert await pg.wait_for_message(HEARTH, after=asked) is line


async def test_forward_by_a_person(pg: Playground) -> None:
    """Its own text is empty, the other's stands in the snapshot."""
    original = await pg.say(ADA, HEARTH, "wise words")
    message = await pg.forward(BO, HEARTH, original)
    assert message.content == ""
    assert message.extra["message_snapshots"][0]["message"]["content"] == "wise words"


async def test_reactions_and_pins(pg: Playground) -> None:
    """A reaction can be taken back; Bo may not pin, Ada may."""
    message = await pg.say(BO, HEARTH, "x")
    await pg.react(CY, message, "🔥")
    await pg.unreact(CY, message, "🔥")
    assert message.reactions == {}
    with pytest.raises(ApiError):
        await pg.pin(BO, message)
    await pg.pin(ADA, message)
    assert message.pinned
    assert EMBER in pg.world.guild(ORCHARD).members
