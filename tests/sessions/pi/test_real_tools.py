"""The host's tools in the real pi: what the model is offered, and how a call comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer, ScriptedModel
from compiler.request import RunId, TurnId
from sessions.exchange import TurnExchange
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.pi.client import PiClient
from sessions.tools.call import ToolAnswer
from sessions.tools.call import ToolCall as HostCall
from sessions.tools.desk import ToolDesk
from sessions.tools.table import MEMORY_TOOLS, manifest
from sessions.turn import HaltReason
from support.pi_world import LIMITS, engine_for, spec_for

NAMES = ("remember", "recall", "forget", "correct")
Answering = Callable[[HostCall], Awaitable[ToolAnswer]]


@asynccontextmanager
async def pi_with_tools(
    home: Path, *, timeout_ms: int = 30_000
) -> AsyncIterator[tuple[ScriptedModel, PiClient]]:
    async with ScriptedModel() as model:
        spec = replace(
            spec_for(home, engine_for(model.url)),
            tools=tuple(tool.name for tool in MEMORY_TOOLS),
            tool_manifest=manifest(MEMORY_TOOLS, timeout_ms=timeout_ms),
        )
        async with PiClient(spec, LIMITS) as client:
            await client.start()
            yield model, client


async def turn(client: PiClient, text: str, answer: Answering | None) -> TurnOutcome:
    exchange = TurnExchange(client, LIMITS, run_id=RunId("run"), turn_id=TurnId("turn"))
    async with asyncio.timeout(120):
        if answer is None:
            return (await exchange.run(text)).outcome
        async with ToolDesk(client, answer, tool_seconds=30.0):
            return (await exchange.run(text)).outcome


async def keep(call: HostCall) -> ToolAnswer:
    return ToolAnswer(ok=True, text=f"{call.name} {call.arguments}")


async def test_the_model_is_offered_exactly_the_table(tmp_path: Path) -> None:
    """Order, descriptions and schemas of the raw request body, equal in every turn."""
    async with pi_with_tools(tmp_path) as (model, client):
        await turn(client, "one", keep)
        await turn(client, "two", keep)
        first, second = model.requests
    assert first.tool_names == NAMES
    offered = [tool["function"] for tool in first.body["tools"]]
    for tool, seen in zip(MEMORY_TOOLS, offered, strict=True):
        assert seen["description"] == tool.description
        assert seen["parameters"] == tool.parameters
    assert json.dumps(first.body["tools"]) == json.dumps(second.body["tools"])
    assert b"INGLENOOK_TOOLS" not in first.raw


async def test_a_call_reaches_the_host_and_its_answer_the_model(tmp_path: Path) -> None:
    calls: list[HostCall] = []

    async def answer(call: HostCall) -> ToolAnswer:
        calls.append(call)
        return ToolAnswer(ok=True, text="Kept as m-1 \u2028 ü.")

    async with pi_with_tools(tmp_path) as (model, client):
        model.script(
            Answer.call(ToolCall(name="remember", arguments={"text": 'tea \u2028 ü "q"'})),
            Answer.of("Done."),
        )
        outcome = await turn(client, "remember tea", answer)
        assert (outcome.kind, outcome.text) == (OutcomeKind.REPLIED, "Done.")
        (call,) = calls
        assert (call.name, json.loads(call.arguments)) == ("remember", {"text": 'tea \u2028 ü "q"'})
        told = model.requests[-1].body["messages"][-1]
        assert (told["role"], told["content"]) == ("tool", "Kept as m-1 \u2028 ü.")
        first, second = (request.raw for request in model.requests)
        assert second.startswith(first[: first.index(b'],"stream":true')])


async def test_without_a_desk_a_call_is_refused_at_once(tmp_path: Path) -> None:
    """No active turn, no handler: nothing of the host can be reached."""
    async with pi_with_tools(tmp_path) as (model, client):
        model.script(
            Answer.call(ToolCall(name="forget", arguments={"id": "m-1"})), Answer.of("Sorry.")
        )
        outcome = await turn(client, "forget it", None)
        assert outcome.text == "Sorry."
        assert "did not answer" in str(model.requests[-1].body["messages"][-1]["content"])


async def test_an_abort_during_a_call_ends_the_turn(tmp_path: Path) -> None:
    """The dialog carries a signal, so a slow host never holds an abort up."""
    async with pi_with_tools(tmp_path) as (model, client):
        exchange = TurnExchange(client, LIMITS, run_id=RunId("run"), turn_id=TurnId("turn"))

        async def never(call: HostCall) -> ToolAnswer:
            del call
            exchange.halt(HaltReason.STOPPED)
            await asyncio.Event().wait()
            raise AssertionError

        model.script(Answer.call(ToolCall(name="recall", arguments={"query": "tea"})))
        async with asyncio.timeout(120), ToolDesk(client, never, tool_seconds=60.0):
            outcome = (await exchange.run("what do you know?")).outcome
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.CUT_OFF, HaltReason.STOPPED)
        assert client.alive
        model.script(Answer.of("Here."))
        assert (await turn(client, "hello", keep)).text == "Here."


@pytest.mark.parametrize("answer", ["null", "[]", "no json", '{"ok":true}', '{"ok":1,"text":"x"}'])
async def test_a_wrong_answer_is_no_success(tmp_path: Path, answer: str) -> None:
    """Fail closed: only a whole answer that says so counts as done."""
    async with pi_with_tools(tmp_path) as (model, client):
        model.script(
            Answer.call(ToolCall(name="recall", arguments={"query": "tea"})), Answer.of("Hm.")
        )
        client.serve_host(lambda request: client.answer_host(request, answer))
        await turn(client, "what?", None)
        ends = json.dumps(model.requests[-1].body["messages"][-1])
        assert "did not answer" in ends or '"x"' in ends
