"""The one word that is no message: "stop", alone and addressed to the imp; pure."""

from __future__ import annotations

import re
import unicodedata

from sessions.view import Interruption

_ALONE = re.compile(r"[^\w?]*stop(?:[^\w?]+stop)*[^\w?]*", re.IGNORECASE)
"""Signs around it change nothing, and neither does saying it twice; a question is one."""


def is_stop(text: str, *, me: int) -> bool:
    """Tell whether a text is the word "stop", beside at most our own mark."""
    words = re.sub(rf"<@!?{me}>", " ", text).replace("_", " ")
    seen = "".join(each for each in words if unicodedata.category(each) != "Cf")  # unseen marks
    return _ALONE.fullmatch(seen) is not None


def told_of(done: Interruption) -> str:
    """Say what a "stop" did, and what it left."""
    if not done.stopped and not done.dropped:
        rest = f" {_count(done.kept)} waiting." if done.kept else ""
        return f"Nothing of yours is running here.{rest}"
    words = ["Stopped."] if done.stopped else []
    if done.dropped:
        words.append(f"I dropped {_count(done.dropped, past=True)}waiting.")
    if done.kept:
        words.append(f"{_count(done.kept)} waiting still.")
    return " ".join(words)


def _count(number: int, *, past: bool = False) -> str:
    messages = "1 message" if number == 1 else f"{number} messages"
    if past:
        return f"{messages} that {'was' if number == 1 else 'were'} "
    return f"{messages} {'is' if number == 1 else 'are'}"
