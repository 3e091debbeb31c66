"""One turn: what is compiled, traced, delivered and recorded, in that order."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.request import ChannelId, HistoryMessage, HouseRules, MessageId, TurnId
from sessions.inbound import OutcomeKind
from sessions.pi.protocol import ContextUsage
from sessions.store.history import HistoryStore
from sessions.take import filled_percent
from support.session_world import (
    HEARTH,
    FakeClient,
    World,
    ask,
    eventually,
    hold,
    inbound,
    locked,
    only_run,
    seen,
    session_world,
    start_failure,
)


async def test_a_failed_compilation_is_traced_and_not_delivered(world: World) -> None:
    """CC "Turn": the message does not reach pi, the failure is recorded, the session lives."""
    async with world.registry() as registry:
        await ask(registry, 1)
        failed = await ask(registry, 2, "x" * 30_000)
        assert (failed.kind, failed.error_code) == (OutcomeKind.OVERFLOW, "CURRENT_TURN_OVERFLOW")
        assert failed.overflow is not None
        assert (failed.overflow.unit, failed.overflow.limit) == ("characters", 24_000)
        assert len(world.engine.prompts) == 1
        assert (await ask(registry, 3)).kind is OutcomeKind.REPLIED
        run = only_run(registry)
    assert failed.run_id == run
    assert [e["status"] for e in world.trace(run) if "status" in e] == [
        "compiled",
        "compiled",
        "failed",
        "compiled",
    ]
    rows = await world.parts.runs.turns(run)
    assert [row.outcome for row in rows] == ["replied", "overflow", "replied"]
    assert len(world.engine.clients) == 1


async def test_the_first_turn_is_compiled_while_its_process_comes_up(world: World) -> None:
    """A cold start waits for the slower of the two, and pi still sees nothing before its trace."""
    gate = world.engine.start_gate = asyncio.Event()
    async with world.registry() as registry:
        ticket = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.clients) == 1)
        run = only_run(registry)
        await eventually(lambda: len(world.trace(run)) == 2)
        assert [event["phase"] for event in world.trace(run)] == ["start", "turn"]
        assert world.engine.prompts == []
        gate.set()
        assert (await ticket.outcome()).kind is OutcomeKind.REPLIED
    assert len(world.engine.prompts) == 1


async def test_a_process_that_does_not_come_up_fails_its_first_turn(world: World) -> None:
    """Issue "Bad input": it is told and recorded, nothing is left, and the next message works."""
    world.engine.start_error = start_failure()
    async with world.registry() as registry:
        failed = await ask(registry, 1)
        assert (failed.kind, failed.error_code) == (OutcomeKind.FAILED, "pi_start_failed")
        await eventually(lambda: world.engine.living == 0)
        world.engine.start_error = None
        fresh = await ask(registry, 2)
    assert fresh.kind is OutcomeKind.REPLIED
    assert failed.run_id is not None
    assert fresh.run_id != failed.run_id
    rows = await world.parts.runs.turns(failed.run_id)
    assert [(row.outcome, row.error_code) for row in rows] == [("failed", "pi_start_failed")]
    row = await world.parts.runs.get_run(failed.run_id)
    assert row is not None
    assert row.end_reason == "failed"


async def test_an_overlong_first_message_leaves_the_process_to_the_next(world: World) -> None:
    async with world.registry() as registry:
        assert (await ask(registry, 1, "x" * 30_000)).kind is OutcomeKind.OVERFLOW
        run = only_run(registry)
        assert (await ask(registry, 2)).run_id == run
    assert len(world.engine.clients) == 1
    assert len(world.engine.prompts) == 1


async def test_a_turn_is_not_delivered_without_its_trace(world: World) -> None:
    """CC acceptance 13: a trace that cannot be written fails closed."""
    async with world.registry() as registry:
        await ask(registry, 1)
        (session,) = registry._sessions.values()
        assert session._run is not None
        session._run.trace.close()
        failed = await ask(registry, 2)
        assert (failed.kind, failed.error_code) == (OutcomeKind.FAILED, "trace_unwritable")
        assert len(world.engine.prompts) == 1
        fresh = await ask(registry, 3)
    assert fresh.kind is OutcomeKind.REPLIED
    assert fresh.run_id != failed.run_id


async def test_what_cannot_be_recorded_is_not_sent(tmp_path: Path) -> None:
    """P24: a locked database is waited for, bounded; then it is said, and nothing was sent."""
    async with session_world(tmp_path) as world, world.registry() as registry:
        await ask(registry, 1)
        with locked(tmp_path / "inglenook.db", world.database):
            failed = await ask(registry, 2)
            assert (failed.kind, failed.error_code) == (OutcomeKind.FAILED, "store_unavailable")
            assert len(world.engine.prompts) == 1
        assert (await ask(registry, 3)).kind is OutcomeKind.REPLIED


class _ReadInTheMiddle(HistoryStore):
    """Something happens when a history was read, before anything else of its turn does."""

    async def recent(
        self, channel_id: ChannelId, limit: int, *, before: MessageId | None = None
    ) -> tuple[HistoryMessage, ...]:
        found = await super().recent(channel_id, limit, before=before)
        await self.meanwhile()
        return found

    async def meanwhile(self) -> None:
        """Nothing, unless a test says so."""


async def test_an_edit_right_after_the_reading_ends_the_run_that_read(world: World) -> None:
    """P13 (d): a first turn that was given the old words is followed by a fresh session."""
    history = _ReadInTheMiddle(world.database)
    world.parts = replace(world.parts, history=history)
    await history.append(seen(1, "Old text."))

    async def edited() -> None:
        message_id = MessageId("discord:1")
        if await history.edit(message_id, "New text."):
            await registry.outdate(message_id, TurnId("discord:message:1"), HEARTH)

    async with world.registry() as registry:
        history.meanwhile = edited  # type: ignore[method-assign]
        first, second = await ask(registry, 2), await ask(registry, 3)
    assert first.run_id != second.run_id
    given = [prompt for _, prompt in world.engine.prompts]
    assert ["Old text." in each for each in given] == [True, False]
    assert "New text." in given[1]


async def test_the_current_message_is_not_in_its_own_history(world: World) -> None:
    """Only what came before the message that woke the session is history (WS "The blocks")."""
    async with world.registry() as registry:
        for number, text in ((1, "Before."), (2, "The question."), (3, "After.")):
            await world.parts.history.append(seen(number, text))
        await ask(registry, 2, "The question.")
    (_, text), *_ = world.engine.prompts
    history = next(line for line in text.splitlines() if '"block":"history"' in line)
    assert "Before." in history
    assert "The question." not in history
    assert "After." not in history


async def test_a_failed_first_turn_keeps_the_history_for_the_next(world: World) -> None:
    """Issue "Sessions": the snapshot at wake is not lost when pi did not get it."""
    async with world.registry() as registry:
        await world.parts.history.append(seen(1, "Before the wake."))
        await world.parts.history.append(seen(2, "x" * 30_000))
        assert (await ask(registry, 2, "x" * 30_000)).kind is OutcomeKind.OVERFLOW
        await ask(registry, 3)
        await ask(registry, 4)
    texts = [text for _, text in world.engine.prompts]
    assert ["Before the wake." in text for text in texts] == [True, False]


async def test_a_message_is_compiled_under_the_rules_that_it_carries(world: World) -> None:
    """DG 11, issue "House rules": a state block ahead of the message, never a system prompt."""
    rules = HouseRules(premise="We ship on Friday.", policies=(("peanuts", "prohibit"),))
    async with world.registry() as registry:
        await ask(registry, 1)
        await registry.submit(replace(inbound(2), house_rules=rules)).outcome()
        await ask(registry, 3)
        run = only_run(registry)
    texts = [text for _, text in world.engine.prompts]
    block, message = texts[1].splitlines()
    assert json.loads(block) == {
        "block": "state",
        "authority": "user-directive",
        "premise": "We ship on Friday.",
        "policies": {"peanuts": "prohibit"},
        "version": 2,
    }
    assert json.loads(message)["block"] == "message"
    assert not any('"block":"state"' in texts[place] for place in (0, 2))
    system = (world.home / "runs" / run / "system.md").read_text()
    assert "peanuts" not in system


async def test_a_full_context_rolls_over(world: World) -> None:
    """The session ends after the turn that filled it; the next message starts afresh."""
    async with world.registry() as registry:
        world.engine.context_percent = 81.0
        first = await ask(registry, 1)
        await eventually(lambda: not registry.views())
        second = await ask(registry, 2)
    assert first.run_id != second.run_id
    assert first.run_id is not None
    row = await world.parts.runs.get_run(first.run_id)
    assert row is not None
    assert row.end_reason == "rollover"


async def test_an_overflow_rolls_over(world: World) -> None:
    """When the provider says that the context is too long, the next message starts afresh."""
    too_long = "400 This model's maximum context length is 8192 tokens"

    def overflow(client: FakeClient, _: str) -> None:
        client.reply("", stop="error", error=too_long)

    world.engine.behave = overflow
    async with world.registry() as registry:
        first = await ask(registry, 1)
        assert first.kind is OutcomeKind.FAILED
        await eventually(lambda: not registry.views())
        world.engine.behave = lambda client, _: client.reply("fresh")
        second = await ask(registry, 2)
    assert (second.text, second.run_id != first.run_id) == ("fresh", True)


async def test_an_answer_is_given_although_its_record_fails(world: World) -> None:
    """The outcome does not wait for the records, and is not taken back for them."""

    async with world.registry() as registry:

        def untraced(client: FakeClient, _: str) -> None:
            (session,) = registry._sessions.values()
            assert session._run is not None
            session._run.trace.close()
            client.reply("an answer")

        world.engine.behave = untraced
        outcome = await ask(registry, 1)
        assert outcome.text == "an answer"
        assert outcome.run_id is not None
    (row,) = await world.parts.runs.turns(outcome.run_id)
    assert row.outcome is OutcomeKind.REPLIED


async def test_a_session_goes_on_when_its_size_is_unknown(world: World) -> None:
    """A question about the context that is not answered ends nothing."""
    world.engine.stats_error = TimeoutError()
    async with world.registry() as registry:
        first, second = await ask(registry, 1), await ask(registry, 2)
    assert first.run_id == second.run_id


@pytest.mark.parametrize(
    ("usage", "percent"),
    [
        (ContextUsage(percent=81.5), 81.5),
        (ContextUsage(tokens=50, context_window=200), 25.0),
        (ContextUsage(tokens=50), 0.0),
        (ContextUsage(), 0.0),
    ],
)
def test_the_window_is_as_full_as_pi_says(usage: ContextUsage, percent: float) -> None:
    """By its percentage, else by its tokens, else it counts as empty."""
    assert filled_percent(usage) == percent


async def test_times_of_a_turn_are_kept(world: World) -> None:
    """Waited, compiled, traced, first text, total; in microseconds of the monotonic clock."""
    received_ns = world.clock.monotonic_ns()
    world.clock.advance(0.5)
    world.engine.behave = hold
    async with world.registry() as registry:
        ticket = registry.submit(inbound(1, received_ns=received_ns))
        await eventually(lambda: len(world.engine.prompts) == 1)
        world.clock.advance(2)
        world.engine.last.reply("late")
        outcome = await ticket.outcome()
    assert outcome.run_id is not None
    (row,) = await world.parts.runs.turns(outcome.run_id)
    assert (row.wait_us, row.total_us) == (500_000, 2_500_000)
    assert (row.compile_us, row.trace_us) == (0, 0)
    (compiled,) = [e for e in world.trace(outcome.run_id) if e.get("phase") == "turn"]
    assert compiled["waited_us"] == 500_000
