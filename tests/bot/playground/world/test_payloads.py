"""JSON of entities where it has rules of its own."""

from __future__ import annotations

from bot.playground.entities import Upload
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, KINDLING, ORCHARD
from bot.playground.messages.drafts import Draft
from bot.playground.messages.talk import Talk
from bot.playground.world import payloads
from bot.playground.world.bodies import Reference
from bot.playground.world.state import default_world


def test_event_in_a_guild_has_member_and_guild_and_in_a_dm_neither() -> None:
    """MESSAGE_CREATE carries what REST leaves out."""
    world = default_world()
    talk = Talk(world)
    here = talk.send(BO, world.channel(HEARTH), Draft(content="x"))
    event = payloads.message_event(world, here)
    assert (event["guild_id"], event["channel_type"]) == (str(ORCHARD), 0)
    assert "user" not in event["member"]
    assert "member" not in payloads.message(world, here)
    private = payloads.message_event(
        world, talk.send(BO, world.channel(DIRECT[BO]), Draft(content="x"))
    )
    assert private["channel_type"] == 1
    assert {"guild_id", "member"}.isdisjoint(private)


def test_a_reply_holds_what_it_answers_one_level_deep() -> None:
    """A deleted one is null; the answered message's own reference is bare."""
    world = default_world()
    talk, channel = Talk(world), world.channel(HEARTH)
    first = talk.send(BO, channel, Draft(content="1"))
    second = talk.send(BO, channel, Draft(content="2", reference=Reference(message_id=first.id)))
    third = talk.send(BO, channel, Draft(content="3", reference=Reference(message_id=second.id)))
    body = payloads.message(world, third)
    assert body["referenced_message"]["content"] == "2"
    assert "referenced_message" not in body["referenced_message"]
    talk.delete(BO, second)
    assert payloads.message(world, third)["referenced_message"] is None


def test_without_content_empties_the_answered_message_too() -> None:
    """Unless it is the bot's own or mentions it."""
    world = default_world()
    talk, channel = Talk(world), world.channel(HEARTH)
    theirs = talk.send(BO, channel, Draft(content="secret"))
    mine = talk.send(EMBER, channel, Draft(content="mine"))
    told = talk.send(BO, channel, Draft(content=f"<@{EMBER}> told"))
    for answered, text in ((theirs, ""), (mine, "mine"), (told, told.content)):
        draft = Draft(content="x", reference=Reference(message_id=answered.id))
        event = payloads.message_event(world, talk.send(ADA, channel, draft))
        bare = payloads.without_content(event, EMBER)
        assert bare["content"] == ""
        assert bare["referenced_message"]["content"] == text
        assert event["content"] == "x"


def test_a_dm_leaves_its_viewer_out_of_recipients() -> None:
    """The bot sees Bo, Bo sees the bot."""
    world = default_world()
    dm = world.channel(DIRECT[BO])
    assert [r["id"] for r in payloads.channel(world, dm)["recipients"]] == [str(BO)]
    seen = payloads.channel(world, dm, viewer_id=BO)
    assert [r["id"] for r in seen["recipients"]] == [str(EMBER)]


def test_thread_has_parent_owner_and_own_membership() -> None:
    """Membership is there only for members."""
    world = default_world()
    body = payloads.channel(world, world.channel(KINDLING))
    assert (body["parent_id"], body["owner_id"]) == (str(HEARTH), str(ADA))
    assert body["member"]["user_id"] == str(EMBER)
    assert "member" not in payloads.channel(world, world.channel(KINDLING), viewer_id=BO)


def test_custom_emoji_has_name_and_id() -> None:
    """``name:id`` is a custom one, anything else a character."""
    assert payloads.emoji("party:5") == {"id": "5", "name": "party", "animated": False}
    assert payloads.emoji("🔥") == {"id": None, "name": "🔥", "animated": False}


def test_file_names_are_quoted_in_addresses() -> None:
    """A name that looks like a path stays one segment."""
    world = default_world()
    talk = Talk(world)
    upload = Upload(filename="../../x y", data=b"")
    message = talk.send(BO, world.channel(HEARTH), Draft(uploads=[upload]))
    address = payloads.message(world, message)["attachments"][0]["url"]
    assert address.split("?")[0].endswith("/..%2F..%2Fx%20y")
