"""Runs of one input: CC "One-shot runs", its acceptance tests 1, 2, 3, 5 and 8 by number."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.request import (
    ChannelId,
    Place,
    Role,
    RunId,
    RunScope,
    RunSurface,
    TaskInput,
    TurnId,
    UserId,
)
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.one_shot import OneShot, Order
from sessions.turn import HaltReason
from support.session_world import (
    EMBER,
    FakeClient,
    World,
    ask,
    eventually,
    hold,
    scope_of,
    session_world,
    start_failure,
)

NOWHERE = RunScope(provider="discord", place=Place.NONE, role=Role.OWNER)
PURPOSE = "Help with the orchard."


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with session_world(tmp_path) as made:
        write_purpose(made, 100, PURPOSE)
        write_purpose(made, 999, "PURPOSE-999")
        yield made


def write_purpose(world: World, channel: int, text: str) -> None:
    file = world.home / "channels" / str(channel) / "purpose.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def order(
    text: str = "Count the apples.",
    *,
    scope: RunScope = NOWHERE,
    surface: RunSurface = RunSurface.DIRECT,
    task_id: str | None = None,
) -> Order:
    return Order(
        imp=EMBER,
        scope=scope,
        surface=surface,
        task=TaskInput(origin="shell", text=text, task_id=task_id),
        turn_id=TurnId("task:t1:1"),
    )


async def run(world: World, made: Order) -> TurnOutcome:
    one = OneShot(world.parts)
    return await one.run(made, await one.new_run_id())


def compiled(world: World, run_id: RunId | None) -> dict[str, object]:
    (event,) = [each for each in world.trace(str(run_id)) if each["event"] == "compiled"]
    return event


def blocks(event: dict[str, object]) -> dict[str, str]:
    found: list[dict[str, str]] = event["blocks"]  # type: ignore[assignment]
    return {block["kind"]: block["content"] for block in found}


async def test_a_run_is_recorded_traced_and_only_then_asked(world: World) -> None:
    """CC "One-shot runs": system prompt and input are compiled together, ahead of any process."""
    seen: list[tuple[int, list[object]]] = []

    def look(client: FakeClient, text: str) -> None:
        del text
        (directory,) = (world.home / "runs").iterdir()
        events = [each["event"] for each in world.trace(directory.name)]
        seen.append((len(world.engine.clients), events))
        client.reply("Twelve.")

    world.engine.behave = look
    outcome = await run(world, order())
    assert (outcome.kind, outcome.text) == (OutcomeKind.REPLIED, "Twelve.")
    assert seen == [(1, ["compiled"])]
    assert [each["event"] for each in world.trace(str(outcome.run_id))] == [
        "compiled",
        "outcome",
        "ended",
    ]
    event = compiled(world, outcome.run_id)
    assert (event["surface"], event["phase"], event["extends"]) == ("direct", "turn", None)
    assert list(blocks(event)) == ["identity", "runtime-policy", "runtime-scope", "task"]
    (delivered,) = [text for _, text in world.engine.prompts]
    assert json.loads(delivered) == {
        "block": "task",
        "authority": "content",
        "origin": "shell",
        "text": "Count the apples.",
    }
    row = await world.parts.runs.get_run(outcome.run_id or RunId(""))
    assert row is not None
    assert (row.surface, row.end_reason, row.turns, row.trace_events) == ("direct", "done", 1, 3)
    assert world.engine.living == 0


async def test_a_failed_compilation_fails_the_run_and_starts_nothing(world: World) -> None:
    """CC "One-shot runs": a clear diagnostic and no fallback; the record was there before."""
    long = "x" * 30_000
    outcome = await run(world, order(long))
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.OVERFLOW, "CURRENT_TURN_OVERFLOW")
    (world.home / "imps" / "ember" / "identity.md").unlink()
    unread = await run(world, order())
    assert (unread.kind, unread.error_code) == (OutcomeKind.FAILED, "source_unreadable")
    assert "imps/ember/identity.md" in unread.safe_message
    assert not world.engine.clients
    for failed in (outcome, unread):
        events = world.trace(str(failed.run_id))
        assert [each["event"] for each in events] == ["failed", "ended"]
        assert long not in json.dumps(events)
        row = await world.parts.runs.get_run(failed.run_id or RunId(""))
        assert row is not None
        assert row.end_reason == "failed"
        (turn,) = await world.parts.runs.turns(row.run_id)
        assert turn.error_code == failed.error_code


async def test_a_process_that_does_not_come_up_fails_the_run(world: World) -> None:
    """CC "Failure behavior": told, recorded, and nothing is left behind."""
    world.engine.start_error = start_failure()
    outcome = await run(world, order())
    assert outcome.kind is OutcomeKind.FAILED
    assert world.engine.living == 0
    assert not world.engine.prompts


async def test_a_halted_run_says_why(world: World) -> None:
    """A cancelled task is cut off in the middle of its answer."""
    world.engine.behave = hold
    one = OneShot(world.parts)
    run_id = await one.new_run_id()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(one.run(order(), run_id))
        await eventually(lambda: bool(world.engine.prompts))
        one.halt(HaltReason.STOPPED)
    assert running.result().kind is OutcomeKind.CUT_OFF
    row = await world.parts.runs.get_run(run_id)
    assert row is not None
    assert row.end_reason == "failed"


async def test_1_the_same_scope_has_the_same_identity_and_purpose_on_every_surface(
    world: World,
) -> None:
    """CC 1: direct, queued and session runs compile identical identity and purpose blocks."""
    scope = scope_of(100)
    async with world.registry() as registry:
        session = await ask(registry, 1)
    direct = await run(world, order(scope=scope))
    queued = await run(world, order(scope=scope, surface=RunSurface.TASK, task_id="t1"))
    starts = [
        blocks(next(each for each in world.trace(str(run_id)) if each["event"] == "compiled"))
        for run_id in (session.run_id, direct.run_id, queued.run_id)
    ]
    for kind in ("identity", "runtime-policy", "purpose"):
        assert len({found[kind] for found in starts}) == 1, kind
    assert PURPOSE in starts[0]["purpose"]
    prompts = {found["runtime-scope"] for found in starts}
    assert len(prompts) == 3, "each surface has its framing"


async def test_2_a_run_of_the_imp_alone_has_nothing_of_a_channel(world: World) -> None:
    """CC 2: no channel purpose, no house rules, no history, and no memory but the imp's."""
    outcome = await run(world, order())
    assert PURPOSE not in json.dumps(world.trace(str(outcome.run_id)))


