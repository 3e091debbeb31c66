"""A provider's figures, read from a stream while it passes; the stream is not touched.

Figures stand in the last events, Anthropic's for the input in the first one, so a beginning and an
end of bounded size are kept. Inside a JSON text every quotation mark of content is escaped, so the
bytes ``"usage":{`` are always a key.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

HEAD_BYTES: Final = 8 * 1024
TAIL_BYTES: Final = 64 * 1024
"""The last event of OpenAI's Responses repeats the answer; its figures come after that."""
BYTES_PER_TOKEN: Final = 4
"""For an estimate where a provider reports nothing, or the stream ended early."""
_KEY: Final = '"usage"'
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class WireUsage:
    """Tokens of one request. ``input_tokens`` is the whole prompt, cached or not."""

    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    is_estimate: bool = False

    @property
    def total_tokens(self) -> int:
        """What counts against a limit."""
        return self.input_tokens + self.output_tokens


class StreamEnds:
    """Keeps both ends of a stream."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next piece."""
        self.size_bytes += len(chunk)
        if len(self._head) < HEAD_BYTES:
            self._head += chunk[: HEAD_BYTES - len(self._head)]
        self._tail += chunk[-TAIL_BYTES:]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    def usage(self) -> WireUsage | None:
        """Read the figures; None if there are none."""
        head = self._head.decode("utf-8", "replace")
        tail = self._tail[-TAIL_BYTES:].decode("utf-8", "replace")
        found: dict[str, Any] = {}
        for text in (head, tail):
            for figures in _all_figures(text):
                found |= {name: value for name, value in figures.items() if value is not None}
        return read_usage(found)


def _all_figures(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    at = text.find(_KEY)
    while at >= 0:
        at += len(_KEY)
        figures = _figures_at(text, at)
        if figures is not None:
            found.append(figures)
        at = text.find(_KEY, at)
    return found


def _figures_at(text: str, at: int) -> dict[str, Any] | None:
    colon = text[at : at + 8].lstrip()
    if not colon.startswith(":"):
        return None
    start = text.find("{", at, at + 8)
    if start < 0:
        return None  # null, until the last event
    try:
        figures, _ = _DECODER.raw_decode(text, start)
    except ValueError:
        return None  # cut off by the end of what was kept
    return figures if isinstance(figures, dict) else None


def read_usage(figures: dict[str, Any]) -> WireUsage | None:
    """Read figures of any of the three forms."""
    if "prompt_tokens" in figures:
        details = figures.get("prompt_tokens_details")
        cached = _part(details, "cached_tokens") or _number(figures, "prompt_cache_hit_tokens")
        return WireUsage(
            input_tokens=_number(figures, "prompt_tokens"),
            cached_tokens=cached,
            cache_write_tokens=_part(details, "cache_write_tokens"),
            output_tokens=_number(figures, "completion_tokens"),
        )
    if "input_tokens" not in figures:
        return None
    fresh, output = _number(figures, "input_tokens"), _number(figures, "output_tokens")
    if "cache_read_input_tokens" in figures or "cache_creation_input_tokens" in figures:
        # Anthropic's input is what was neither read from the cache nor written to it.
        cached = _number(figures, "cache_read_input_tokens")
        written = _number(figures, "cache_creation_input_tokens")
        return WireUsage(
            input_tokens=fresh + cached + written,
            cached_tokens=cached,
            cache_write_tokens=written,
            output_tokens=output,
        )
    return WireUsage(
        input_tokens=fresh,
        cached_tokens=_part(figures.get("input_tokens_details"), "cached_tokens"),
        cache_write_tokens=0,
        output_tokens=output,
    )


def estimated(*, request_bytes: int, response_bytes: int) -> WireUsage:
    """Estimate what nobody reported, so that no limit is passed by unseen."""
    return WireUsage(
        input_tokens=request_bytes // BYTES_PER_TOKEN,
        cached_tokens=0,
        cache_write_tokens=0,
        output_tokens=response_bytes // BYTES_PER_TOKEN,
        is_estimate=True,
    )


def _part(details: object, name: str) -> int:
    return _number(details, name) if isinstance(details, dict) else 0


def _number(figures: dict[str, Any], name: str) -> int:
    value = figures.get(name)
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0
