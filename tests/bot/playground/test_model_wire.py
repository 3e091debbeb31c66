"""The wire form of the scripted model: pure functions."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.playground.model_wire import (
    Figures,
    ToolCall,
    WireAnswer,
    common_prefix_chars,
    count_tokens,
    read_messages,
    stream_chunks,
    whole_answer,
)


def events(chunks: list[bytes]) -> list[dict[str, Any]]:
    lines = [chunk.decode().removeprefix("data: ").strip() for chunk in chunks]
    return [json.loads(line) for line in lines if line != "[DONE]"]


@given(st.text("ab", max_size=40), st.lists(st.text("ab", max_size=40), max_size=6))
def test_the_common_prefix_is_the_longest_of_any(text: str, others: list[str]) -> None:
    def shared(other: str) -> int:
        pairs = zip(text, other, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    expected = max((shared(other) for other in others), default=0)
    assert common_prefix_chars(text, others) == expected


@given(st.text(max_size=200))
def test_tokens_round_up(text: str) -> None:
    assert (count_tokens(text) - 1) * 4 < max(len(text), 0) <= count_tokens(text) * 4 or not text


@given(st.lists(st.text(max_size=20), max_size=5))
def test_the_streamed_texts_join_to_the_answer(texts: list[str]) -> None:
    streamed = events(list(stream_chunks(WireAnswer(model="m", answer_id="a", texts=texts))))
    joined = "".join(event["choices"][0]["delta"].get("content", "") for event in streamed)
    whole = whole_answer(WireAnswer(model="m", answer_id="a", texts=texts))
    assert joined == whole["choices"][0]["message"]["content"] == "".join(texts)


def test_the_same_script_gives_the_same_bytes() -> None:
    def make() -> list[bytes]:
        figures = Figures(prompt=3, completion=1)
        answer = WireAnswer(model="m", answer_id="a", texts=["x"], figures=figures)
        return list(stream_chunks(answer))

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
