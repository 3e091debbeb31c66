"""One conversation: its inbox, its worker, its runs."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from compiler.request import HouseRules, Place, RunScope
from sessions.inbound import OutcomeKind
from sessions.limits import TalkSettings
from sessions.session import Session
from sessions.view import SessionState
from support.session_world import (
    EMBER,
    HEARTH,
    FakeClient,
    World,
    ask,
    echo,
    eventually,
    hold,
    inbound,
    locked,
    only_run,
    scope_of,
    seen,
    session_world,
    start_failure,
)


async def test_the_next_turn_is_not_compiled_before_the_last_settled(world: World) -> None:
    """CC "Turn": messages remain serialized."""
    world.engine.behave = hold
    async with world.registry() as registry:
        first = registry.submit(inbound(1))
        second = registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        run = only_run(registry)
        compiled = [e for e in world.trace(run) if e["event"] == "compiled"]
        assert [each["turn_id"] for each in compiled] == [None, "discord:message:1"]
        world.engine.last.reply("one")
        assert (await first.outcome()).text == "one"
        await eventually(lambda: len(world.engine.prompts) == 2)
        world.engine.last.reply("two")
        assert (await second.outcome()).text == "two"


async def test_a_full_inbox_rejects_at_once(world: World) -> None:
    """The inbox is bounded, and who is refused is told so in the same step."""
    world.engine.behave = hold
    async with world.registry(inbox_size=2) as registry:
        running = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.prompts) == 1)
        waiting = [registry.submit(inbound(number)) for number in (2, 3)]
        refused = registry.submit(inbound(4))
        assert refused.done
        assert not refused.accepted
        assert (await refused.outcome()).error_code == "inbox_full"
        world.engine.behave = lambda client, _: client.reply("later")
        world.engine.last.reply("now")
        assert (await running.outcome()).text == "now"
        assert [(await each.outcome()).text for each in waiting] == ["later", "later"]


async def test_an_idle_session_ends_and_the_next_message_starts_afresh(world: World) -> None:
    """Issue "Sessions": idle end, then a fresh compile with the history block."""
    async with world.registry() as registry:
        await world.parts.history.append(seen(1, "First words."))
        first = await ask(registry, 1)
        await eventually(lambda: registry.views()[0].state is SessionState.IDLE)
        world.clock.advance(301)
        await eventually(lambda: not registry.views())
        assert world.engine.living == 0
        second = await ask(registry, 2)
        await ask(registry, 3)
    assert second.run_id != first.run_id
    assert first.run_id is not None
    row = await world.parts.runs.get_run(first.run_id)
    assert row is not None
    assert row.end_reason == "idle"
    assert world.trace(first.run_id)[-1]["event"] == "ended"
    texts = [text for _, text in world.engine.prompts]
    assert ["First words." in text for text in texts] == [False, True, False]


async def test_a_burst_begins_when_its_author_has_paused(world: World) -> None:
    """Issue "Inbound": debounce, by the monotonic clock; the turn waits for the pause, no longer,
    and the trace names all its messages."""
    talk = TalkSettings(debounce_seconds=2.0, debounce_groups=True)
    world.parts = replace(world.parts, talk=lambda: talk)
    async with world.registry() as registry:
        first = registry.submit(inbound(1, "Buy bread."))
        world.clock.advance(1.5)
        second = registry.submit(inbound(2, "And milk."))
        world.clock.advance(1.5)
        assert world.engine.prompts == []
        await eventually(lambda: registry.views()[0].queued == 2)
        world.clock.advance(0.5)
        assert (await second.outcome()).text == "answer 1"
        assert (await first.outcome()).error_code == "joined"
        run_id = only_run(registry)
    (line,) = [e for e in world.trace(run_id) if e.get("joined")]
    joined = cast("list[dict[str, str]]", line["joined"])
    assert [each["message_id"] for each in joined] == ["discord:1", "discord:2"]
    ((_, prompt),) = world.engine.prompts
    assert "Buy bread.\\nAnd milk." in prompt


async def test_only_the_monotonic_clock_makes_idle(world: World) -> None:
    """P25: a changed wall clock ends no session."""
    async with world.registry() as registry:
        first = await ask(registry, 1)
        world.clock.wall = world.clock.wall.replace(year=2030)
        second = await ask(registry, 2)
    assert first.run_id == second.run_id


async def test_a_turn_past_its_deadline_is_aborted_and_the_next_works(world: World) -> None:
    """P22: a notice at the limit, and the messages behind it are answered."""
    world.engine.behave = hold
    async with world.registry(turn_seconds=0.05) as registry:
        hung = registry.submit(inbound(1))
        waiting = registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        world.engine.behave = lambda client, _: client.reply("next")
        outcome = await hung.outcome()
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.CUT_OFF, "turn_timeout")
        assert (await waiting.outcome()).text == "next"
    assert len(world.engine.clients) == 1


async def test_a_turn_that_ignores_the_abort_is_killed_and_the_session_resumed(
    world: World,
) -> None:
    """Abort, then kill; the next message gets a new process of the same run."""
    world.engine.behave = hold
    world.engine.obeys_abort = False
    async with world.registry(turn_seconds=0.05, abort_seconds=0.05) as registry:
        outcome = await ask(registry, 1)
        assert outcome.kind is OutcomeKind.CUT_OFF
        world.engine.behave = lambda client, _: client.reply("back")
        again = await ask(registry, 2)
    assert (again.text, again.run_id) == ("back", outcome.run_id)
    assert len(world.engine.clients) == 2


async def test_a_crash_in_a_turn_is_told_at_once_and_resumed(world: World) -> None:
    """Issue "Sessions": the same run, the same system prompt, no repeated message."""
    async with world.registry() as registry:
        await ask(registry, 1)
        run = only_run(registry)
        system = (world.home / "runs" / run / "system.md").read_bytes()
        world.engine.behave = lambda client, _: client.die(3)
        crashed = await ask(registry, 2)
        assert (crashed.kind, crashed.error_code) == (OutcomeKind.CUT_OFF, "pi_exited")
        world.engine.behave = lambda client, _: client.reply("back")
        again = await ask(registry, 3)
    assert (again.text, again.run_id) == ("back", run)
    assert (world.home / "runs" / run / "system.md").read_bytes() == system
    assert [client.launch.resume for client in world.engine.clients] == [False, True]
    events = [event["event"] for event in world.trace(run)]
    assert events.count("resumed") == 1
    (crash,) = [event for event in world.trace(run) if event.get("exit_code") == 3]
    assert crash["outcome"] == "cut-off"
    session = next((world.home / "runs" / run / "session").iterdir()).read_text()
    assert session.count('"role": "user"') == 2


async def test_a_crash_while_idle_is_cleared_away_and_resumed(world: World) -> None:
    """The process is gone, the conversation is not."""
    async with world.registry() as registry:
        first = await ask(registry, 1)
        world.engine.last.die()
        await eventually(lambda: world.engine.living == 0)
        assert registry.views()[0].has_process is False
        second = await ask(registry, 2)
    assert (second.kind, second.run_id) == (OutcomeKind.REPLIED, first.run_id)


async def test_a_failed_warm_up_harms_nothing(world: World) -> None:
    """Nobody asked yet, so nobody is told; the message tries again."""
    world.engine.start_error = start_failure()
    async with world.registry() as registry:
        registry.warm(EMBER, scope_of())
        await eventually(lambda: not registry.views())
        world.engine.start_error = None
        assert (await ask(registry, 1)).kind is OutcomeKind.REPLIED


async def test_a_fault_of_ours_ends_one_conversation_only(world: World) -> None:
    """Style "Async": one bad channel never cancels its siblings; nothing of the fault is shown."""

    def broken(_: FakeClient, text: str) -> None:
        raise RuntimeError(f"a bug with {text}")

    async with world.registry() as registry:
        assert (await ask(registry, 1, channel=200)).kind is OutcomeKind.REPLIED
        world.engine.behave = broken
        outcome = await ask(registry, 2)
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, "internal")
        assert "bug" not in outcome.safe_message
        world.engine.behave = lambda client, _: client.reply("fine")
        assert (await ask(registry, 3, channel=200)).text == "fine"
        again = await ask(registry, 4)
    assert (again.text, again.run_id != outcome.run_id) == ("fine", True)
    assert outcome.run_id is not None
    row = await world.parts.runs.get_run(outcome.run_id)
    assert row is not None
    assert row.end_reason == "failed"


async def test_a_broken_session_does_not_pretend_to_shut_down(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits behind a fault of ours is told of the fault, and the next message works."""

    def broken(_: Session) -> None:
        raise RuntimeError("a bug")

    world.engine.behave = hold
    async with world.registry() as registry:
        registry.submit(inbound(1))
        await world.engine.prompted.wait()
        waiting = registry.submit(inbound(2))
        with monkeypatch.context() as patched:
            patched.setattr(Session, "_wish", broken)
            world.engine.last.reply("one")
            outcome = await waiting.outcome()
        world.engine.behave = echo
        assert (await ask(registry, 3)).kind is OutcomeKind.REPLIED
    assert (outcome.kind, outcome.error_code) == (OutcomeKind.REJECTED, "session_broken")
    assert "shutting down" not in outcome.safe_message


