"""The talk with pi, against a child that misbehaves on demand; the real one is in test_real_pi."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from compiler.request import RunId, TurnId
from sessions.exchange import TurnExchange
from sessions.inbound import OutcomeKind
from sessions.pi.client import PiClient
from sessions.pi.errors import PiError, PiExited, PiRefused, PiStartFailed, ProtocolError
from sessions.pi.exchange import Exchange
from sessions.pi.protocol import AgentSettled, AssistantEnd, OtherEvent, PiEvent, UnknownEvent
from support.pi_world import LIMITS, fake_spec


async def events_of(exchange: Exchange) -> list[PiEvent]:
    async with asyncio.timeout(120):
        return [event async for event in exchange]


async def test_a_prompt_gives_events_that_end_with_the_settled_one(tmp_path: Path) -> None:
    async with PiClient(fake_spec(tmp_path), LIMITS) as client:
        state = await client.start()
        assert state.message_count == 0
        exchange = client.prompt("hi\u2028there")
        busy = [client.busy]
        events = await events_of(exchange)
        assert [*busy, client.busy] == [True, False]
    assert isinstance(events[-1], AgentSettled)
    (end,) = [event for event in events if isinstance(event, AssistantEnd)]
    assert end.message.text == "You said: hi\u2028there"
    with pytest.raises(StopAsyncIteration):
        await anext(exchange)


@pytest.mark.parametrize(
    ("habit", "reason"),
    [
        ("die", "ended at once"),
        ("mute", "not ready in time"),
        ("commands", "has commands"),
        ("other-session", "has another session"),
        ("no-model", "does not know the model"),
    ],
)
async def test_a_pi_that_is_not_the_one_asked_for_is_refused(
    tmp_path: Path, habit: str, reason: str
) -> None:
    limits = replace(LIMITS, start_seconds=0.1) if habit == "mute" else LIMITS
    async with PiClient(fake_spec(tmp_path, habit), limits) as client:
        with pytest.raises(PiStartFailed) as caught:
            await client.start()
    assert caught.value.facts["reason"] == reason
    if habit == "die":
        assert caught.value.exit_code == 3
        assert caught.value.stderr_tail == "no such flag\n"
        assert "flag" not in caught.value.safe_message


async def test_death_is_noticed_at_once_and_with_its_exit_code(tmp_path: Path) -> None:
    """earendil-works/pi#4764: not after a long wait, and the parent lives."""
    async with PiClient(fake_spec(tmp_path, "exit"), LIMITS) as client:
        await client.start()
        exchange = client.prompt("hi")
        with pytest.raises(PiExited) as caught:
            await events_of(exchange)
        assert caught.value.exit_code == 7
        assert not client.alive
        async with asyncio.timeout(120):
            await client.ended()
        with pytest.raises(PiExited):
            client.prompt("again")
        with pytest.raises(PiExited):
            await client.state()


async def test_death_while_idle_is_told(tmp_path: Path) -> None:
    async with PiClient(fake_spec(tmp_path), LIMITS) as client:
        await client.start()
        client.kill()
        async with asyncio.timeout(120):
            await client.ended()
        assert not client.alive


async def test_a_broken_record_ends_the_process(tmp_path: Path) -> None:
    """P21: a truly broken line fails that turn visibly, and the process is of no more use."""
    async with PiClient(fake_spec(tmp_path, "broken"), LIMITS) as client:
        await client.start()
        with pytest.raises(ProtocolError):
            await events_of(client.prompt("hi"))
        assert not client.alive
    assert client.process.exit_code == -9


async def test_one_prompt_is_in_flight_at_a_time(tmp_path: Path) -> None:
    async with PiClient(fake_spec(tmp_path, "silent"), LIMITS) as client:
        await client.start()
        client.prompt("one")
        with pytest.raises(PiRefused) as caught:
            client.prompt("two")
    assert caught.value.facts["reason"] == "another prompt is in flight"


async def test_a_text_without_exact_bytes_is_not_sent(tmp_path: Path) -> None:
    """What cannot be traced exactly must not reach the model."""
    async with PiClient(fake_spec(tmp_path), LIMITS) as client:
        await client.start()
        with pytest.raises(PiRefused):
            client.prompt("half \ud83d")
        assert isinstance((await events_of(client.prompt("whole")))[-1], AgentSettled)


