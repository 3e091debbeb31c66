"""Runs that outlive their host, and those that do not."""

from __future__ import annotations

from sessions.inbound import OutcomeKind
from support.session_world import World, ask


async def test_a_restarted_host_resumes_the_warm_session(world: World) -> None:
    """Issue "Sessions": a restart of the bot while a session was warm resumes the same session."""
    async with world.registry() as registry:
        first = await ask(registry, 1)
    async with world.registry() as registry:
        second = await ask(registry, 2)
        third = await ask(registry, 3)
    assert {first.run_id, second.run_id, third.run_id} == {first.run_id}
    assert first.run_id is not None
    row = await world.parts.runs.get_run(first.run_id)
    assert row is not None
    assert (row.turns, row.ended_at) == (3, None)
    assert "resumed" in [event["event"] for event in world.trace(first.run_id)]


async def test_a_restart_after_the_idle_time_starts_afresh(world: World) -> None:
    """What would have ended idle is not taken up."""
    async with world.registry() as registry:
        first = await ask(registry, 1)
    world.clock.advance(301)
    async with world.registry() as registry:
        second = await ask(registry, 2)
    assert second.run_id != first.run_id
    assert first.run_id is not None
    row = await world.parts.runs.get_run(first.run_id)
    assert row is not None
    assert row.end_reason == "idle"


async def test_a_claim_that_outlived_the_idle_time_is_not_taken_up(world: World) -> None:
    """Also when the host came back in time, and the message did not."""
    async with world.registry() as registry:
        first = await ask(registry, 1)
    async with world.registry() as registry:
        world.clock.advance(301)
        second = await ask(registry, 2)
    assert second.run_id != first.run_id


async def test_another_engine_is_not_resumed(world: World) -> None:
    """P20: a change of configuration starts a new session."""
    async with world.registry() as registry:
        first = await ask(registry, 1)
    world.engine.version = "1.7.0"
    async with world.registry() as registry:
        second = await ask(registry, 2)
    assert second.run_id != first.run_id


async def test_a_damaged_trace_is_not_resumed(world: World) -> None:
    """A run whose account is broken ends; the conversation goes on in a fresh one."""
    async with world.registry() as registry:
        first = await ask(registry, 1)
    assert first.run_id is not None
    file = world.home / "runs" / first.run_id / "context.jsonl"
    file.write_bytes(file.read_bytes().replace(b"You are Ember", b"You are Cinder", 1))
    async with world.registry() as registry:
        second = await ask(registry, 2)
    assert second.kind is OutcomeKind.REPLIED
    assert second.run_id != first.run_id