async def test_reset_lets_the_running_turn_finish(world: World) -> None:
    """A reset in the middle of a turn loses neither it nor what waits."""
    world.engine.behave = hold
    async with world.registry() as registry:
        running, waiting = registry.submit(inbound(1)), registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        assert await registry.reset(HEARTH) is True
        world.engine.behave = lambda client, _: client.reply("afresh")
        world.engine.last.reply("old")
        old, fresh = await running.outcome(), await waiting.outcome()
    assert (old.text, fresh.text) == ("old", "afresh")
    assert old.run_id != fresh.run_id


async def test_stop_ends_a_start_that_hangs(world: World) -> None:
    """A stop does not wait for the start deadline."""
    world.engine.start_gate = asyncio.Event()
    async with world.registry() as registry:
        ticket = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.clients) == 1)
        assert await registry.stop(HEARTH) is True
        outcome = await ticket.outcome()
        assert outcome.error_code == "turn_stopped"
        assert world.engine.living == 0
    assert outcome.run_id is not None
    rows = await world.parts.runs.turns(outcome.run_id)
    assert [row.outcome for row in rows] == [OutcomeKind.CUT_OFF]  # so no later start tells of it


async def test_two_people_are_both_answered_in_order(world: World) -> None:
    """First come, first served, whoever asks."""
    async with world.registry() as registry:
        tickets = [registry.submit(inbound(number)) for number in range(1, 8)]
        texts = [(await ticket.outcome()).text for ticket in tickets]
    assert texts == [f"answer {number}" for number in range(1, 8)]


