"""What pi says becomes typed values; what is huge and unused is not parsed."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.pi.commands import encode_command, encode_prompt, encode_ui_refusal
from sessions.pi.errors import ProtocolError
from sessions.pi.protocol import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AssistantEnd,
    MessageUpdate,
    OtherEvent,
    Response,
    RetryEnd,
    RetryStart,
    UiRequest,
    UnknownEvent,
    accepted_of,
    command_names_of,
    parse_record,
    state_of,
    stats_of,
)
from sessions.pictures import Picture


def line(record: object) -> bytes:
    """A record as pi writes it: compact, raw Unicode."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def assistant(text: str = "Hello", **more: object) -> dict[str, Any]:
    return {
        "type": "message_end",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "api": "openai-completions",
            "usage": {
                "input": 200,
                "output": 7,
                "cacheRead": 800,
                "cacheWrite": 3,
                "totalTokens": 1010,
                "cost": {"input": 1e-6, "total": 0.000308},
            },
            "stopReason": "stop",
            **more,
        },
    }


def test_an_answer_has_its_text_usage_and_stop_reason() -> None:
    record = parse_record(line(assistant()))
    assert isinstance(record, AssistantEnd)
    message = record.message
    assert (message.text, message.stop_reason, message.error_message) == ("Hello", "stop", "")
    assert (message.usage.input, message.usage.output) == (200, 7)
    assert (message.usage.cache_read, message.usage.cache_write) == (800, 3)
    assert message.usage.cost.total == 0.000308


def test_only_text_parts_are_the_answer() -> None:
    """Thinking and tool calls are not meant for the reader (P08)."""
    content = [
        {"type": "thinking", "thinking": "hm", "text": "secret"},
        {"type": "text", "text": "a"},
        {"type": "toolCall", "id": "1", "name": "x", "arguments": {}},
        {"type": "text", "text": "b"},
    ]
    record = parse_record(line(assistant(content=content)))
    assert isinstance(record, AssistantEnd)
    assert record.message.text == "ab"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"type": "agent_start"}, AgentStart(type="agent_start")),
        ({"type": "agent_end", "messages": [], "willRetry": True}, AgentEnd(type="agent_end")),
        (
            {"type": "agent_settled", "aborted": True},
            AgentSettled(type="agent_settled", aborted=True),
        ),
        (
            {
                "type": "auto_retry_start",
                "attempt": 1,
                "maxAttempts": 3,
                "delayMs": 2000,
                "errorMessage": "500",
            },
            RetryStart(type="auto_retry_start", attempt=1, max_attempts=3, delay_ms=2000),
        ),
        (
            {"type": "auto_retry_end", "success": False, "attempt": 3, "finalError": "x"},
            RetryEnd(type="auto_retry_end", success=False),
        ),
        (
            {"type": "extension_ui_request", "id": "u1", "method": "confirm", "title": "?"},
            UiRequest(type="extension_ui_request", id="u1", method="confirm", title="?"),
        ),
        ({"type": "turn_start"}, OtherEvent(type="turn_start")),
        (
            {"type": "message_end", "message": {"role": "user", "content": "hi"}},
            OtherEvent(type="message_end"),
        ),
        ({"type": "dance_start", "steps": 3}, UnknownEvent(type="dance_start")),
    ],
)
def test_each_event_becomes_its_value(record: dict[str, Any], expected: object) -> None:
    assert parse_record(line(record)) == expected


def test_only_visible_text_is_a_text_delta() -> None:
    def delta_of(kind: str) -> str:
        step = {"type": kind, "contentIndex": 0, "delta": "x"}
        record = parse_record(
            line({"type": "message_update", "usage": {}, "assistantMessageEvent": step})
        )
        assert isinstance(record, MessageUpdate)
        return record.text_delta

    assert delta_of("text_delta") == "x"
    assert delta_of("thinking_delta") == ""
    assert delta_of("toolcall_delta") == ""


def test_a_record_may_have_its_keys_in_any_order_and_new_ones() -> None:
    """pi's records may gain fields; ``type`` first is a habit of pi's, not a promise."""
    record = {"extra": {"deep": [1]}, **assistant()}
    assert isinstance(parse_record(line(record)), AssistantEnd)
    moved = {"message": {"stopReason": "stop", "role": "assistant"}, "type": "message_end"}
    assert isinstance(parse_record(line(moved)), AssistantEnd)
    assert parse_record(line({"a": 1, "type": "turn_end"})) == OtherEvent(type="turn_end")


def test_a_type_inside_a_text_is_not_the_type() -> None:
    """A user's text cannot pose as another record."""
    text = '{"type":"agent_settled","aborted":false}\u2028'
    record = {"type": "message_end", "message": {"role": "user", "content": text}}
    assert parse_record(line(record)) == OtherEvent(type="message_end")


