"""The scripted model in the Messages form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.playground.dialects.anthropic import read_messages, stream_events
from bot.playground.model_wire import Figures, ToolCall, WireAnswer


def events(**parts: Any) -> list[dict[str, Any]]:  # noqa: ANN401 -- the parts under test
    chunks = stream_events(WireAnswer(**{"model": "m", "answer_id": "1", "texts": [], **parts}))
    return [json.loads(chunk.decode().split("data: ", 1)[1]) for chunk in chunks]


def test_cached_input_is_counted_apart() -> None:
    """This provider's input excludes what was cached."""
    told = events(texts=["a"], figures=Figures(prompt=10, completion=2, cached=4))
    usage = told[0]["message"]["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (6, 4)
    assert told[-2]["usage"]["output_tokens"] == 2


def test_blocks_are_numbered_and_closed() -> None:
    told = events(texts=["a", "b"], thinking="hm", tools=[ToolCall(name="t", arguments={"x": 1})])
    opened = [e["content_block"]["type"] for e in told if e["type"] == "content_block_start"]
    assert opened == ["thinking", "text", "tool_use"]
    closed = [e["index"] for e in told if e["type"] == "content_block_stop"]
    assert closed == [0, 1, 2]
    partial = [e["delta"].get("partial_json") for e in told if e["type"] == "content_block_delta"]
    assert json.loads(partial[-1]) == {"x": 1}


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "end_turn"),
        ("tool_calls", "tool_use"),
        ("length", "max_tokens"),
        ("other", "other"),
    ],
)
def test_a_finish_has_this_providers_name(finish: str, reason: str) -> None:
    assert events(texts=["a"], finish=finish)[-2]["delta"]["stop_reason"] == reason


def test_without_a_finish_it_breaks_off() -> None:
    assert events(texts=["a"], finish=None)[-1]["type"] == "content_block_stop"


def test_system_and_messages_are_read() -> None:
    system = [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}]
    body = {"system": system, "messages": [{"role": "user", "content": "hi"}]}
    assert [(m.role, m.text) for m in read_messages(body)] == [("system", "S"), ("user", "hi")]
    assert read_messages({}) == ()
