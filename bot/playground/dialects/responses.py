"""The scripted model in the form of OpenAI's Responses; pure."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

from bot.playground.model_wire import ChatMessage, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bot.playground.model_wire import Figures, ToolCall, WireAnswer


def read_messages(body: Mapping[str, Any]) -> tuple[ChatMessage, ...]:
    """Read the instructions and the messages; calls and their results are left out."""
    given = body.get("input")
    entries = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    found = [
        ChatMessage(role=str(entry["role"]), text=text_of(entry.get("content")))
        for entry in entries
        if "role" in entry
    ]
    instructions = body.get("instructions")
    head = [ChatMessage(role="system", text=instructions)] if instructions else []
    return (*head, *found)


def stream_events(answer: WireAnswer) -> Iterator[bytes]:
    """Give the events of one streamed answer.

    Without ``finish`` the stream ends like a broken one. Thinking is a summary in this form.
    """
    numbers = count()

    def event(kind: str, **more: object) -> bytes:
        payload = {"type": kind, "sequence_number": next(numbers), **more}
        return f"event: {kind}\ndata: {json.dumps(payload)}\n\n".encode()

    head = {"id": answer.answer_id, "object": "response", "created_at": 0, "model": answer.model}
    yield event("response.created", response={**head, "status": "in_progress", "output": []})
    items: list[dict[str, Any]] = []
    if answer.thinking:
        items.append(_reasoning(answer.answer_id, answer.thinking))
        yield event("response.output_item.added", output_index=0, item=items[0])
        yield event("response.output_item.done", output_index=0, item=items[0])
    if answer.texts:
        at = {"output_index": len(items), "item_id": f"msg-{answer.answer_id}", "content_index": 0}
        items.append(_message(answer.answer_id, "".join(answer.texts)))
        opened = {**items[-1], "status": "in_progress", "content": []}
        yield event("response.output_item.added", output_index=at["output_index"], item=opened)
        yield event("response.content_part.added", **at, part=_part(""))
        for text in answer.texts:
            yield event("response.output_text.delta", **at, delta=text)
        if answer.finish is not None:
            yield event("response.output_text.done", **at, text="".join(answer.texts))
            yield event("response.content_part.done", **at, part=_part("".join(answer.texts)))
            yield event(
                "response.output_item.done", output_index=at["output_index"], item=items[-1]
            )
    for index, call in enumerate(answer.tools):
        item = _call(call, answer.answer_id, index)
        place = len(items)
        items.append(item)
        yield event(
            "response.output_item.added", output_index=place, item={**item, "arguments": ""}
        )
        yield event(
            "response.function_call_arguments.done",
            output_index=place,
            item_id=item["id"],
            arguments=item["arguments"],
        )
        yield event("response.output_item.done", output_index=place, item=item)
    if answer.finish is not None:
        cut = answer.finish == "length"
        done = {
            **head,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": items,
            "usage": answer.figures and _usage(answer.figures),
        }
        yield event("response.incomplete" if cut else "response.completed", response=done)


def _message(answer_id: str, text: str) -> dict[str, Any]:
    return {
        "id": f"msg-{answer_id}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [_part(text)],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _reasoning(answer_id: str, text: str) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text}]
    return {"id": f"rs-{answer_id}", "type": "reasoning", "summary": summary}


def _call(call: ToolCall, answer_id: str, index: int) -> dict[str, Any]:
    return {
        "id": f"fc-{answer_id}-{index}",
        "type": "function_call",
        "status": "completed",
        "call_id": call.call_id or f"call-{answer_id}-{index}",
        "name": call.name,
        "arguments": json.dumps(dict(call.arguments)),
    }


def _usage(figures: Figures) -> dict[str, Any]:
    return {
        "input_tokens": figures.prompt,
        "input_tokens_details": {"cached_tokens": figures.cached},
        "output_tokens": figures.completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": figures.prompt + figures.completion,
    }
