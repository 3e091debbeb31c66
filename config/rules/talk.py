"""How conversations are led, and the files in them: ``[talk]``, ``[files]``. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from config.findings import Finding
from config.rules import bounds
from sessions.limits import FileSettings, TalkSettings

BUSY: Final = ("queue", "steer", "interrupt")
ORDER: Final = ("arrival", "fair")
ON_STOP: Final = ("drop", "keep")
TABLES: Final = ("file", "text")
MAX_DEBOUNCE_SECONDS: Final = 30.0
"""A person who waits longer for the beginning of an answer believes that nobody is there."""
MAX_FILES: Final = 10
"""Discord takes no more with one message."""
MAX_FILE_BYTES: Final = 10_000_000
MAX_IMAGE_BYTES: Final = 25_000_000
LEAST_SIDE, MOST_SIDE = 64, 2_000
"""pi itself makes pictures over 2000 pixels smaller, and then the model saw something else."""


def check_talk(talk: TalkSettings) -> Iterator[Finding]:
    """Find words that mean nothing, and numbers out of bounds."""
    for key, value, choices in (
        ("busy", talk.busy, BUSY),
        ("order", talk.order, ORDER),
        ("on_stop", talk.on_stop, ON_STOP),
        ("tables", talk.tables, TABLES),
    ):
        yield from bounds.one_of(("talk", key), value, choices)
    if not 0 <= talk.stop_button_seconds <= bounds.MAX_SECONDS:
        yield Finding(paths=(("talk", "stop_button_seconds"),), message="must not be negative")
    yield from bounds.between(
        ("talk", "debounce_seconds"), talk.debounce_seconds, 0, MAX_DEBOUNCE_SECONDS, "seconds"
    )
    for key, least in (("sender_waiting", 1), ("max_parts", 1)):
        yield from bounds.at_least(("talk", key), getattr(talk, key), least)
    yield from bounds.not_negative(("talk", "bot_turns"), talk.bot_turns)
    yield from bounds.seconds(("talk", "bot_window_seconds"), talk.bot_window_seconds)
    for key in ("reply_messages", "reply_files"):
        yield from bounds.between(("talk", key), getattr(talk, key), 0, MAX_FILES)
    if not 1 <= talk.reply_file_bytes <= MAX_FILE_BYTES:
        yield Finding(
            paths=(("talk", "reply_file_bytes"),),
            message=f"must be between 1 and {MAX_FILE_BYTES}, which is all that Discord takes",
        )


def check_files(files: FileSettings) -> Iterator[Finding]:
    """Find what no file could come through."""
    for key, least, most in (
        ("max_count", 0, MAX_FILES),
        ("max_bytes", 1, MAX_FILE_BYTES),
        ("max_image_bytes", 1, MAX_IMAGE_BYTES),
        ("max_image_side", LEAST_SIDE, MOST_SIDE),
    ):
        yield from bounds.between(("files", key), getattr(files, key), least, most)
    yield from bounds.at_least(("files", "max_chars"), files.max_chars, 1)
    yield from bounds.seconds(("files", "seconds"), files.seconds)
