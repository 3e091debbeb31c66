"""What somebody says into his own running turn (issue "The turn": ``busy = "steer"``)."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compiler.request import ChannelId, TurnId, UserId
from sessions.house.keeper import Terms
from sessions.inbound import InboundMessage, OutcomeKind, SeenMessage
from sessions.limits import TalkSettings
from sessions.pictures import Picture
from sessions.registry import Registry
from sessions.review.inspection import view_run
from sessions.ticket import Ticket
from sessions.traces.proof import verify
from sessions.traces.reader import read_trace
from sessions.turn import HaltReason
from support.session_world import (
    HEARTH,
    World,
    eventually,
    hold,
    inbound,
    locked,
    only_run,
    seen,
    session_world,
)

BO = UserId("discord:8")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with session_world(tmp_path) as made:
        made.engine.behave = hold
        made.parts = replace(made.parts, talk=lambda: TalkSettings(busy="steer"))
        yield made


async def submit(world: World, registry: Registry, message: InboundMessage) -> Ticket:
    """Write a message down as the edge does, and queue it."""
    entry = replace(seen(1, "x").entry, message_id=message.message.message_id or "")  # type: ignore[arg-type]
    await world.parts.rules.receive(
        SeenMessage(scope=message.scope, entry=entry), message, Terms(reads=False)
    )
    return registry.submit(message)


async def running(world: World, registry: Registry, text: str = "First.") -> Ticket:
    """Bring message 1 to pi."""
    ticket = await submit(world, registry, inbound(1, text))
    await eventually(lambda: len(world.engine.prompts) == 1)
    return ticket


async def steered(world: World, registry: Registry, number: int, text: str) -> Ticket:
    """Say something into the running turn, and wait until pi has it."""
    ticket = await submit(world, registry, inbound(number, text))
    await eventually(lambda: any(text in queued for queued in world.engine.last.queue))
    return ticket


def compiled(world: World, run_id: str) -> list[dict[str, Any]]:
    """The compilations of turns in a trace."""
    return [e for e in world.trace(run_id) if e["event"] == "compiled" and e["phase"] == "turn"]


def rows(world: World) -> list[tuple[str, str, str]]:
    with sqlite3.connect(world.home / "inglenook.db") as db:
        return db.execute(
            "SELECT message_id, turn_id, state FROM inbox ORDER BY ordinal"
        ).fetchall()


async def test_a_further_message_goes_into_its_authors_turn(world: World) -> None:
    """It is compiled and traced before pi has it, an input of the same turn, in the same row's
    turn; both answers are given, and nothing is said twice."""
    async with world.registry() as registry:
        first = await running(world, registry)
        run_id = only_run(registry)
        second = await steered(world, registry, 2, "And then?")
        one, other = compiled(world, run_id)
        assert other["turn_id"] == one["turn_id"] == "discord:message:1"
        assert other["scope"]["message_id"] == "discord:2"
        assert (one["steers"], other["steers"]["seq"]) == (None, one["seq"])
        assert rows(world)[1] == ("discord:2", "discord:message:1", "waiting")
        world.engine.last.take_up("One.")
        world.engine.last.reply("Two.")
        outcome = await first.outcome()
        assert (outcome.kind, outcome.text) == (OutcomeKind.REPLIED, "One.\n\nTwo.")
        assert (await second.outcome()).error_code == "joined"
        await eventually(lambda: {row[2] for row in rows(world)} == {"handled"})
        (told,) = [e for e in world.trace(run_id) if e["event"] == "outcome"]
        assert told["steered"] == ["discord:2"]
    assert verify(world.home / "runs" / run_id / "context.jsonl").ok
    assert [text.count("And then?") for _, text in world.engine.prompts] == [0, 1]


async def test_what_pi_does_not_take_up_is_a_turn_of_its_own(world: World) -> None:
    """Settled before the further input was taken up: never lost, never twice."""
    async with world.registry() as registry:
        first = await running(world, registry)
        second = await steered(world, registry, 2, "And then?")
        world.engine.last.reply("One.")
        assert (await first.outcome()).text == "One."
        await eventually(lambda: len(world.engine.prompts) == 2)
        assert world.engine.last.queue == []
        assert rows(world)[1][:2] == ("discord:2", "discord:message:2")
        world.engine.last.reply("Two.")
        assert (await second.outcome()).text == "Two."
        run_id = only_run(registry)
        ids = [each["turn_id"] for each in compiled(world, run_id)]
        assert ids == [f"discord:message:{number}" for number in (1, 1, 2)]


async def test_what_pi_did_not_take_up_is_taken_as_it_stands_then(world: World) -> None:
    """P13 (a): edited after pi was given it and before it took it up: the turn of its own has the
    new words alone, and the trace the hashes of both."""
    async with world.registry() as registry:
        first = await running(world, registry)
        run_id = only_run(registry)
        second = await steered(world, registry, 2, "OLD words.")
        assert registry.waits(second.inbound.turn_id, ChannelId(HEARTH))
        assert not registry.waits(first.inbound.turn_id, ChannelId(HEARTH))
        assert registry.amend(inbound(2, "NEW words."))
        world.engine.last.reply("One.")
        await first.outcome()
        await eventually(lambda: len(world.engine.prompts) == 2)
        assert "NEW words." in world.engine.prompts[1][1]
        assert "OLD" not in world.engine.prompts[1][1]
        assert len(compiled(world, run_id)[-1]["revisions_sha256"]) == 2
        world.engine.last.reply("Two.")
        assert (await second.outcome()).text == "Two."


async def test_only_its_author_goes_into_a_turn_and_in_order(world: World) -> None:
    """Another person's message waits, and with it whoever is not the author of the turn."""
    async with world.registry() as registry:
        first = await running(world, registry)
        mine = inbound(2, "Mine.")
        theirs = replace(
            mine,
            scope=replace(mine.scope, user_id=BO),
            message=replace(mine.message, author_id=BO),
        )
        other = await submit(world, registry, theirs)
        second = await steered(world, registry, 3, "And then?")
        assert not any("Mine." in text for text in world.engine.last.queue)
        world.engine.last.take_up()
        world.engine.last.reply("Both.")
        assert (await first.outcome()).text == "Both."
        assert (await second.outcome()).error_code == "joined"
        await eventually(lambda: any("Mine." in text for _, text in world.engine.prompts))
        world.engine.last.reply("Yours.")
        assert (await other.outcome()).text == "Yours."


