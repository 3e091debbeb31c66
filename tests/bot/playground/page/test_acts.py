"""What people do on the page, with a bot that answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, ORCHARD, PIER, WORKSHOP
from support.hearth_bot import HearthBot
from support.page_client import PageClient, page_open
from support.playground_bot import running

if TYPE_CHECKING:
    from bot.playground.entities import Event, Message

FOR_ALL = {"kettle", "slumber"}
ADA_HERE: dict[str, Any] = {"as_": str(ADA), "channel": str(HEARTH)}


@pytest.fixture
async def client() -> AsyncIterator[PageClient]:
    async with page_open() as opened:
        yield opened


@pytest.fixture
async def served(client: PageClient) -> AsyncIterator[PageClient]:
    async with running(HearthBot(), client.pg):
        yield client


async def said(client: PageClient, text: str, *, reply_to: str | None = None) -> Message:
    answer = await client.act("say", **ADA_HERE, content=text, reply_to=reply_to)
    return client.pg.world.message(HEARTH, int(answer["message"]))


async def test_saying_replying_editing_deleting(client: PageClient) -> None:
    first = await said(client, "one")
    second = await said(client, "two", reply_to=str(first.id))
    assert second.reply_to == first.id
    await client.act("edit", **ADA_HERE, message=str(first.id), content="changed")
    assert first.content == "changed"
    await client.act("delete", **ADA_HERE, message=str(second.id))
    assert client.pg.messages(HEARTH) == (first,)


async def test_another_persons_message_is_not_ones_own(client: PageClient) -> None:
    theirs = await client.pg.say(BO, HEARTH, "mine")
    answer = await client.act("edit", status=403, **ADA_HERE, message=str(theirs.id), content="no")
    assert answer == {"error": "Cannot edit a message authored by another user"}


async def test_reactions_come_and_go(client: PageClient) -> None:
    message = await said(client, "one")
    await client.act("react", **ADA_HERE, message=str(message.id), emoji="🔥")
    assert message.reactions == {"🔥": [ADA]}
    await client.act("unreact", **ADA_HERE, message=str(message.id), emoji="🔥")
    assert message.reactions == {}


async def test_typing_shows(client: PageClient) -> None:
    await client.act("typing", **ADA_HERE)
    assert [user.id for user in client.pg.typing_in(HEARTH)] == [ADA]


async def test_a_thread_grows_from_a_message(client: PageClient) -> None:
    message = await said(client, "one")
    answer = await client.act("thread", **ADA_HERE, message=str(message.id), name="aside")
    assert client.pg.world.channel(int(answer["channel"])).name == "aside"


async def test_nobody_sits_at_the_page_as_the_bot(client: PageClient) -> None:
    await client.act("say", status=404, as_=str(EMBER), channel=str(HEARTH), content="I am Ember")
    assert client.pg.messages(HEARTH) == ()


async def test_nobody_acts_in_a_conversation_of_others(client: PageClient) -> None:
    theirs = await client.pg.say(ADA, DIRECT[ADA], "between us")
    about: dict[str, Any] = {"as_": str(BO), "channel": str(DIRECT[ADA]), "message": str(theirs.id)}
    await client.act("react", status=403, **about, emoji="👀")
    assert theirs.reactions == {}


async def test_a_message_is_looked_for_in_its_own_channel(client: PageClient) -> None:
    message = await client.pg.say(ADA, WORKSHOP, "elsewhere")
    await client.act("delete", status=404, **ADA_HERE, message=str(message.id))


async def test_commands_are_those_that_the_person_is_offered(served: PageClient) -> None:
    for who, expected in ((ADA, {*FOR_ALL, "books", "Why this answer?"}), (BO, FOR_ALL)):
        offered = await served.read("commands", as_=who, channel=HEARTH)
        assert {command["name"] for command in offered["commands"]} == expected


async def test_a_slash_command_takes_options(served: PageClient) -> None:
    options = {"cups": 3, "who": str(BO)}
    assert await served.act("slash", **ADA_HERE, name="kettle", options=options) == {}
    assert served.pg.messages(HEARTH)[-1].content == f"3 cups for <@{BO}>"


async def test_an_unknown_option_is_refused_in_words(served: PageClient) -> None:
    answer = await served.act(
        "slash", status=400, **ADA_HERE, name="kettle", options={"sugar": "2"}
    )
    assert "sugar" in answer["error"]


async def test_autocomplete_offers_what_the_bot_says(served: PageClient) -> None:
    answer = await served.act(
        "autocomplete", **ADA_HERE, name="books show", focused="title", options={"title": "em"}
    )
    assert answer == {"choices": [{"name": "Embers", "value": "Embers"}]}


async def test_an_ephemeral_answer_can_be_dismissed_by_its_reader(served: PageClient) -> None:
    await served.act("slash", **ADA_HERE, name="books show", options={"title": "Embers"})
    (whisper,) = served.pg.world.ephemerals.values()
    assert whisper.extra["interaction_metadata"]["name"] == "books show"
    bo: dict[str, Any] = {"as_": str(BO), "channel": str(HEARTH), "message": str(whisper.id)}
    await served.act("dismiss", status=404, **bo)
    await served.act("dismiss", **ADA_HERE, message=str(whisper.id))
    assert not served.pg.world.ephemerals


async def test_only_ephemeral_messages_are_dismissed(client: PageClient) -> None:
    message = await said(client, "one")
    await client.act("dismiss", status=403, **ADA_HERE, message=str(message.id))


async def test_a_context_menu_opens_on_a_message(served: PageClient) -> None:
    message = await said(served, "one")
    await served.act("context", **ADA_HERE, message=str(message.id), name="Why this answer?")
    (whisper,) = served.pg.world.ephemerals.values()
    assert str(message.id) in whisper.content


async def test_a_button_answers_and_a_form_is_filled_in(served: PageClient) -> None:
    await served.act("slash", **ADA_HERE, name="kettle", options={"cups": 0})
    asked = served.pg.messages(HEARTH)[-1]
    await served.act("click", **ADA_HERE, message=str(asked.id), custom_id="light")
    assert [m.content for m in served.pg.world.ephemerals.values()] == ["Lit."]
    opened = await served.act("click", **ADA_HERE, message=str(asked.id), custom_id="ask")
    assert opened["modal"]["title"] == "A question"
    fill = {"interaction": opened["interaction"], "values": {"what": ["warmth"]}}
    await served.act("modal", status=404, as_=str(BO), **fill)
    await served.act("modal", as_=str(ADA), **fill)
    assert served.pg.messages(HEARTH)[-1].content == "You asked about warmth."
    await served.act("modal", status=404, as_=str(ADA), **fill)


async def test_a_select_gives_its_values(served: PageClient) -> None:
    await served.act("slash", **ADA_HERE, name="kettle", options={"cups": 0})
    asked = served.pg.messages(HEARTH)[-1]
    about = {**ADA_HERE, "message": str(asked.id), "custom_id": "drink"}
    await served.act("click", **about, values=["tea"])
    assert served.pg.messages(HEARTH)[-1].content == "tea it is."


async def test_a_bot_that_does_not_answer_is_said_to_be_silent(served: PageClient) -> None:
    served.pg.invoking.answer_seconds = 0.05
    assert await served.act("slash", **ADA_HERE, name="slumber") == {"silent": True}


COUNT = {"name": "count", "description": "Count the embers."}
ABOUT = {"name": "About this", "type": 3}


async def test_each_bot_of_a_server_offers_its_own_commands() -> None:
    """Issue 8 "Several imps": as in Discord, commands are told apart by their application."""
    async with page_open() as client:
        scribe = client.pg.add_bot("Scribe", guilds=[ORCHARD])
        client.pg.registry.overwrite(None, [COUNT])
        scribe.registry.overwrite(None, [COUNT, ABOUT])
        client.pg.invoking.answer_seconds = 0.0
        heard: list[str] = []

        def hear(event: Event) -> None:
            if event.name == "INTERACTION_CREATE":
                heard.append(event.data["application_id"])

        client.pg.subscribe(hear)
        offered = (await client.read("commands", **ADA_HERE))["commands"]
        ids = [(item["application_id"], item["name"]) for item in offered]
        mine = str(scribe.user.id)
        assert ids == [(str(EMBER), "count"), (mine, "count"), (mine, "About this")]
        only = await client.read("commands", as_=ADA, channel=PIER)  # where Scribe is no member
        assert [item["application_id"] for item in only["commands"]] == [str(EMBER)]

        message = await client.pg.say(ADA, HEARTH, "three")
        asked: dict[str, Any] = {**ADA_HERE, "application": mine}
        assert await client.act("slash", **asked, name="count") == {"silent": True}
        menu = await client.act("context", **asked, message=str(message.id), name="About this")
        assert menu == {"silent": True}
        await client.act("slash", status=400, **asked, name="other")
        await client.act("slash", status=400, **ADA_HERE, application="1", name="count")
        assert heard == [mine, mine]
