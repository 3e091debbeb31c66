"""Messages that the library cannot read whole."""

from __future__ import annotations

from typing import Any

import discord
import pytest

from bot import ingress
from bot.odd_messages import edited, read_clicked, read_odd, readable
from support.discord_messages import State, attachment, make_state, message_payload

ENDLESS: dict[str, object] = {
    "question": {"text": "Tea?"},
    "answers": [],
    "expiry": None,
    "layout_type": 1,
}
WRONG_DAY = {"type": "rich", "title": "x", "timestamp": "some day"}


@pytest.fixture
async def state() -> State:
    return make_state()


def read(state: State, data: dict[str, object]) -> discord.Message:
    """Read as the bot does."""

    def make(raw: Any) -> discord.Message:  # noqa: ANN401 - Discord's JSON
        channel: Any = state._get_guild_channel(raw)[0]
        return discord.Message(state=state, channel=channel, data=raw)

    return read_odd(make, data)


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({"poll": ENDLESS}, "poll"),
        ({"embeds": [WRONG_DAY]}, "embeds"),
        ({"attachments": [{"id": "1", "filename": "x"}]}, "attachments"),
        ({"message_snapshots": [{"message": {"content": "x"}}]}, "message snapshots"),
        ({"message_reference": {"type": 7}}, "message reference"),
        ({"poll": ENDLESS, "embeds": [WRONG_DAY]}, "poll, embeds"),
    ],
)
async def test_what_cannot_be_read_hides_no_words(
    state: State, fields: dict[str, object], missing: str
) -> None:
    """P12, P05's kind: the words are read, and a line says what is left out."""
    message = read(state, message_payload("hello", **fields))
    assert message.content == "hello"
    (part,) = ingress.read_parts(message)
    assert part.text == f"(something here cannot be read: {missing})"


async def test_what_can_be_read_stays(state: State) -> None:
    """Only the field that is odd is left out; a message without any is as it came."""
    whole = message_payload("", attachments=[attachment()])
    assert [part.name for part in ingress.read_parts(read(state, whole))] == ["message.txt"]
    parts = ingress.read_parts(read(state, whole | {"poll": ENDLESS}))
    assert [part.kind for part in parts] == ["attachment", "embed"]


async def test_what_has_no_type_is_no_message(state: State) -> None:
    """P11: nothing is made up; the first fault is told."""
    data = message_payload("hello", poll=ENDLESS)
    del data["type"]
    with pytest.raises(KeyError, match="type"):
        read(state, data)


async def test_a_click_beside_something_odd_is_read(state: State) -> None:
    """P12, P15: under an answer to it, and in a command on it; what is odd is left out there."""
    odd = message_payload("hello", poll=ENDLESS)
    about = {"type": 0, "message_id": odd["id"], "channel_id": "10"}
    answer = message_payload("An answer.", message_reference=about, referenced_message=odd)
    seen: list[dict[str, Any]] = []
    read_odd_click = read_clicked(seen.append, state)
    read_odd_click({"channel_id": "10", "message": answer, "data": {"custom_id": "x"}})
    read_odd_click({"channel_id": "10", "data": {"resolved": {"messages": {"5": odd}}}})
    clicked, asked = seen[0]["message"], seen[1]["data"]["resolved"]["messages"]["5"]
    assert [read(state, each).content for each in (clicked, asked)] == ["An answer.", "hello"]
    assert "referenced_message" not in clicked
    assert "poll" not in asked
    plain = {"channel_id": "10", "message": message_payload("hello")}
    read_odd_click(plain)
    assert read(state, seen[2]["message"]).content == "hello"


async def test_a_click_without_what_belongs_to_each_message_goes_on(state: State) -> None:
    """Whoever reads it next says what is wrong with it."""
    broken = message_payload("hello")
    del broken["type"]
    seen: list[dict[str, Any]] = []
    read_clicked(seen.append, state)({"channel_id": "10", "message": broken})
    assert seen == [{"channel_id": "10", "message": broken}]


async def test_what_is_asked_for_is_read_as_far_as_what_comes_by_itself(state: State) -> None:
    """P06, P13: a page of a channel's past, one message, and Discord's word on an edit."""
    place = discord.PartialMessageable(state=state, id=10)
    odd = message_payload("hello", poll=ENDLESS, mentions=None, edited_timestamp="soon")
    assert readable(state)(channel=place, data=odd).content == "hello"
    page: Any = "<html>"
    with pytest.raises(AttributeError):
        readable(state)(channel=place, data=page)

    async def edit(channel_id: int, message_id: int) -> dict[str, Any]:
        assert (channel_id, message_id) == (10, 500)
        return odd

    answer = await edited(edit, state)(10, 500)
    assert read(state, answer).content == "hello"
    assert "poll" not in answer
