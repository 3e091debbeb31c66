"""What holds whatever happens: random messages, answers, crashes, waits, stops and closings."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.hashing import sha256_text
from compiler.request import ChannelId, TurnId
from sessions.inbound import OutcomeKind
from sessions.registry import Registry
from sessions.store.runs import TurnRow
from sessions.ticket import Ticket
from sessions.traces.proof import verify
from sessions.view import SessionState
from support.session_world import (
    BOUND_SECONDS,
    EMBER,
    FakeClient,
    World,
    hold,
    inbound,
    scope_of,
    session_world,
    start_failure,
)

CHANNELS = (100, 200, 300, 400)
MAX_WARM = 2
REST_SECONDS = 0.05
"""With all places taken some sessions go on waiting; no example lasts longer for it."""

_ACTS = st.one_of(
    st.tuples(st.just("submit"), st.sampled_from(CHANNELS)),
    st.tuples(st.just("submit"), st.sampled_from(CHANNELS)),
    st.tuples(st.sampled_from(["reply", "reply", "die"]), st.integers(0, 3)),
    st.tuples(
        st.sampled_from(["reset", "stop", "warm", "withdraw"]), st.sampled_from([*CHANNELS, 1, 2])
    ),
    st.tuples(st.sampled_from(["advance", "engine"]), st.sampled_from([0, 1, 25, 400])),
)
STEPS = st.lists(st.tuples(_ACTS, st.booleans()), min_size=8, max_size=20)
"""What is done, and whether everything comes to rest before the next."""


@dataclass
class Story:
    """One run of a script, with everything that was seen."""

    world: World
    registry: Registry
    tickets: list[Ticket] = field(default_factory=list)
    helpers: set[asyncio.Task[bool]] = field(default_factory=set)

    async def step(self, name: str, value: int, tasks: asyncio.TaskGroup) -> None:
        channel = ChannelId(f"discord:{value}")
        acts: dict[str, Callable[[], None]] = {
            "submit": lambda: self.submit(value),
            "reply": lambda: self.on_held(value, lambda client: client.reply("answer")),
            "die": lambda: self.on_held(value, lambda client: client.die()),
            "reset": lambda: self.apart(self.registry.reset(channel), tasks),
            "stop": lambda: self.apart(self.registry.stop(channel), tasks),
            "warm": lambda: self.registry.warm(EMBER, scope_of(value)),
            "withdraw": lambda: self.withdraw(value),
            "advance": lambda: self.world.clock.advance(value),
            "engine": lambda: self.break_engine(broken=value == 1),
        }
        acts[name]()
        for _ in range(3):
            await asyncio.sleep(0)

    async def come_to_rest(self) -> None:
        """Wait until every session waits for pi, for a place or for a message."""
        states = [view.state for view in self.registry.views()]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REST_SECONDS):
                while states.count(SessionState.IDLE) + self.held() < len(states):
                    await asyncio.sleep(0.001)
                    states = [view.state for view in self.registry.views()]

    def held(self) -> int:
        """How many prompts wait for an answer."""
        return sum(each.alive and each.in_flight for each in self.world.engine.clients)

    def submit(self, channel: int) -> None:
        message = inbound(len(self.tickets) + 1, channel=channel)
        self.tickets.append(self.registry.submit(message))

    def withdraw(self, number: int) -> None:
        for channel in CHANNELS:
            turn_id = TurnId(f"discord:message:{number}")
            self.registry.withdraw(turn_id, ChannelId(f"discord:{channel}"))

    def break_engine(self, *, broken: bool) -> None:
        self.world.engine.start_error = start_failure() if broken else None

    def on_held(self, number: int, act: Callable[[FakeClient], None]) -> None:
        """Do something with one of the prompts that wait for an answer."""
        held = [each for each in self.world.engine.clients if each.alive and each.in_flight]
        if held:
            act(held[number % len(held)])

    def apart(self, wish: Awaitable[bool], tasks: asyncio.TaskGroup) -> None:
        """Let an owner's command wait for itself."""

        async def carry_out() -> bool:
            return await wish

        self.helpers.add(tasks.create_task(carry_out()))


def watched(world: World, broken: list[str]) -> Callable[[FakeClient, str], None]:
    """Hold each prompt, after a look at what must be true when pi gets one."""

    def behave(client: FakeClient, text: str) -> None:
        compiled = [e for e in world.trace(client.launch.run_dir.name) if e["event"] == "compiled"]
        if compiled[-1]["input_prompt_sha256"] != sha256_text(text):
            broken.append("delivered before its trace")
        in_flight = [each for each in world.engine.clients if each.alive and each.in_flight]
        channels = [each.launch.run_dir for each in in_flight]
        if len(channels) != len(set(channels)):
            broken.append("two turns at once in one run")
        hold(client, text)

    return behave


@settings(max_examples=20)
@given(script=STEPS)
async def test_every_message_gets_one_outcome_and_every_turn_its_trace(
    script: list[tuple[tuple[str, int], bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Exactly one outcome a ticket; turns serialized; trace first; never above the cap."""
    broken: list[str] = []
    async with session_world(tmp_path_factory.mktemp("home")) as world:
        world.engine.behave = watched(world, broken)
        async with (
            asyncio.timeout(BOUND_SECONDS),
            world.registry(max_warm=MAX_WARM, inbox_size=2) as registry,
            asyncio.TaskGroup() as tasks,
        ):
            story = Story(world=world, registry=registry)
            for (name, value), rests in script:
                await story.step(name, value, tasks)
                if rests:
                    await story.come_to_rest()
            await _come_to_an_end(story)
        outcomes = [await ticket.outcome() for ticket in story.tickets]
        assert broken == []
        assert "internal" not in {each.error_code for each in outcomes}
        assert [each.turn_id for each in outcomes] == [t.inbound.turn_id for t in story.tickets]
        assert world.engine.living == 0
        assert world.engine.most_living <= MAX_WARM
        _check_order(world, story)
        await _check_records(world, story)


async def _come_to_an_end(story: Story) -> None:
    """Answer whatever is asked from now on, let every deadline pass, and close."""
    engine = story.world.engine
    engine.start_error = None
    engine.behave = lambda client, _: client.reply("in the end")
    for client in engine.clients:
        if client.alive and client.in_flight:
            client.reply("at last")
    await story.registry.close()


def _check_order(world: World, story: Story) -> None:
    """In each conversation the prompts came in the order of the messages."""
    asked: dict[str, list[int]] = defaultdict(list)
    for run_id, _ in world.engine.prompts:
        events = [e for e in world.trace(run_id) if e["event"] == "compiled" and e["turn_id"]]
        asked[run_id] = [int(str(event["turn_id"]).rpartition(":")[2]) for event in events]
    for numbers in asked.values():
        assert numbers == sorted(numbers)
    assert len(world.engine.prompts) <= len(story.tickets)


async def _check_records(world: World, story: Story) -> None:
    """Each run's trace holds together, and each delivered turn has its row and outcome."""
    rows: dict[str, TurnRow] = {}
    for run in await world.parts.runs.list_runs(1000):
        file = Path(world.home / "runs" / run.run_id / "context.jsonl")
        # A start that ran out of time before its trace was made has none.
        assert run.trace_events == 0 or verify(file).problems == ()
        rows |= {row.turn_id: row for row in await world.parts.runs.turns(run.run_id)}
    assert all(row.outcome is not None for row in rows.values())
    for ticket in story.tickets:
        outcome = await ticket.outcome()
        if outcome.kind in (OutcomeKind.REPLIED, OutcomeKind.SILENT):
            assert rows[outcome.turn_id].outcome is outcome.kind
