"""The scripted model in the form of Anthropic's Messages; pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bot.playground.model_wire import ChatMessage, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bot.playground.model_wire import Figures, WireAnswer

_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def read_messages(body: Mapping[str, Any]) -> tuple[ChatMessage, ...]:
    """Read the system prompt and the messages, texts joined."""
    system = text_of(body.get("system"))
    head = [ChatMessage(role="system", text=system)] if system else []
    said = [
        ChatMessage(role=str(message.get("role", "")), text=text_of(message.get("content")))
        for message in body.get("messages") or ()
    ]
    return (*head, *said)


def stream_events(answer: WireAnswer) -> Iterator[bytes]:
    """Give the events of one streamed answer; without ``finish`` it ends like a broken one."""
    message: dict[str, Any] = {
        "id": answer.answer_id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(answer.figures, completion=0),
    }
    yield _event("message_start", message=message)
    index = 0
    if answer.thinking:
        opened = {"type": "thinking", "thinking": "", "signature": ""}
        yield from _block(index, opened, [{"type": "thinking_delta", "thinking": answer.thinking}])
        index += 1
    if answer.texts:
        deltas = [{"type": "text_delta", "text": text} for text in answer.texts]
        yield from _block(index, {"type": "text", "text": ""}, deltas)
        index += 1
    for number, call in enumerate(answer.tools):
        call_id = call.call_id or f"call-{answer.answer_id}-{number}"
        use: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": call.name, "input": {}}
        partial = json.dumps(dict(call.arguments))
        yield from _block(index, use, [{"type": "input_json_delta", "partial_json": partial}])
        index += 1
    if answer.finish is None:
        return
    delta = {"stop_reason": _REASONS.get(answer.finish, answer.finish), "stop_sequence": None}
    completion = answer.figures.completion if answer.figures else 0
    yield _event("message_delta", delta=delta, usage=_usage(answer.figures, completion=completion))
    yield _event("message_stop")


def _block(
    index: int, opened: Mapping[str, Any], deltas: Sequence[Mapping[str, Any]]
) -> Iterator[bytes]:
    yield _event("content_block_start", index=index, content_block=opened)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **more: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def _usage(figures: Figures | None, *, completion: int) -> dict[str, int]:
    """Count as this provider does: cached input is not part of the input."""
    prompt, cached = (figures.prompt, figures.cached) if figures else (0, 0)
    return {
        "input_tokens": prompt - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": completion,
    }