@pytest.mark.parametrize("habit", ["decline", "handled"])
async def test_a_prompt_that_starts_no_run_is_refused(tmp_path: Path, habit: str) -> None:
    """No settled event will come for it, so the exchange must end by itself."""
    async with PiClient(fake_spec(tmp_path, habit), LIMITS) as client:
        await client.start()
        with pytest.raises(PiRefused) as caught:
            await events_of(client.prompt("hi"))
        assert not client.busy
        assert client.alive
    assert "secret" not in f"{caught.value} {dict(caught.value.facts)}"


async def test_abort_settles_the_exchange(tmp_path: Path) -> None:
    async with PiClient(fake_spec(tmp_path, "silent"), LIMITS) as client:
        await client.start()
        exchange = client.prompt("hi")
        await client.abort()
        settled = (await events_of(exchange))[-1]
        assert isinstance(settled, AgentSettled)
        assert settled.aborted
        assert client.alive


async def test_an_abort_without_an_answer_has_an_end(tmp_path: Path) -> None:
    limits = replace(LIMITS, abort_seconds=0.05)
    async with PiClient(fake_spec(tmp_path, "silent no-abort"), limits) as client:
        await client.start()
        client.prompt("hi")
        with pytest.raises(TimeoutError):
            await client.abort()


async def test_an_abort_that_is_answered_and_ends_nothing_ends_the_process(tmp_path: Path) -> None:
    """P23: acknowledged, but no end event: the turn ends all the same, and the whole tree is gone,
    a grandchild in a session of its own included."""
    limits = replace(LIMITS, turn_seconds=0.05, abort_seconds=0.05)
    async with PiClient(fake_spec(tmp_path, "silent half-abort family"), limits) as client:
        await client.start()
        family = psutil.Process(client.process.pid).children(recursive=True)
        assert family
        turn = TurnExchange(client, limits, run_id=RunId("run"), turn_id=TurnId("turn"))
        outcome = (await turn.run("hi")).outcome
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.CUT_OFF, "turn_timeout")
        await client.ended()
    assert psutil.wait_procs(family, timeout=120)[1] == []


async def test_an_unknown_event_is_passed_on_and_logged_once_without_its_content(
    tmp_path: Path,
) -> None:
    async with PiClient(fake_spec(tmp_path, "strange"), LIMITS) as client:
        await client.start()
        with capture_logs() as logs:
            events = await events_of(client.prompt("private words"))
    assert events.count(UnknownEvent(type="a_new_event")) == 2
    assert [(entry["event"], entry["event_type"]) for entry in logs] == [
        ("pi.event_unknown", "a_new_event")
    ]
    assert "private words" not in str(logs)


async def test_a_question_of_an_extension_is_declined_at_once(tmp_path: Path) -> None:
    """Nobody here would answer it, and an unanswered one makes pi wait for ever."""
    async with PiClient(fake_spec(tmp_path, "ask"), LIMITS) as client:
        await client.start()
        events = await events_of(client.prompt("hi"))
    (end,) = [event for event in events if isinstance(event, AssistantEnd)]
    said = json.loads(end.message.text.removeprefix("You said: "))
    assert said == {"type": "extension_ui_response", "id": "u1", "cancelled": True}


async def test_leaving_the_context_tells_whoever_waits(tmp_path: Path) -> None:
    async with PiClient(fake_spec(tmp_path, "silent"), LIMITS) as client:
        await client.start()
        exchange = client.prompt("hi")
    with pytest.raises(PiExited):
        await events_of(exchange)


async def test_events_before_a_failure_can_still_be_read() -> None:
    exchange = Exchange()
    exchange.put(OtherEvent(type="turn_start"))
    exchange.fail(PiExited(1))
    exchange.put(OtherEvent(type="turn_end"))
    assert await anext(exchange) == OtherEvent(type="turn_start")
    with pytest.raises(PiExited):
        await anext(exchange)
    with pytest.raises(StopAsyncIteration):
        await anext(exchange)


async def test_a_waiting_reader_is_woken_by_each_event() -> None:
    exchange = Exchange()
    seen: list[PiEvent] = []

    async def read() -> None:
        with suppress(PiError):
            async for event in exchange:
                seen.append(event)  # noqa: PERF401 - what came before the failure counts

    async with asyncio.TaskGroup() as group:
        group.create_task(read())
        for kind in ("turn_start", "turn_end"):
            await asyncio.sleep(0)
            exchange.put(OtherEvent(type=kind))
        await asyncio.sleep(0)
        exchange.fail(PiExited(None))
    assert [event.type for event in seen] == ["turn_start", "turn_end"]
