"""The shell around the machine: deadlines, stops and deaths, without a process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from itertools import count

import pytest

from compiler.request import RunId, TurnId
from sessions.exchange import ExchangeResult, TurnExchange
from sessions.inbound import OutcomeKind
from sessions.limits import SessionLimits
from sessions.pi.errors import PiExited, PiRefused
from sessions.pi.exchange import Exchange
from sessions.pi.protocol import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AnswerDelta,
    AssistantEnd,
    AssistantMessage,
    ContentPart,
    MessageUpdate,
    PiEvent,
)
from sessions.pictures import Picture
from sessions.turn import HaltReason

LIMITS = SessionLimits(turn_seconds=30, abort_seconds=30, shutdown_seconds=30)
START = AgentStart(type="agent_start")
DELTA = MessageUpdate(
    type="message_update", assistant_message_event=AnswerDelta(type="text_delta", delta="Hi")
)
ANSWER: tuple[PiEvent, ...] = (
    AssistantEnd(
        type="message_end",
        message=AssistantMessage(
            role="assistant", content=(ContentPart(type="text", text="Hi"),), stop_reason="stop"
        ),
    ),
    AgentEnd(type="agent_end"),
    AgentSettled(type="agent_settled"),
)
ABORTED: tuple[PiEvent, ...] = (
    AgentEnd(type="agent_end"),
    AgentSettled(type="agent_settled", aborted=True),
)


class FakeClient:
    """A pi without a process: says ``first`` at once and obeys, or not."""

    def __init__(
        self, *first: PiEvent, aborts: bool = True, dies: bool = True, refuses: bool = False
    ) -> None:
        self.exchange = Exchange()
        self.calls: list[str] = []
        self._first = first
        self._aborts = aborts
        self._dies = dies
        self._refuses = refuses

    def say(self, *events: PiEvent) -> None:
        for event in events:
            self.exchange.put(event)

    def prompt(self, text: str, pictures: Sequence[Picture] = ()) -> Exchange:
        del pictures
        self.calls.append(f"prompt {text}")
        if self._refuses:
            raise PiRefused("prompt", "declined")
        self.say(*self._first)
        return self.exchange

    def send_abort(self) -> None:
        self.calls.append("abort")
        if self._aborts:
            self.say(*ABORTED)

    def kill(self) -> None:
        self.calls.append("kill")
        if self._dies:
            self.exchange.fail(PiExited(-9))


def turn(
    client: FakeClient, limits: SessionLimits = LIMITS, clock: Callable[[], int] | None = None
) -> TurnExchange:
    return TurnExchange(
        client,
        limits,
        run_id=RunId("run"),
        turn_id=TurnId("turn"),
        monotonic_ns=clock or count(100, 10).__next__,
    )


async def run(exchange: TurnExchange) -> ExchangeResult:
    async with asyncio.timeout(120):
        return await exchange.run("hello")


async def test_the_first_text_is_told_at_once() -> None:
    """Issue 8 "Live": who looks on hears of it while the answer is still being written."""
    told: list[int] = []
    client = FakeClient(START, DELTA, DELTA, *ANSWER)
    exchange = TurnExchange(
        client,
        LIMITS,
        run_id=RunId("run"),
        turn_id=TurnId("turn"),
        monotonic_ns=count(100, 10).__next__,
        on_first_text=told.append,
    )
    result = await run(exchange)
    assert told == [result.first_text_ns]


async def test_a_turn_gives_its_outcome_and_its_times() -> None:
    client = FakeClient(START, DELTA, *ANSWER)
    result = await run(turn(client))
    assert result.outcome.kind is OutcomeKind.REPLIED
    assert result.outcome.text == "Hi"
    assert client.calls == ["prompt hello"]
    assert (result.prompted_ns, result.first_text_ns, result.ended_ns) == (100, 110, 120)


async def test_wishes_that_come_together_are_all_taken() -> None:
    """Several further inputs and a stop in one step, also in the one in which patience runs out:
    nobody who wishes is thrown an error, and nothing of it is forgotten."""
    client = FakeClient(START)
    nudges: list[int] = []

    async def on_nudge() -> bool:
        nudges.append(len(nudges))
        return True

    exchange = TurnExchange(
        client, LIMITS, run_id=RunId("run"), turn_id=TurnId("turn"), on_nudge=on_nudge
    )
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(exchange))
        while not client.calls:  # noqa: ASYNC110 - one step of the loop, no time passes
            await asyncio.sleep(0)
        for _ in range(5):
            exchange.nudge()
            await asyncio.sleep(0)
            exchange.nudge()
        exchange.halt(HaltReason.STOPPED)
        exchange.nudge()
    assert nudges
    assert running.result().outcome.error_code == HaltReason.STOPPED


async def test_a_deadline_aborts_and_pi_settles() -> None:
    client = FakeClient(START)
    result = await run(turn(client, replace(LIMITS, turn_seconds=0.01)))
    assert (result.outcome.kind, result.outcome.error_code) == (OutcomeKind.CUT_OFF, "turn_timeout")
    assert client.calls == ["prompt hello", "abort"]
    assert result.first_text_ns is None


async def test_an_unanswered_abort_ends_with_a_kill() -> None:
    """P22: a hung pi is replaced; the user is told."""
    client = FakeClient(START, aborts=False)
    result = await run(turn(client, replace(LIMITS, turn_seconds=0.01, abort_seconds=0.01)))
    assert result.outcome.error_code == "turn_timeout"
    assert client.calls == ["prompt hello", "abort", "kill"]


async def test_a_process_that_cannot_be_killed_does_not_hold_the_turn() -> None:
    client = FakeClient(START, aborts=False, dies=False)
    limits = SessionLimits(turn_seconds=0.01, abort_seconds=0.01, shutdown_seconds=0.01)
    result = await run(turn(client, limits))
    assert result.outcome.error_code == "turn_timeout"


@pytest.mark.parametrize("reason", [HaltReason.STOPPED, HaltReason.SHUTDOWN])
async def test_a_halt_while_running_ends_the_turn_soon(reason: HaltReason) -> None:
    client = FakeClient(START)
    exchange = turn(client)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(exchange))
        while not client.calls:  # noqa: ASYNC110 - one step of the loop, no time passes
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        exchange.halt(reason)
        exchange.halt(HaltReason.DEADLINE)
    assert running.result().outcome.error_code == reason
    assert client.calls == ["prompt hello", "abort"]


async def test_a_halt_before_the_turn_counts_too() -> None:
    client = FakeClient(START)
    exchange = turn(client)
    exchange.halt(HaltReason.STOPPED)
    assert (await run(exchange)).outcome.error_code == "turn_stopped"


async def test_death_in_the_turn_cuts_it_off_at_once() -> None:
    client = FakeClient(START, DELTA)
    client.exchange.fail(PiExited(1))
    result = await run(turn(client))
    assert (result.outcome.kind, result.outcome.error_code) == (OutcomeKind.CUT_OFF, "pi_exited")


async def test_a_refused_prompt_fails_the_turn() -> None:
    result = await run(turn(FakeClient(refuses=True)))
    assert (result.outcome.kind, result.outcome.error_code) == (OutcomeKind.FAILED, "pi_refused")


async def test_events_out_of_order_fail_the_turn_and_end_the_process() -> None:
    client = FakeClient(START, START)
    result = await run(turn(client))
    assert (result.outcome.kind, result.outcome.error_code) == (OutcomeKind.FAILED, "pi_protocol")
    assert client.calls == ["prompt hello", "kill"]


async def test_cancellation_goes_on_up() -> None:
    """Style "Async": CancelledError is nobody's to keep."""
    client = FakeClient(START)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await turn(client).run("hello")
    assert client.calls == ["prompt hello"]


class EmptyTalk:
    """A client whose events end before the turn does."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def prompt(self, text: str, pictures: Sequence[Picture] = ()) -> AsyncIterator[PiEvent]:
        del pictures
        self.calls.append(text)
        yield START

    def send_abort(self) -> None:
        self.calls.append("abort")

    def kill(self) -> None:
        self.calls.append("kill")


async def test_events_that_end_before_the_turn_are_a_failure() -> None:
    result = await run(
        TurnExchange(EmptyTalk(), LIMITS, run_id=RunId("run"), turn_id=TurnId("turn"))
    )
    assert (result.outcome.kind, result.outcome.error_code) == (OutcomeKind.FAILED, "pi_protocol")
