"""What the owner may say about reading the web, validated by ``config`` into this class."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Which pages the imp may read, and how much of them (``org.toml [web]``)."""

    hosts: tuple[str, ...] = ()
    """``example.org``, ``*.example.org``, ``example.org:8080``. None: no tool for it."""
    max_bytes: int = 2_000_000
    """Of one page, unpacked; the rest of a longer one is not read."""
    max_chars: int = 12_000
    """Of its text that the model is given."""
    seconds: float = 8.0
    """Longest duration of one call, redirects included."""
    max_redirects: int = 4
