"""What a model endpoint says on the wire, in OpenAI's Chat Completions form.

Pure: a request's body in, server-sent events out. The server is in ``scripted_model``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CHARS_PER_TOKEN = 4
"""The token of the scripted model: a fixed number of characters, so that figures are exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Token counts as the provider reports them; ``prompt`` includes ``cached``."""

    prompt: int
    completion: int
    cached: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that the model asks for; ``call_id`` is made up when empty."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of a request; ``text`` joins the text parts, in order."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WireAnswer:
    """One answer of the model, told in whichever form it was asked in."""

    model: str
    answer_id: str
    texts: Sequence[str]
    """What is said, in the pieces in which it streams."""
    thinking: str = ""
    tools: Sequence[ToolCall] = ()
    finish: str | None = "stop"
    """Why it ends; None: the stream ends like a broken one."""
    figures: Figures | None = None


def read_messages(body: Mapping[str, Any]) -> tuple[ChatMessage, ...]:
    """Read the messages of a request; parts that are no text are left out."""
    return tuple(
        ChatMessage(role=str(message.get("role", "")), text=text_of(message.get("content")))
        for message in body.get("messages") or ()
    )


def text_of(content: object) -> str:
    """Join the text parts of a message's content."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def count_tokens(text: str) -> int:
    """Count tokens of a text, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def common_prefix_chars(text: str, others: Sequence[str]) -> int:
    """Give the length of the longest beginning that ``text`` shares with one of the others."""
    best = 0
    for other in others:
        if text[: best + 1] == other[: best + 1] and min(len(text), len(other)) > best:
            best = _shared(text, other, best)
    return best


def stream_chunks(answer: WireAnswer) -> Iterator[bytes]:
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


def _shared(left: str, right: str, low: int) -> int:
    """Find the shared length by halving; slices compare at memory speed."""
    high = min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


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