async def test_stop_before_the_delivery_delivers_nothing(tmp_path: Path) -> None:
    """A turn that is still being recorded when the stop comes never reaches pi."""
    async with session_world(tmp_path) as world, world.registry() as registry:
        await ask(registry, 1)
        await eventually(lambda: registry.views()[0].state is SessionState.IDLE)
        other = sqlite3.connect(tmp_path / "inglenook.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        ticket = registry.submit(inbound(2))
        await eventually(lambda: registry.views()[0].turns == 2)
        async with asyncio.TaskGroup() as tasks:
            stopping = tasks.create_task(registry.stop(HEARTH))
            await asyncio.sleep(0)
            other.execute("ROLLBACK")
            other.close()
        assert stopping.result()
        outcome = await ticket.outcome()
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.CUT_OFF, "turn_stopped")
        assert len(world.engine.prompts) == 1


async def test_a_session_that_cannot_be_resumed_ends_and_the_next_message_works(
    world: World,
) -> None:
    """Issue "Bad input": the next message works, whatever keeps the old run from its return."""
    async with world.registry() as registry:
        await ask(registry, 1)
        world.engine.last.die()
        world.engine.start_error = start_failure()
        failed = await ask(registry, 2)
        assert (failed.kind, failed.error_code) == (OutcomeKind.FAILED, "pi_start_failed")
        world.engine.start_error = None
        again = await ask(registry, 3)
    assert again.kind is OutcomeKind.REPLIED
    assert again.run_id != failed.run_id