@pytest.mark.parametrize("drop", [True, False])
async def test_a_stop_drops_or_keeps_what_pi_had_not_taken_up(world: World, *, drop: bool) -> None:
    """earendil-works/pi#9194: abort keeps queued steers; here the policy decides, and none of them
    rides along with the next prompt."""
    async with world.registry() as registry:
        first = await running(world, registry)
        second = await steered(world, registry, 2, "And then?")
        message = inbound(3)
        registry.interrupt(message.imp, message.scope, everyones=False, drop=drop)
        assert (await first.outcome()).error_code == "turn_stopped"
        if drop:
            assert (await second.outcome()).error_code == "stopped"
        else:
            await eventually(lambda: len(world.engine.prompts) == 2)
            world.engine.last.reply("Two.")
            assert (await second.outcome()).text == "Two."
        assert world.engine.last.queue == []


@pytest.mark.parametrize("how", ["error", "death", "deadline"])
async def test_what_went_into_a_turn_that_failed_is_a_turn_of_its_own(
    world: World, how: str
) -> None:
    """P22's kind: a hung, dead or refused engine takes no message with it, also where pi had been
    given it already."""
    async with world.registry() as registry:
        first = await running(world, registry)
        second = await steered(world, registry, 2, "And then?")
        world.engine.last.take_up()
        if how == "error":
            world.engine.last.reply("", stop="error", error="500: in trouble")
        elif how == "death":
            world.engine.last.die()
        else:
            (session,) = registry._sessions.values()
            session.halt(HaltReason.DEADLINE)
        outcome = await first.outcome()
        assert outcome.kind in {OutcomeKind.FAILED, OutcomeKind.CUT_OFF}
        assert not second.done
        await eventually(lambda: len(world.engine.prompts) == 3)
        assert "And then?" in world.engine.prompts[-1][1]
        world.engine.last.reply("Two.")
        assert (await second.outcome()).text == "Two."
        await eventually(lambda: {row[2] for row in rows(world)} == {"handled"})
        assert rows(world)[1][1] == "discord:message:2"


