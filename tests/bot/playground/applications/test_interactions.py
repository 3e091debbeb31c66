"""The course of an interaction, without sockets (its refusals: ``rest/test_commands``)."""

from __future__ import annotations

import pytest

from bot.playground.applications.interactions import Desk
from bot.playground.applications.stages import Interaction, InteractionKind, Stage
from bot.playground.entities import Event
from bot.playground.errors import ApiError
from bot.playground.ids import ADA, BO, DIRECT, EMBER, HEARTH, ORCHARD
from bot.playground.messages.talk import Talk
from bot.playground.world.bodies import Callback, CreateMessage, EditMessage
from bot.playground.world.state import World, default_world


class Scene:
    """A desk with one interaction by Ada in #hearth."""

    def __init__(self, kind: InteractionKind = InteractionKind.COMMAND) -> None:
        self.heard: list[Event] = []
        self.world: World = default_world()
        self.world.emit = self.heard.append
        self.talk = Talk(self.world)
        self.desk = Desk(self.world, self.talk)
        self.it = self.open(kind)

    def open(self, kind: InteractionKind) -> Interaction:
        data = {"name": "runs", "type": 1, "id": "1"}
        return self.desk.open(kind, ADA, self.world.channel(HEARTH), data)

    def answer(self, kind: int, **data: object) -> None:
        self.desk.answer(self.it.id, self.it.token, Callback(type=kind, data=data), ())

    def edit(self, **fields: object) -> None:
        self.desk.edit(self.it.token, "@original", EditMessage(**fields), ())


def test_thinking_becomes_answered_by_an_edit() -> None:
    """The original keeps the privacy of the deferral."""
    scene = Scene()
    scene.answer(5, flags=64)
    stages = [scene.it.stage]
    assert not scene.it.settled
    scene.edit(content="done")
    assert [*stages, scene.it.stage] == [Stage.THINKING, Stage.ANSWERED]
    assert [m.ephemeral for m in scene.it.messages] == [True]


def test_first_follow_up_after_a_public_deferral_is_public() -> None:
    """Its own ephemeral flag comes too late; the next one's counts."""
    scene = Scene()
    scene.answer(5)
    first = scene.desk.follow_up(scene.it.token, CreateMessage(content="a", flags=64), ())
    second = scene.desk.follow_up(scene.it.token, CreateMessage(content="b", flags=64), ())
    assert first is scene.it.original
    assert (first.ephemeral, second.ephemeral) == (False, True)


def test_deleting_the_thinking_line_settles() -> None:
    """Nothing is left to wait for."""
    scene = Scene()
    scene.answer(5)
    scene.desk.delete(scene.it.token, "@original")
    assert scene.it.settled
    assert scene.it.messages == []


def test_update_edits_the_source() -> None:
    """Types 6 and 7 work on the pressed message."""
    scene = Scene()
    scene.answer(4, content="old")
    pressed = scene.it.original
    assert pressed is not None
    for kind, stage in ((7, Stage.UPDATED), (6, Stage.UPDATING)):
        it = scene.desk.open(
            InteractionKind.COMPONENT, BO, scene.it.channel, {"custom_id": "x"}, source=pressed
        )
        body = Callback(type=kind, data={"content": "new"} if kind == 7 else None)
        scene.desk.answer(it.id, it.token, body, ())
        assert it.stage is stage
        assert it.original is pressed
        scene.desk.edit(it.token, "@original", EditMessage(content="newer"), ())
        assert it.stage is Stage.UPDATED
    assert pressed.content == "newer"


def test_ephemeral_events_stay_away_from_the_gateway() -> None:
    """Only the reader's screen is told of a whispered message."""
    scene = Scene()
    scene.answer(4, content="psst", flags=64)
    told = [e for e in scene.heard if e.message is not None]
    assert [(e.name, e.to_bot, e.only_for) for e in told] == [
        ("PLAYGROUND_MESSAGE_CREATE", False, ADA)
    ]


def test_payload_in_guild_and_dm() -> None:
    """In a guild a member with permissions, in a DM a user."""
    scene = Scene()
    body = scene.desk.payload(scene.it)
    assert body["member"]["user"]["id"] == str(ADA)
    assert int(body["member"]["permissions"]) & 8
    assert (body["guild_id"], body["context"]) == (str(ORCHARD), 0)
    dm = scene.world.channel(DIRECT[BO])
    private = scene.desk.payload(scene.desk.open(InteractionKind.COMMAND, BO, dm, {"name": "x"}))
    assert private["user"]["id"] == str(BO)
    assert private["context"] == 1
    assert "member" not in private


def test_messages_carry_who_asked() -> None:
    """Answers are the bot's, with the metadata of the interaction."""
    scene = Scene()
    scene.answer(4, content="x")
    message = scene.it.messages[0]
    assert message.author_id == EMBER
    assert message.extra["interaction_metadata"]["user"]["id"] == str(ADA)
    assert message.type == 20


def test_a_follow_up_is_not_reachable_by_anothers_token() -> None:
    """Each token sees its own messages."""
    scene = Scene()
    scene.answer(4, content="x")
    other = scene.open(InteractionKind.COMMAND)
    scene.desk.answer(other.id, other.token, Callback(type=4, data={"content": "y"}), ())
    with pytest.raises(ApiError) as refused:
        scene.desk.message(other, str(scene.it.messages[0].id))
    assert refused.value.code == 10008
