"""The desk is open for one turn: calls are answered in time, or refused, or ended with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from sessions.pi.host_request import HostRequest
from sessions.tools.call import ToolAnswer, ToolCall
from sessions.tools.desk import MAX_OPEN, ToolDesk


class Channel:
    """The engine's side."""

    def __init__(self) -> None:
        self.handler: Callable[[HostRequest], None] | None = None
        self.answers: dict[str, dict[str, object]] = {}
        self.answered = asyncio.Event()

    def serve_host(self, handler: Callable[[HostRequest], None] | None) -> None:
        self.handler = handler

    def answer_host(self, request: HostRequest, text: str) -> None:
        self.answers[request.id] = json.loads(text)
        self.answered.set()

    def ask(self, number: int = 1) -> None:
        assert self.handler is not None
        self.handler(HostRequest(id=f"q{number}", tool="remember", arguments="{}"))

    async def answer_to(self, number: int = 1) -> dict[str, object]:
        async with asyncio.timeout(120):
            while f"q{number}" not in self.answers:
                self.answered.clear()
                await self.answered.wait()
        return self.answers[f"q{number}"]


async def test_a_call_is_answered_while_the_turn_runs() -> None:
    async def answer(call: ToolCall) -> ToolAnswer:
        return ToolAnswer(ok=True, text=call.name + call.arguments)

    channel = Channel()
    async with ToolDesk(channel, answer, tool_seconds=60.0):
        channel.ask()
        assert await channel.answer_to() == {"ok": True, "text": "remember{}"}
    assert channel.handler is None


async def test_a_slow_call_is_answered_in_time() -> None:
    async def answer(call: ToolCall) -> ToolAnswer:
        del call
        await asyncio.Event().wait()
        raise AssertionError

    channel = Channel()
    async with ToolDesk(channel, answer, tool_seconds=0.01):
        channel.ask()
        told = await channel.answer_to()
        assert told["ok"] is False


async def test_what_still_runs_ends_with_the_turn() -> None:
    """Nothing is written after the turn's outcome."""
    ended = asyncio.Event()

    async def answer(call: ToolCall) -> ToolAnswer:
        del call
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    channel = Channel()
    async with ToolDesk(channel, answer, tool_seconds=60.0):
        channel.ask()
        await asyncio.sleep(0)
    assert ended.is_set()
    assert channel.answers == {}


async def test_a_failing_turn_leaves_the_desk_with_its_own_error() -> None:
    async def answer(call: ToolCall) -> ToolAnswer:
        del call
        raise AssertionError

    channel = Channel()
    with pytest.raises(KeyError, match="own"):
        async with ToolDesk(channel, answer, tool_seconds=1.0):
            raise KeyError("own")
    assert channel.handler is None


async def test_a_flood_of_calls_is_refused() -> None:
    async def answer(call: ToolCall) -> ToolAnswer:
        del call
        await asyncio.Event().wait()
        raise AssertionError

    channel = Channel()
    async with ToolDesk(channel, answer, tool_seconds=60.0) as desk:
        for number in range(MAX_OPEN + 2):
            channel.ask(number)
        assert list(channel.answers) == [f"q{MAX_OPEN}", f"q{MAX_OPEN + 1}"]
        assert channel.answers[f"q{MAX_OPEN}"]["ok"] is False
        assert desk.asked == MAX_OPEN + 2, "those that were refused are counted too"
