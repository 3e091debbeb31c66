"""The scripted model in the Responses form."""

from __future__ import annotations

import json
from typing import Any

from bot.playground.dialects.responses import read_messages, stream_events
from bot.playground.model_wire import Figures, ToolCall, WireAnswer


def events(**parts: Any) -> list[dict[str, Any]]:  # noqa: ANN401 -- the parts under test
    chunks = stream_events(WireAnswer(**{"model": "m", "answer_id": "1", "texts": [], **parts}))
    return [json.loads(chunk.decode().split("data: ", 1)[1]) for chunk in chunks]


def test_the_texts_stream_and_come_whole_at_the_end() -> None:
    told = events(texts=["a", "b"], figures=Figures(prompt=10, completion=2, cached=4))
    deltas = [event["delta"] for event in told if event["type"] == "response.output_text.delta"]
    assert deltas == ["a", "b"]
    done = told[-1]["response"]
    assert done["output"][0]["content"][0]["text"] == "ab"
    assert done["usage"]["input_tokens"] == 10
    assert done["usage"]["input_tokens_details"] == {"cached_tokens": 4}


def test_events_are_numbered_without_gaps() -> None:
    told = events(texts=["a"], thinking="hm", tools=[ToolCall(name="t")])
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert [item["type"] for item in told[-1]["response"]["output"]] == [
        "reasoning",
        "message",
        "function_call",
    ]


def test_a_call_carries_its_arguments() -> None:
    told = events(tools=[ToolCall(name="t", arguments={"x": 1}, call_id="c")], finish="tool_calls")
    item = told[-1]["response"]["output"][0]
    assert (item["name"], item["call_id"]) == ("t", "c")
    assert json.loads(item["arguments"]) == {"x": 1}


def test_an_answer_cut_by_length_is_incomplete() -> None:
    assert events(texts=["a"], finish="length")[-1]["type"] == "response.incomplete"


def test_without_a_finish_it_breaks_off() -> None:
    told = events(texts=["a"], finish=None)
    assert told[-1]["type"] == "response.output_text.delta"


def test_instructions_and_messages_are_read() -> None:
    parts = [{"type": "input_text", "text": "hi"}]
    body = {"instructions": "S", "input": [{"role": "user", "content": parts}, {"type": "x"}]}
    assert [(m.role, m.text) for m in read_messages(body)] == [("system", "S"), ("user", "hi")]
    assert [m.text for m in read_messages({"input": "plain"})] == ["plain"]
    assert read_messages({}) == ()
