"""The scripted model in the form of OpenAI's Chat Completions; pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bot.playground.model_wire import ChatMessage, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bot.playground.model_wire import Figures, ToolCall, WireAnswer


def read_messages(body: Mapping[str, Any]) -> tuple[ChatMessage, ...]:
    """Read the messages of a request; parts that are no text are left out."""
    return tuple(
        ChatMessage(role=str(message.get("role", "")), text=text_of(message.get("content")))
        for message in body.get("messages") or ()
    )


def stream_events(answer: WireAnswer) -> Iterator[bytes]:
    """Give the events of one streamed answer, the first one being the role.

    Without ``finish`` the stream ends like a broken one: no reason, no figures, no ``[DONE]``.
    """

    def event(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _sse({**_head(answer, "chat.completion.chunk"), "choices": [choice]})

    yield event({"role": "assistant", "content": ""})
    if answer.thinking:
        yield event({"reasoning_content": answer.thinking})
    for text in answer.texts:
        yield event({"content": text})
    for index, call in enumerate(answer.tools):
        yield event({"tool_calls": [{"index": index, **_tool(call, answer.answer_id, index)}]})
    if answer.finish is None:
        return
    yield event({}, answer.finish)
    if answer.figures is not None:
        head = _head(answer, "chat.completion.chunk")
        yield _sse({**head, "choices": [], "usage": _usage(answer.figures)})
    yield b"data: [DONE]\n\n"


def whole_answer(answer: WireAnswer) -> dict[str, Any]:
    """Give the answer to a request that did not ask for a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(answer.texts)}
    if answer.tools:
        message["tool_calls"] = [
            _tool(call, answer.answer_id, index) for index, call in enumerate(answer.tools)
        ]
    told = {
        **_head(answer, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
    }
    return told if answer.figures is None else {**told, "usage": _usage(answer.figures)}


def _head(answer: WireAnswer, kind: str) -> dict[str, Any]:
    # No clock: the same script gives the same bytes.
    return {"id": answer.answer_id, "object": kind, "created": 0, "model": answer.model}


def _tool(call: ToolCall, answer_id: str, index: int) -> dict[str, Any]:
    return {
        "id": call.call_id or f"call-{answer_id}-{index}",
        "type": "function",
        "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
    }


def _usage(figures: Figures) -> dict[str, Any]:
    return {
        "prompt_tokens": figures.prompt,
        "completion_tokens": figures.completion,
        "total_tokens": figures.prompt + figures.completion,
        "prompt_tokens_details": {"cached_tokens": figures.cached},
    }


def _sse(payload: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"
