"""What is kept, how much and how long: ``[memory]``, ``[retention]``, ``[catch_up]``. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from config.findings import Finding
from config.rules import bounds
from sessions.limits import CatchUpSettings, MemorySettings
from sessions.retention import RetentionSettings

SEMANTIC: Final = ("off", "local")
MAX_NOTE_CHARS: Final = 2_000
"""A note is one thing to remember, and has to fit into a message."""
MAX_CAUGHT_UP: Final = 1_000
MAX_DAYS: Final = 36_500
_DAY_SECONDS: Final = 86_400


def check_memory(memory: MemorySettings) -> Iterator[Finding]:
    """Find what nothing could be remembered with."""
    if memory.semantic not in SEMANTIC:
        yield Finding(
            paths=(("memory", "semantic"),),
            message='must be "off" or "local"',
            hint="The local model is brought by: python3 -m bot setup --semantic",
        )
    for key in ("note_max_chars", "max_active", "selected_notes", "changes_per_minute"):
        yield from bounds.at_least(("memory", key), getattr(memory, key), 1)
    if memory.note_max_chars > MAX_NOTE_CHARS:
        yield Finding(
            paths=(("memory", "note_max_chars"),), message=f"must be at most {MAX_NOTE_CHARS}"
        )
    for key in ("semantic_seconds", "tool_seconds"):
        yield from bounds.seconds(("memory", key), getattr(memory, key))


def check_catch_up(catch_up: CatchUpSettings) -> Iterator[Finding]:
    """Find what would read nothing again, or everything."""
    yield from bounds.seconds(("catch_up", "max_age_seconds"), catch_up.max_age_seconds)
    yield from bounds.between(("catch_up", "max_messages"), catch_up.max_messages, 1, MAX_CAUGHT_UP)


def check_retention(kept: RetentionSettings, *, catch_up: CatchUpSettings) -> Iterator[Finding]:
    """Find what would go before that which leads to it, or before it is read again."""
    for key in ("trace_days", "run_days", "history_days"):
        if not 0 <= getattr(kept, key) <= MAX_DAYS:
            message = f"must be 0 (for ever) or at most {MAX_DAYS} days"
            yield Finding(paths=(("retention", key),), message=message)
    for key in ("trace_mb", "home_mb", "free_mb"):
        if getattr(kept, key) < 0:
            yield Finding(paths=(("retention", key),), message="must be 0 (no limit) or more")
    for key in ("trace_days", "history_days"):
        # What was forgotten is found by its turn; a trace without its turns could not be read.
        if kept.run_days and not 0 < getattr(kept, key) <= kept.run_days:
            yield Finding(
                paths=(("retention", key), ("retention", "run_days")),
                message="must be set, and not be longer than run_days",
            )
    if 0 < kept.history_days * _DAY_SECONDS < catch_up.max_age_seconds:
        yield Finding(
            paths=(("retention", "history_days"), ("catch_up", "max_age_seconds")),
            message="must not be shorter than what is read again after a time without connection",
        )
