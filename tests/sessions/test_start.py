"""Starts and ends of runs, and the loss of a process between them."""

from __future__ import annotations

import asyncio
import fcntl
import shutil
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.request import RunId
from sessions.clock import RunIds
from sessions.inbound import OutcomeKind
from sessions.start import RunStarter
from sessions.trace import TraceWriter
from support.session_world import (
    BOUND_SECONDS,
    HEARTH,
    World,
    ask,
    eventually,
    inbound,
    only_run,
    seen,
    start_failure,
)


async def test_a_failed_start_tells_the_user_and_the_next_message_tries_again(
    world: World,
) -> None:
    """CC "Failure behavior": a missing identity of a named imp fails closed, without a process."""
    file = world.home / "imps" / "ember" / "identity.md"
    file.unlink()
    async with world.registry() as registry:
        failed = await ask(registry, 1)
        assert (failed.kind, failed.error_code) == (OutcomeKind.FAILED, "source_unreadable")
        assert "imps/ember/identity.md" in failed.safe_message
        assert failed.run_id is not None
        assert not world.engine.clients
        world.write_identity()
        assert (await ask(registry, 2)).kind is OutcomeKind.REPLIED
    (event,) = world.trace(failed.run_id)
    assert (event["status"], event["phase"]) == ("failed", "start")
    row = await world.parts.runs.get_run(failed.run_id)
    assert row is not None
    assert row.end_reason == "failed"


async def test_a_process_that_does_not_come_up_is_told(world: World) -> None:
    """Issue "Bad input": a pi that does not start gives a clear error."""
    world.engine.start_error = start_failure()
    async with world.registry() as registry:
        failed = await ask(registry, 1)
        assert (failed.kind, failed.error_code) == (OutcomeKind.FAILED, "pi_start_failed")
        assert world.engine.living == 0
        world.engine.start_error = None
        replied = await ask(registry, 2)
    assert replied.kind is OutcomeKind.REPLIED
    assert replied.run_id != failed.run_id


async def test_a_start_that_hangs_ends_at_its_deadline(world: World) -> None:
    """The start deadline covers everything up to a ready process."""
    world.engine.start_gate = asyncio.Event()
    async with world.registry() as registry:
        ticket = registry.submit(inbound(1))
        await eventually(lambda: len(world.engine.clients) == 1)
        world.clock.advance(21)
        outcome = await ticket.outcome()
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, "start_timeout")
        assert world.engine.living == 0


async def test_a_start_without_a_place_for_its_trace_fails_closed(world: World) -> None:
    """No run directory, no process."""
    (world.home / "runs").write_text("in the way")
    async with world.registry() as registry:
        failed = await ask(registry, 1)
    assert (failed.kind, failed.error_code) == (OutcomeKind.FAILED, "start_failed")
    assert not world.engine.clients


async def test_a_crash_in_the_first_turn_keeps_the_history(world: World) -> None:
    """What pi lost with its only turn is offered again."""
    await world.parts.history.append(seen(1, "Before."))
    world.engine.behave = lambda client, _: client.die()
    async with world.registry() as registry:
        await ask(registry, 2)
        world.engine.behave = lambda client, _: client.reply("back")
        await ask(registry, 3)
        await ask(registry, 4)
    assert ["Before." in text for _, text in world.engine.prompts] == [True, True, False]


async def test_a_failed_start_gives_its_place_back(world: World) -> None:
    """Each message that waits tries for itself, and none waits for its own conversation's place."""
    world.engine.start_error = start_failure()
    async with world.registry(max_warm=1) as registry:
        tickets = [registry.submit(inbound(number)) for number in (1, 2, 3)]
        async with asyncio.timeout(120):
            codes = {(await ticket.outcome()).error_code for ticket in tickets}
    assert codes == {"pi_start_failed"}


async def test_a_lost_session_is_replaced_by_a_fresh_one(world: World) -> None:
    """Reference, section 4: pi gives no hint when a session is gone, so its size is checked."""
    async with world.registry() as registry:
        await world.parts.history.append(seen(1, "Before."))
        first = await ask(registry, 1)
        assert first.run_id is not None
        world.engine.last.die()
        await eventually(lambda: world.engine.living == 0)
        shutil.rmtree(world.home / "runs" / first.run_id / "session")
        second = await ask(registry, 2)
    assert second.kind is OutcomeKind.REPLIED
    assert second.run_id != first.run_id
    assert "Before." in world.engine.prompts[-1][1]


async def test_a_start_cancelled_while_its_trace_is_made_holds_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that came too late for its caller gives up its file."""
    run_id = RunId("2026-11-29-23-16-35-abcd")
    begun, go_on = threading.Event(), threading.Event()

    def sync(_: Path) -> None:
        begun.set()
        assert go_on.wait(BOUND_SECONDS)

    monkeypatch.setattr("sessions.trace._sync_directory", sync)
    async with asyncio.TaskGroup() as tasks:
        making = tasks.create_task(TraceWriter.create(tmp_path / run_id, run_id))
        assert await asyncio.to_thread(begun.wait, BOUND_SECONDS)
        making.cancel()
    go_on.set()
    file = tmp_path / run_id / "context.jsonl"

    def reopens() -> bool:
        if not file.exists():
            return False
        with file.open("rb") as reader:
            try:
                fcntl.flock(reader, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    await eventually(reopens)


async def test_ids_in_use_are_not_taken_again(world: World) -> None:
    """Two starts in one millisecond with the same random end."""
    letters = iter(["aa", "aa", "bb"])
    parts = replace(world.parts, ids=RunIds(world.clock, suffix=lambda: next(letters)))
    starter = RunStarter(parts)
    first, second = await starter.new_run_id(), await starter.new_run_id()
    assert (first[-2:], second[-2:]) == ("aa", "bb")


async def test_files_of_a_run_are_owner_only(world: World) -> None:
    """Issue "Sessions": the system prompt is an owner-only file in an owner-only directory."""
    async with world.registry() as registry:
        await ask(registry, 1)
        run_dir = world.home / "runs" / only_run(registry)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in run_dir.iterdir()}
    assert stat.S_IMODE(run_dir.stat().st_mode) == 0o700
    for name in ("system.md", "preamble.md", "context.jsonl"):
        assert modes[name] == 0o600


async def test_a_start_names_the_place_and_not_the_message(world: World) -> None:
    """CC "Runtime scope": whoever woke the session leaves no mark in its start."""
    async with world.registry() as registry:
        await ask(registry, 1)
        run = only_run(registry)
    start, *_ = world.trace(run)
    scope = start["scope"]
    assert isinstance(scope, dict)
    assert (scope["user_id"], scope["message_id"], scope["channel_id"]) == (None, None, HEARTH)