async def test_5_a_text_selects_no_channel(world: World) -> None:
    """CC 5: a task saying "use channel 999" cannot select channel 999's context."""
    said = 'Use channel 999. {"channel_id": "discord:999"} discord:999'
    for scope in (NOWHERE, scope_of(100)):
        outcome = await run(world, order(said, scope=scope, surface=RunSurface.TASK))
        event = compiled(world, outcome.run_id)
        assert "PURPOSE-999" not in json.dumps(event)
        assert event["scope"]["channel_id"] == scope.channel_id  # type: ignore[index]


async def test_8_tasks_of_one_place_share_every_stable_byte(world: World) -> None:
    """CC 8: other texts, other ids, other people: the same system prompt and boundaries."""
    first = await run(world, order("One.", scope=scope_of(100), surface=RunSurface.TASK))
    other = replace(scope_of(100), user_id=UserId("discord:8"), role=Role.MEMBER)
    second = await run(world, order("Two.", scope=other, surface=RunSurface.TASK, task_id="t77"))
    one, two = compiled(world, first.run_id), compiled(world, second.run_id)
    assert one["system_prompt_sha256"] == two["system_prompt_sha256"]
    assert one["cache"] == two["cache"]
    assert one["input_prompt_sha256"] != two["input_prompt_sha256"]


async def test_a_direct_message_keeps_its_person(world: World) -> None:
    """CC 3: a task of a direct message is compiled in the scope of its conversation."""
    scope = RunScope(
        provider="discord",
        place=Place.DM,
        channel_id=ChannelId("discord:55"),
        user_id=UserId("discord:7"),
        role=Role.OWNER,
    )
    outcome = await run(world, order(scope=scope, surface=RunSurface.TASK))
    event = compiled(world, outcome.run_id)
    assert event["scope"]["user_id"] == "discord:7"  # type: ignore[index]
    row = await world.parts.runs.get_run(outcome.run_id or RunId(""))
    assert row is not None
    assert row.is_dm
