"""The three forms in which a model is asked: where to, what is cached, how an answer streams.

``openai-completions``   ``/v1/chat/completions``   in ``completions``
``openai-responses``     ``/v1/responses``          in ``responses``
``anthropic-messages``   ``/v1/messages``           in ``anthropic``
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.playground.dialects import anthropic, completions, responses
from bot.playground.model_wire import ChatMessage, WireAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One form.

    ``head`` are the keys that a provider reads before the conversation, in cache order;
    ``conversation`` is the key of its entries.
    """

    name: str
    path: str
    head: tuple[str, ...]
    conversation: str
    read_messages: Callable[[Mapping[str, Any]], tuple[ChatMessage, ...]]
    stream: Callable[[WireAnswer], Iterator[bytes]]
    """Gives the events of one streamed answer; the first says only that it begins."""

    def render_prompt(self, body: Mapping[str, Any]) -> str:
        """Give the characters that a provider would cache, in cache order."""
        parts = [body.get(key) or [] for key in self.head]
        parts += _entries(body.get(self.conversation))
        return "\n".join(json.dumps(part, ensure_ascii=False) for part in parts)


def _entries(conversation: object) -> list[Any]:
    return conversation if isinstance(conversation, list) else [conversation or ""]


COMPLETIONS = Dialect(
    name="openai-completions",
    path="/v1/chat/completions",
    head=("tools",),
    conversation="messages",
    read_messages=completions.read_messages,
    stream=completions.stream_events,
)
RESPONSES = Dialect(
    name="openai-responses",
    path="/v1/responses",
    head=("tools", "instructions"),
    conversation="input",
    read_messages=responses.read_messages,
    stream=responses.stream_events,
)
ANTHROPIC = Dialect(
    name="anthropic-messages",
    path="/v1/messages",
    head=("tools", "system"),
    conversation="messages",
    read_messages=anthropic.read_messages,
    stream=anthropic.stream_events,
)
DIALECTS = (COMPLETIONS, RESPONSES, ANTHROPIC)
