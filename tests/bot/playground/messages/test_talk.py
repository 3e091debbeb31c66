"""Messages of a world, without sockets."""

from __future__ import annotations

import pytest

from bot.playground.entities import Event, MessageKind
from bot.playground.errors import ApiError
from bot.playground.ids import ADA, BO, CY, DIRECT, HEARTH, KINDLING, PIER
from bot.playground.messages.drafts import Draft
from bot.playground.messages.talk import Talk
from bot.playground.world.bodies import EditMessage
from bot.playground.world.state import World, default_world


class Scene:
    """A world with its talk and everything it told."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.world: World = default_world(clock=lambda: self.now)
        self.heard: list[Event] = []
        self.world.emit = self.heard.append
        self.talk = Talk(self.world)

    def names(self) -> list[str]:
        return [event.name for event in self.heard]


def refused(code: int) -> pytest.RaisesExc[ApiError]:
    return pytest.RaisesExc(ApiError, check=lambda exc: exc.code == code)


def test_text_is_kept_exactly_for_people() -> None:
    """Odd line ends and lone surrogates go through as they are (P21)."""
    scene = Scene()
    text = " \u2028a\u0085\ud83d\r\n "
    message = scene.talk.send(BO, scene.world.channel(HEARTH), Draft(content=text))
    assert message.content == text
    assert scene.heard[-1].data["content"] == text


def test_who_is_not_in_the_guild_cannot_speak_there() -> None:
    """Cy is no member of Harbour, nor of Bo's DM."""
    scene = Scene()
    for channel in (PIER, DIRECT[BO]):
        with refused(50001):
            scene.talk.send(CY, scene.world.channel(channel), Draft(content="x"))


def test_typing_ends_after_ten_seconds() -> None:
    """Typing lasts 10 s."""
    scene = Scene()
    channel = scene.world.channel(HEARTH)
    scene.talk.typing(BO, channel)
    scene.now += 9.9
    assert scene.talk.typing_in(channel) == (BO,)
    scene.now += 0.2
    assert scene.talk.typing_in(channel) == ()


def test_edit_changes_mentions_and_pings_nobody() -> None:
    """An edit cannot notify."""
    scene = Scene()
    message = scene.talk.send(BO, scene.world.channel(HEARTH), Draft(content="x"))
    scene.talk.edit(BO, message, EditMessage(content=f"<@{CY}>"))
    assert message.mentions == (CY,)
    assert message.pinged == ()
    assert message.edited_at == scene.now
    with refused(50005):
        scene.talk.edit(CY, message, EditMessage(content="mine"))


def test_delete_of_anothers_message_needs_a_right() -> None:
    """The owner may, a member may not; in a DM nobody may."""
    scene = Scene()
    message = scene.talk.send(BO, scene.world.channel(HEARTH), Draft(content="x"))
    with refused(50013):
        scene.talk.delete(CY, message)
    scene.talk.delete(ADA, message)
    assert scene.heard[-1].data == {
        "id": str(message.id),
        "channel_id": str(HEARTH),
        "guild_id": str(scene.world.channel(HEARTH).guild_id),
    }
    private = scene.talk.send(BO, scene.world.channel(DIRECT[BO]), Draft(content="x"))
    with refused(50003):
        scene.talk.delete(scene.world.bot.id, private)


def test_too_old_for_bulk_delete() -> None:
    """Messages older than two weeks are 50034."""
    scene = Scene()
    channel = scene.world.channel(HEARTH)
    old = [scene.talk.send(BO, channel, Draft(content="x")).id for _ in range(2)]
    scene.now += 15 * 86_400
    with refused(50034):
        scene.talk.bulk_delete(ADA, channel, old)


def test_pin_is_told_in_three_events_and_only_once() -> None:
    """Update, pins update, and the system message."""
    scene = Scene()
    message = scene.talk.send(BO, scene.world.channel(HEARTH), Draft(content="x"))
    scene.heard.clear()
    scene.talk.pin(ADA, message, pinned=True)
    scene.talk.pin(ADA, message, pinned=True)
    assert scene.names() == ["MESSAGE_UPDATE", "CHANNEL_PINS_UPDATE", "MESSAGE_CREATE"]
    assert scene.heard[-1].data["type"] == MessageKind.PIN


def test_archived_thread_opens_again_by_a_message() -> None:
    """Unless it is locked, which only a moderator passes."""
    scene = Scene()
    thread = scene.world.channel(KINDLING)
    scene.world.update_channel(thread, archived=True)
    scene.heard.clear()
    scene.talk.send(BO, thread, Draft(content="x"))
    assert scene.names() == ["THREAD_UPDATE", "MESSAGE_CREATE"]
    scene.world.update_channel(thread, locked=True)
    with refused(160005):
        scene.talk.send(BO, thread, Draft(content="x"))
    scene.talk.send(ADA, thread, Draft(content="order"))