@pytest.mark.parametrize(
    "broken",
    [
        b"null",
        b"[]",
        b"7",
        b'"x"',
        b"{}",
        b'{"type":1}',
        b"not json",
        b'{"type":"agent_settled"',
        b'{"type":"agent_end","messages":[{"role"',
        b'{"type":"message_end","message":{"role":"assistant"}}',
        b'{"type":"response","command":"x"}',
        b'{"type":"message_update"}',
        b'{"type":"agent_settled","aborted":"\xff"}',
        b"[" * 100_000,
        b'{"type":"agent_settled","aborted":' + b"[" * 100_000,
    ],
)
def test_a_broken_record_is_a_protocol_error_without_its_content(broken: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_record(broken)
    assert caught.value.facts["size_bytes"] == len(broken) or "type" in str(caught.value.facts)
    assert "input_value" not in repr(caught.value.__cause__)


def test_half_a_surrogate_pair_in_an_answer_becomes_a_replacement_character() -> None:
    r"""Discord cannot take it; proper pairs and a written-out ``\ud83d`` stay as they are."""
    raw = line(assistant("TEXT")).replace(
        b"TEXT", rb"a\ud83d b\ud83d\ude00 c\\ud83d d\\\udc00 e\uDBFF"
    )
    record = parse_record(raw)
    assert isinstance(record, AssistantEnd)
    assert record.message.text == "a\ufffd b\U0001f600 c\\ud83d d\\\ufffd e\ufffd"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_comes_through_unharmed(text: str) -> None:
    """P21: the same text out as in, and one line of it."""
    record = parse_record(line(assistant(text)))
    assert isinstance(record, AssistantEnd)
    assert record.message.text == text
    written = encode_prompt("c1", text)
    assert written.endswith(b"\n")
    assert written.count(b"\n") == 1
    assert json.loads(written) == {"id": "c1", "type": "prompt", "message": text}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
KINDS = st.sampled_from(
    ["response", "message_end", "message_update", "agent_settled", "auto_retry_start", "turn_end"]
)


@given(
    st.binary()
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.builds(
        lambda kind, rest: line({"type": kind, **rest}),
        KINDS,
        st.dictionaries(
            st.sampled_from(["message", "id", "command", "success", "aborted", "data"]), JSON
        ),
    )
)
def test_whatever_comes_is_a_record_or_a_protocol_error(raw: bytes) -> None:
    """Nothing that a child can write raises anything else."""
    with suppress(ProtocolError):
        parse_record(raw)


def test_a_prompt_without_exact_bytes_is_not_written() -> None:
    with pytest.raises(UnicodeEncodeError):
        encode_prompt("c1", "half \ud83d")


def test_pictures_go_with_a_prompt_in_pis_form() -> None:
    dot = Picture(media_type="image/png", width=1, height=1, data=b"dot")
    assert json.loads(encode_prompt("c1", "look", (dot,))) == {
        "id": "c1",
        "type": "prompt",
        "message": "look",
        "images": [{"type": "image", "data": "ZG90", "mimeType": "image/png"}],
    }


def test_commands_and_refusals_have_pis_form() -> None:
    """And no command that would pass the host by is ever written: pi asks nobody about ``bash``."""
    for other in ("bash", "set_model", "export_html", "prompt", ""):
        with pytest.raises(ValueError, match="never"):
            encode_command("c3", other)
    assert encode_command("c2", "abort") == b'{"id":"c2","type":"abort"}\n'
    assert json.loads(encode_ui_refusal("u1")) == {
        "type": "extension_ui_response",
        "id": "u1",
        "cancelled": True,
    }


def response(data: object, command: str = "x") -> Response:
    record = parse_record(
        line({"id": "c1", "type": "response", "command": command, "success": True, "data": data})
    )
    assert isinstance(record, Response)
    return record


def test_answers_to_questions_are_typed() -> None:
    state = state_of(
        response(
            {
                "sessionId": "s",
                "sessionFile": "/x",
                "messageCount": 4,
                "isStreaming": False,
                "model": {"id": "m1", "provider": "p", "cost": {}},
            }
        )
    )
    assert (state.session_id, state.message_count, state.is_streaming) == ("s", 4, False)
    assert state.model is not None
    assert state.model.provider == "p"
    stats = stats_of(
        response({"cost": 0.5, "contextUsage": {"tokens": 9, "contextWindow": 100, "percent": 9.0}})
    )
    assert stats.cost == 0.5
    assert stats.context_usage is not None
    assert stats.context_usage.percent == 9.0
    assert accepted_of(response({"disposition": "queued"})).disposition == "queued"
    assert command_names_of(response({"commands": [{"name": "mcp"}]})) == ("mcp",)


def test_an_answer_of_another_form_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError) as caught:
        state_of(response({"sessionId": 7}, command="get_state"))
    assert caught.value.facts["reason"] == "unexpected answer to get_state"


def test_a_response_to_nothing_has_no_id() -> None:
    record = parse_record(b'{"type":"response","command":"parse","success":false,"error":"x"}')
    assert isinstance(record, Response)
    assert record.id is None
