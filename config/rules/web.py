"""What ``[web]`` must say so that pages can be read by it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from config.findings import Finding
from sessions.web.address import is_host_entry
from sessions.web.settings import WebSettings

MAX_BYTES: Final = 20_000_000
MAX_CHARS: Final = 200_000
MAX_REDIRECTS: Final = 10


def check_web(web: WebSettings, *, tool_seconds: float) -> Iterator[Finding]:
    """Find what is out of bounds; ``tool_seconds`` ends each call of a tool."""
    if not all(map(is_host_entry, web.hosts)):
        yield Finding(
            paths=(("web", "hosts"),),
            message="must be hosts such as example.org, *.example.org or example.org:8080",
        )
    for key, value, lowest, highest in (
        ("max_bytes", web.max_bytes, 1_000, MAX_BYTES),
        ("max_chars", web.max_chars, 1, MAX_CHARS),
        ("max_redirects", web.max_redirects, 0, MAX_REDIRECTS),
    ):
        if not lowest <= value <= highest:
            yield Finding(paths=(("web", key),), message=f"must be between {lowest} and {highest}")
    if not web.seconds > 0 or 0 < tool_seconds <= web.seconds:
        yield Finding(
            paths=(("web", "seconds"), ("memory", "tool_seconds")),
            message="must be more than 0 and less than [memory] tool_seconds, which ends each call",
        )
