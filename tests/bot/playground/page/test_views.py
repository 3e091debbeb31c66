"""What one person sees, and what they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.playground.entities import ChannelKind, Message, MessageFlag
from bot.playground.ids import ADA, BO, CY, DEE, EMBER, HEARTH, KINDLING, ORCHARD, PIER
from bot.playground.page.views import file_path, history, message_view, world_view
from bot.playground.world.permissions import Permission
from bot.playground.world.state import World, default_world

if TYPE_CHECKING:
    from bot.playground.entities import Payload


def seen_by(world: World, viewer: int) -> Payload:
    return world_view(world, viewer, online=True, banner="")


def say(world: World, text: str, **more: object) -> Message:
    message = Message(id=world.new_id(), channel_id=HEARTH, author_id=BO, content=text)
    for key, value in more.items():
        setattr(message, key, value)
    place = world.ephemerals if message.only_for else world.channel(HEARTH).messages
    place[message.id] = message
    return message


def test_threads_stand_among_the_channels_with_their_parent() -> None:
    channels = seen_by(default_world(), CY)["guilds"][0]["channels"]
    thread = next(c for c in channels if c["kind"] == "thread")
    assert (thread["id"], thread["parent"]) == (str(KINDLING), str(HEARTH))


def test_a_hidden_channel_is_not_listed() -> None:
    world = default_world()
    world.set_overwrite(HEARTH, ORCHARD, kind=0, deny=int(Permission.VIEW_CHANNEL))
    assert str(HEARTH) not in {c["id"] for c in seen_by(world, CY)["guilds"][0]["channels"]}
    assert str(HEARTH) in {c["id"] for c in seen_by(world, ADA)["guilds"][0]["channels"]}


def test_where_one_may_not_write_is_marked() -> None:
    world = default_world()
    world.set_overwrite(HEARTH, ORCHARD, kind=0, deny=int(Permission.SEND_MESSAGES))
    forum = world.add_channel(ORCHARD, "ideas", kind=ChannelKind.FORUM)
    may = {c["id"]: c["can_send"] for c in seen_by(world, CY)["guilds"][0]["channels"]}
    assert not may[str(HEARTH)]
    assert not may[str(forum.id)]


def test_a_dm_is_named_for_the_other() -> None:
    (dm,) = seen_by(default_world(), BO)["dms"]
    assert dm["name"] == "Ember"
    assert set(dm["members"]) == {str(BO), str(EMBER)}


def test_the_owner_is_known_and_nicknames_count_in_their_server() -> None:
    world = default_world()
    world.update_member(ORCHARD, DEE, nick="Ada")
    view = seen_by(world, BO)
    assert [one["name"] for one in view["people"] if one["owner"]] == ["Ada"]
    assert view["guilds"][0]["nicks"] == {str(DEE): "Ada"}


def test_a_channel_of_a_kind_the_page_cannot_draw_is_left_out() -> None:
    world = default_world()
    made = world.add_channel(ORCHARD, "group", kind=ChannelKind.CATEGORY)
    assert str(made.id) not in {c["id"] for c in seen_by(world, ADA)["guilds"][0]["channels"]}


def test_an_ephemeral_message_is_in_its_readers_history_alone() -> None:
    """WS and the issue: ephemeral answers reach one person."""
    world = default_world()
    first = say(world, "one")
    whisper = say(world, "for Ada", only_for=ADA)
    last = say(world, "two")
    channel = world.channel(HEARTH)
    ids = [m["id"] for m in history(world, channel, ADA, before=None, limit=9)["messages"]]
    assert ids == [str(first.id), str(whisper.id), str(last.id)]
    others = history(world, channel, BO, before=None, limit=9)["messages"]
    assert [m["id"] for m in others] == [str(first.id), str(last.id)]
    assert message_view(world, whisper, ADA)["ephemeral"]
    assert not history(world, world.channel(PIER), ADA, before=None, limit=9)["messages"]


def test_a_reaction_is_mine_only_for_me() -> None:
    world = default_world()
    message = say(world, "x", reactions={"🔥": [ADA, CY], "☕": [CY]})

    def mine(viewer: int) -> list[bool]:
        return [one["me"] for one in message_view(world, message, viewer)["reactions"]]

    assert mine(ADA) == [True, False]
    assert mine(CY) == [True, True]
    assert mine(EMBER) == [False, False]


def test_a_call_is_for_those_it_pinged() -> None:
    world = default_world()
    message = say(world, "x", pinged=(CY,), flags=int(MessageFlag.SUPPRESS_EMBEDS))
    assert message_view(world, message, CY)["pinged"]
    assert not message_view(world, message, ADA)["pinged"]


def test_a_files_name_cannot_leave_its_place() -> None:
    assert file_path(1, 2, "../../x?y#z\ud800") == "files/1/2/..%2F..%2Fx%3Fy%23z%3F"