async def test_what_was_taken_up_by_a_stopped_turn_is_told_each_by_itself(world: World) -> None:
    """earendil-works/pi#9194: whoever is stopped is told so, in answer to each of his messages."""
    async with world.registry() as registry:
        first = await running(world, registry)
        second = await steered(world, registry, 2, "And then?")
        world.engine.last.take_up()
        message = inbound(3)
        registry.interrupt(message.imp, message.scope, everyones=False, drop=True)
        assert (await first.outcome()).error_code == "turn_stopped"
        told = await second.outcome()
        assert (told.error_code, told.turn_id) == ("turn_stopped", "discord:message:2")
        assert len(world.engine.prompts) == 2


async def test_pictures_go_into_the_running_turn(world: World) -> None:
    """P12: a message with a picture steers as any other; pi gets what was traced."""
    shown = Picture(media_type="image/png", width=1, height=1, data=b"a kettle")
    async with world.registry() as registry:
        first = await running(world, registry)
        run_id = only_run(registry)
        second = await submit(world, registry, replace(inbound(2, "And this?"), pictures=(shown,)))
        await eventually(lambda: world.engine.shown == [shown])
        world.engine.last.take_up()
        world.engine.last.reply("Both.")
        assert (await first.outcome()).text == "Both."
        assert (await second.outcome()).error_code == "joined"
        (traced,) = compiled(world, run_id)[1]["pictures"]
        assert traced["sha256"] == shown.sha256
    assert verify(world.home / "runs" / run_id / "context.jsonl").ok


async def test_the_rest_is_answered_when_a_part_of_the_turn_is_deleted(world: World) -> None:
    """P13 (c): the turn is cut off; the message that stands gets an answer, the other none."""
    async with world.registry() as registry:
        first = await running(world, registry, "CANARY-13")
        second = await steered(world, registry, 2, "And then?")
        world.engine.last.take_up()
        registry.forget(TurnId("discord:message:1"), ChannelId(HEARTH))
        assert (await first.outcome()).kind is OutcomeKind.CUT_OFF
        await eventually(lambda: len(world.engine.prompts) == 3)
        assert "And then?" in world.engine.prompts[-1][1]
        assert "CANARY-13" not in world.engine.prompts[-1][1]
        world.engine.last.reply("Two.")
        assert (await second.outcome()).text == "Two."
        assert len(world.engine.clients) == 2  # the session that held it is over


async def test_what_is_too_long_goes_into_no_turn(world: World) -> None:
    """TR "Current-turn overflow": the running turn goes on; the long message is refused by itself,
    and the owner's view tells the two apart."""
    async with world.registry() as registry:
        first = await running(world, registry)
        second = await submit(world, registry, inbound(2, "long " * 10_000))
        run_id = only_run(registry)
        await eventually(lambda: any(e["event"] == "failed" for e in world.trace(run_id)))
        world.engine.last.reply("One.")
        assert (await first.outcome()).text == "One."
        assert (await second.outcome()).kind is OutcomeKind.OVERFLOW
    view = view_run(read_trace(world.home / "runs" / run_id / "context.jsonl"))
    assert [turn.outcome for turn in view.turns[:2]] == ["replied", "not taken up"]
    assert len(world.engine.prompts) == 1


async def test_what_cannot_be_written_down_is_not_given_to_pi(tmp_path: Path) -> None:
    """P24: without a note of whose turn it is, pi gets nothing; the message waits."""
    async with session_world(tmp_path) as world:
        world.engine.behave = hold
        world.parts = replace(world.parts, talk=lambda: TalkSettings(busy="steer"))
        async with world.registry() as registry:
            first = await running(world, registry)
            message = inbound(2, "And then?")
            with locked(tmp_path / "inglenook.db", world.database):
                second = registry.submit(message)
                (session,) = registry._sessions.values()
                turn = session.tickets.current
                assert turn is not None
                await eventually(lambda: second in turn.others)
                world.engine.last.reply("One.")
                assert (await first.outcome()).text == "One."
                assert world.engine.last.queue == []
            await eventually(lambda: len(world.engine.prompts) == 2)
            world.engine.last.reply("Two.")
            assert (await second.outcome()).text == "Two."
