"""The small forms of what is told of runs: numbers, hashes, times, and lines that fit. Pure.

60 columns are what a phone shows of a code block without turning its lines over.
"""

from __future__ import annotations

from typing import Final

WIDTH: Final = 60
_HASH_DIGITS: Final = 8


def grouped(number: int) -> str:
    """Set commas between thousands."""
    return f"{number:,}"


def short(sha256: str | None) -> str:
    """Name a hash by its beginning."""
    return sha256[:_HASH_DIGITS] if sha256 else "-"


def duration(micros: int) -> str:
    """Tell microseconds as milliseconds or seconds."""
    millis = micros / 1000
    return f"{millis:.1f} ms" if millis < 1000 else f"{millis / 1000:.1f} s"  # noqa: PLR2004


def moment(timestamp: str | None) -> str:
    """Tell ``2026-11-29T23:16:35.123Z`` as people read it."""
    return f"{timestamp[:19].replace('T', ' ')} UTC" if timestamp else "-"


def clock(timestamp: str) -> str:
    """Tell only the time of day of a timestamp."""
    return timestamp[11:19]


def bare_id(channel_id: str) -> str:
    """Give Discord's number of a channel."""
    return channel_id.removeprefix("discord:")


def nameless(channel_id: str) -> str:
    """Know no channel's name."""
    del channel_id
    return ""


def fit(text: str, width: int) -> str:
    """Cut a line where it would turn over, with a sign for what is missing."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