async def test_an_untraceable_return_begins_a_fresh_run(world: World) -> None:
    """No line in the trace, no resumed session; the message itself is answered."""
    async with world.registry() as registry:
        first = await ask(registry, 1)
        (session,) = registry._sessions.values()
        assert session._run is not None
        session._run.trace.close()
        world.engine.last.die()
        second = await ask(registry, 2)
    assert second.kind is OutcomeKind.REPLIED
    assert second.run_id != first.run_id
    assert world.engine.living == 0


async def test_an_end_that_cannot_be_recorded_is_an_end(tmp_path: Path) -> None:
    """P24: the process goes although the table cannot be written; the next message works."""
    async with session_world(tmp_path) as world, world.registry() as registry:
        await ask(registry, 1)
        await eventually(lambda: registry.views()[0].state is SessionState.IDLE)
        with locked(tmp_path / "inglenook.db", world.database):
            world.clock.advance(301)
            await eventually(lambda: not registry.views())
            assert world.engine.living == 0
        assert (await ask(registry, 2)).kind is OutcomeKind.REPLIED


async def test_a_session_that_never_ends_is_abandoned_at_last(world: World) -> None:
    """Cleanup that awaits is bounded too; whoever waits gets an outcome."""
    world.engine.behave = hold
    world.engine.end_gate = asyncio.Event()
    async with world.registry() as registry:
        ticket = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.prompts) == 1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(registry.close())
            await eventually(lambda: registry._closing)
            world.clock.advance(21)
            assert (await ticket.outcome()).error_code == "host_shutdown"
            await eventually(lambda: registry.views() == ())
            await eventually(lambda: world.engine.at_end_gate)
            world.clock.advance(100)
            await eventually(lambda: not registry._workers)


async def test_cancelling_the_host_settles_every_ticket(world: World) -> None:
    """``CancelledError`` goes on up, and nobody is left waiting."""
    world.engine.behave = hold
    async with world.registry() as registry:
        running, waiting = registry.submit(inbound(1)), registry.submit(inbound(2))
        await eventually(lambda: len(world.engine.prompts) == 1)
        (worker,) = registry._workers.values()
        worker.cancel()
        cut, refused = await running.outcome(), await waiting.outcome()
    assert (cut.kind, cut.error_code) == (OutcomeKind.CUT_OFF, "host_shutdown")
    assert refused.kind is OutcomeKind.REJECTED
    assert world.engine.living == 0


async def test_a_session_needs_a_channel(world: World) -> None:
    """A scope without a conversation is a fault of the caller."""
    nowhere = RunScope(provider="discord", place=Place.NONE)
    async with world.registry() as registry:
        with pytest.raises(ValueError, match="channel"):
            registry.warm(EMBER, nowhere)
        with pytest.raises(ValueError, match="channel"):
            Session(world.parts, registry._slots, imp=EMBER, scope=nowhere, on_end=lambda _: None)


async def test_an_edited_message_keeps_the_rules_of_its_arrival(world: World) -> None:
    """Issue "House rules": editing a message later rewrites no rule."""
    world.engine.behave = hold
    rules = HouseRules(policies=(("docker", "use"),))
    async with world.registry() as registry:
        registry.submit(inbound(1))
        await world.engine.prompted.wait()
        waiting = registry.submit(replace(inbound(2, "Before."), house_rules=rules))
        assert registry.amend(inbound(2, "After."))
        world.engine.behave = echo
        world.engine.last.reply("one")
        await waiting.outcome()
    assert '"docker":"use"' in world.engine.prompts[1][1]
    assert "After." in world.engine.prompts[1][1]


async def test_a_full_inbox_says_so_ahead(world: World) -> None:
    """Nothing is ruled on that could not be answered."""
    world.engine.behave = hold
    async with world.registry(inbox_size=1) as registry:
        place = inbound(1)
        assert registry.has_room(place.imp, place.scope)
        registry.submit(place)
        await world.engine.prompted.wait()
        registry.submit(inbound(2))
        assert not registry.has_room(place.imp, place.scope)
        world.engine.behave = echo
        world.engine.last.reply("one")
    assert not registry.has_room(place.imp, place.scope), "a closing host takes nothing"
