"""The scripted model in the Chat Completions form."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.playground.dialects.completions import read_messages, stream_events, whole_answer
from bot.playground.model_wire import Figures, ToolCall, WireAnswer


def events(chunks: list[bytes]) -> list[dict[str, Any]]:
    lines = [chunk.decode().removeprefix("data: ").strip() for chunk in chunks]
    return [json.loads(line) for line in lines if line != "[DONE]"]


@given(st.lists(st.text(max_size=20), max_size=5))
def test_the_streamed_texts_join_to_the_answer(texts: list[str]) -> None:
    streamed = events(list(stream_events(WireAnswer(model="m", answer_id="a", texts=texts))))
    joined = "".join(event["choices"][0]["delta"].get("content", "") for event in streamed)
    whole = whole_answer(WireAnswer(model="m", answer_id="a", texts=texts))
    assert joined == whole["choices"][0]["message"]["content"] == "".join(texts)


def test_the_same_script_gives_the_same_bytes() -> None:
    def make() -> list[bytes]:
        figures = Figures(prompt=3, completion=1)
        answer = WireAnswer(model="m", answer_id="a", texts=["x"], figures=figures)
        return list(stream_events(answer))

    assert make() == make()
    assert make()[-1] == b"data: [DONE]\n\n"


def test_message_texts_are_joined_from_their_parts() -> None:
    body = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]},
            {"role": "assistant", "content": None},
        ]
    }
    assert [(m.role, m.text) for m in read_messages(body)] == [("user", "a"), ("assistant", "")]
    assert read_messages({}) == ()


def test_a_whole_answer_carries_tools_with_ids() -> None:
    calls = [ToolCall(name="a"), ToolCall(name="b", call_id="mine")]
    answer = whole_answer(WireAnswer(model="m", answer_id="1", texts=[], tools=calls))
    ids = [call["id"] for call in answer["choices"][0]["message"]["tool_calls"]]
    assert ids == ["call-1-0", "mine"]
    assert "usage" not in answer
