"""What is asked of a model and what it answers, whichever form it was asked in; pure.

The forms are in ``dialects``, the server in ``scripted_model``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
