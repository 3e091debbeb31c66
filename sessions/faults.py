"""Name a fault of our own in a log without a word of what was being worked on.

A traceback can show the values at hand, and an error's own message can quote its input; both may
be somebody's private text. The type of the error and the places it came through are enough to
find it.
"""

from __future__ import annotations

import traceback
from pathlib import PurePath

FRAMES = 8


def fault_facts(error: BaseException) -> dict[str, str]:
    """Give the keys of a log line for an unexpected error: its type, and where it arose."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    places = [f"{PurePath(each.filename).name}:{each.lineno}:{each.name}" for each in frames]
    return {"error": type(error).__name__, "at": " > ".join(places)}
