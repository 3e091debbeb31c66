"""Reactions: who may, how many, and what is told."""

from __future__ import annotations

import pytest

from bot.playground.entities import Event, Message
from bot.playground.errors import ApiError
from bot.playground.ids import ADA, BO, CY, HEARTH, KINDLING, ORCHARD
from bot.playground.messages.drafts import Draft
from bot.playground.messages.reactions import Reactions
from bot.playground.messages.talk import Talk
from bot.playground.world.permissions import Permission
from bot.playground.world.state import World, default_world


@pytest.fixture
def world() -> World:
    return default_world()


@pytest.fixture
def message(world: World) -> Message:
    return Talk(world).send(BO, world.channel(HEARTH), Draft(content="x"))


def code_of(refused: pytest.ExceptionInfo[ApiError]) -> int:
    return refused.value.code


def test_without_add_reactions_only_existing_ones_can_be_joined(
    world: World, message: Message
) -> None:
    """A new kind needs the permission, joining one does not."""
    reactions = Reactions(world)
    reactions.add(ADA, message, "🔥")
    world.guild(ORCHARD).roles[ORCHARD].permissions &= ~Permission.ADD_REACTIONS
    reactions.add(CY, message, "🔥")
    with pytest.raises(ApiError) as refused:
        reactions.add(CY, message, "👍")
    assert code_of(refused) == 50013
    assert message.reactions == {"🔥": [ADA, CY]}


def test_each_change_is_told_once(world: World, message: Message) -> None:
    """Adding twice tells once; the last removal takes the emoji away."""
    heard: list[Event] = []
    world.emit = heard.append
    reactions = Reactions(world)
    reactions.add(CY, message, "🔥")
    reactions.add(CY, message, "🔥")
    reactions.remove(CY, CY, message, "🔥")
    reactions.add(CY, message, "🔥")
    reactions.clear(ADA, message, "🔥")
    reactions.clear(ADA, message)
    assert [e.name for e in heard] == [
        "MESSAGE_REACTION_ADD",
        "MESSAGE_REACTION_REMOVE",
        "MESSAGE_REACTION_ADD",
        "MESSAGE_REACTION_REMOVE_EMOJI",
        "MESSAGE_REACTION_REMOVE_ALL",
    ]
    assert heard[0].data["member"]["user"]["id"] == str(CY)
    assert message.reactions == {}


def test_refusals(world: World, message: Message) -> None:
    """Another's needs MANAGE_MESSAGES, an empty emoji is none, archived is 50083."""
    reactions = Reactions(world)
    reactions.add(CY, message, "🔥")
    with pytest.raises(ApiError) as refused:
        reactions.remove(BO, CY, message, "🔥")
    assert code_of(refused) == 50013
    with pytest.raises(ApiError) as refused:
        reactions.add(BO, message, "")
    assert code_of(refused) == 10014
    thread = world.channel(KINDLING)
    there = Talk(world).send(BO, thread, Draft(content="x"))
    world.update_channel(thread, archived=True)
    with pytest.raises(ApiError) as refused:
        reactions.add(BO, there, "🔥")
    assert code_of(refused) == 50083
