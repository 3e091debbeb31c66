"""Figures are read from both ends of a stream, in all forms, however it is cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.playground.dialects.forms import DIALECTS, Dialect
from bot.playground.model_wire import Figures, WireAnswer
from sessions.wire.usage import (
    HEAD_BYTES,
    TAIL_BYTES,
    StreamEnds,
    WireUsage,
    estimated,
    read_usage,
)

FIGURES = Figures(prompt=1000, completion=7, cached=900)
EXPECTED = WireUsage(input_tokens=1000, cached_tokens=900, cache_write_tokens=0, output_tokens=7)


def stream_of(dialect: Dialect, *texts: str) -> bytes:
    parts = dialect.stream(WireAnswer(model="m", answer_id="a", texts=texts, figures=FIGURES))
    return b"".join(parts)


def fed(stream: bytes, size: int) -> StreamEnds:
    ends = StreamEnds()
    for at in range(0, len(stream), size):
        ends.feed(stream[at : at + size])
    return ends


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@given(size=st.integers(1, 400), said=st.text(max_size=40))
def test_any_chunking_gives_the_same_figures(dialect: Dialect, size: int, said: str) -> None:
    """Also when what was said looks like figures."""
    stream = stream_of(dialect, said, '"usage":{"prompt_tokens":1}', 'data: {"usage":{}}')
    ends = fed(stream, size)
    assert ends.usage() == EXPECTED
    assert ends.size_bytes == len(stream)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_long_answer_is_not_kept(dialect: Dialect) -> None:
    """Memory is bounded, and the figures are still found."""
    ends = fed(stream_of(dialect, *["x" * 1000] * 400), 4096)
    assert ends.usage() == EXPECTED
    assert len(ends._head) <= HEAD_BYTES
    assert len(ends._tail) <= 3 * TAIL_BYTES


@pytest.mark.parametrize("size", [1_000, 10**6])
def test_figures_of_both_ends_are_one(size: int) -> None:
    """Anthropic tells the prompt in its first event and only the answer in the last."""
    first = {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}
    first["message"]["usage"]["cache_creation_input_tokens"] = 2  # type: ignore[index]  # above
    said = {"type": "content_block_delta", "delta": {"text": "x" * 1000}}
    last = {"type": "message_delta", "usage": {"input_tokens": None, "output_tokens": 40}}
    events = [first, *[said] * 400, last]
    stream = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)
    ends = fed(stream, size)
    assert ends.usage() == WireUsage(
        input_tokens=5, cached_tokens=0, cache_write_tokens=2, output_tokens=40
    )
    assert len(ends._head) == HEAD_BYTES


def test_a_cut_stream_has_no_figures() -> None:
    ends = StreamEnds()
    ends.feed(b'data: {"choices":[],"usage":null}\n\ndata: {"usage":{"prompt_to')
    assert ends.usage() is None


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 6},
            WireUsage(input_tokens=10, cached_tokens=6, cache_write_tokens=0, output_tokens=2),
        ),
        (
            {
                "input_tokens": 3,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 2,
                "output_tokens": 1,
            },
            WireUsage(input_tokens=10, cached_tokens=5, cache_write_tokens=2, output_tokens=1),
        ),
        (
            {"prompt_tokens": -5, "completion_tokens": True, "prompt_tokens_details": []},
            WireUsage(input_tokens=0, cached_tokens=0, cache_write_tokens=0, output_tokens=0),
        ),
        ({"total_tokens": 3}, None),
    ],
)
def test_forms_of_figures(figures: dict[str, object], expected: WireUsage | None) -> None:
    """Whatever a provider counts in, the whole prompt is what we call input."""
    assert read_usage(figures) == expected
    ends = StreamEnds()
    ends.feed(f"data: {json.dumps({'usage': figures})}\n\n".encode())
    assert ends.usage() == expected


def test_what_nobody_reported_is_estimated() -> None:
    """No limit is passed by unseen."""
    usage = estimated(request_bytes=400, response_bytes=80)
    assert (usage.total_tokens, usage.is_estimate) == (120, True)
