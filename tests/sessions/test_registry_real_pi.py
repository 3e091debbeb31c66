"""The registry with the real pi: what reaches the model over turns, crashes and restarts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from bot.playground.scripted_model import Answer, Hang
from compiler.request import RunId
from sessions.engine import PID_FILE
from sessions.inbound import OutcomeKind
from sessions.pi.family import read_record
from sessions.registry import Registry
from sessions.traces.proof import verify
from support.real_world import RealWorld, message, real_world, sent
from support.session_world import HEARTH, eventually, seen

pytestmark = pytest.mark.slow


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[RealWorld]:
    async with real_world(tmp_path) as made:
        yield made


async def replied(registry: Registry, number: int) -> RunId:
    outcome = await registry.submit(message(number, f"Question {number}.")).outcome()
    assert outcome.kind is OutcomeKind.REPLIED, outcome
    assert outcome.run_id is not None
    return outcome.run_id


async def test_the_prefix_outlives_crash_and_restart(world: RealWorld) -> None:
    """Issue "Sessions": the same session, byte-identical prefix, no message twice (P06, P20)."""
    world.model.script(Answer.of("One."), Hang(chunks=("Half an ans",)), Answer.of("Three."))
    async with world.registry() as registry:
        run = await replied(registry, 1)
        ticket = registry.submit(message(2, "Question 2."))
        await world.model.wait_for_requests(2)
        world.kill_pi(run)
        outcome = await ticket.outcome()
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.CUT_OFF, "pi_exited")
        assert await replied(registry, 3) == run
    async with world.registry() as registry:
        assert await replied(registry, 4) == run
    first, lost, after, restarted = (sent(request) for request in world.model.requests)
    assert lost[: len(first)] == first
    assert after[: len(first)] == first
    assert restarted[: len(after)] == after
    texts = [str(part) for part in restarted]
    assert sum("Question 2." in text for text in texts) == 0
    assert [sum(f"Question {number}." in text for text in texts) for number in (1, 3, 4)] == [1] * 3
    assert [request.cached_chars > 0 for request in world.model.requests[1:]] == [True] * 3
    assert verify(world.run_dir(run) / "context.jsonl").problems == ()


async def test_a_hung_model_is_cut_off_and_the_next_message_answered(world: RealWorld) -> None:
    """P22 with the real pi: abort, notice, go on in the same process."""
    world.model.default = Hang(headers=False)
    async with world.registry(turn_seconds=0.5) as registry:
        outcome = await registry.submit(message(1)).outcome()
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.CUT_OFF, "turn_timeout")
    world.model.default = Answer.of("Back.")
    async with world.registry() as registry:
        assert (await registry.submit(message(2)).outcome()).text == "Back."


async def test_stop_and_reset_leave_no_process(world: RealWorld) -> None:
    """P23: the whole tree is gone when the command has answered."""
    world.model.script(Hang())
    async with world.registry() as registry:
        ticket = registry.submit(message(1))
        await world.model.wait_for_requests(1)
        run = registry.views()[0].run_id
        assert run is not None
        record = read_record(world.run_dir(run) / PID_FILE)
        assert record is not None
        assert await registry.stop(HEARTH)
        assert (await ticket.outcome()).error_code == "turn_stopped"
        assert not psutil.pid_exists(record.pid)
        assert not (world.run_dir(run) / PID_FILE).exists()


async def test_a_warm_up_makes_the_first_turn_a_warm_one(world: RealWorld) -> None:
    """Typing starts pi; the message finds it ready, and brings the history."""
    await world.parts.history.append(seen(1, "Said before."))
    async with world.registry() as registry:
        scope = message(2).scope
        registry.warm(message(2).imp, scope)
        await eventually(lambda: bool(registry.views()) and registry.views()[0].has_process)
        warmed = registry.views()[0].run_id
        assert await replied(registry, 2) == warmed
    (turn,) = await world.parts.runs.turns(RunId(str(warmed)))
    assert "Said before." in world.model.requests[0].last_user_text
    assert (turn.seq, turn.usage.model_calls) == (1, 1)


async def test_two_conversations_share_the_imps_prefix(world: RealWorld) -> None:
    """CC "Prompt-cache contract": the same start of the system prompt, the same route key."""
    async with world.registry() as registry:
        for channel in (100, 200):
            outcome = await registry.submit(message(channel, channel=channel)).outcome()
            assert outcome.kind is OutcomeKind.REPLIED
    one, two = (request.system_text for request in world.model.requests)
    common = one.index("[INGLENOOK SYSTEM BLOCK: RUNTIME SCOPE]")
    assert one[:common] == two[:common]
    assert one != two
    keys = {request.body["prompt_cache_key"] for request in world.model.requests}
    assert len(keys) == 1
    assert "/workspace" in one
    assert str(world.home) not in one
