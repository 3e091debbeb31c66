"""Whether the owner's rules over tools can all count. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bot.doctor.results import Check, ok, warn
from sessions.grants import Grant, overshadowed

_NAME: Final = "Rules over tools"


def judge_grants(grants: Sequence[Grant]) -> Check:
    """Tell how many there are, and which never count."""
    if not grants:
        return ok(_NAME, "none, so only the tools of the conversation itself are allowed")
    idle = overshadowed(grants)
    if not idle:
        return ok(_NAME, f"{len(grants)}, each of which can count")
    told = [
        f"rule {number + 1} never counts, as rule {first + 1} decides" for number, first in idle
    ]
    return warn(
        _NAME,
        "; ".join(told),
        "The first rule that fits decides: move it in [[grants]] of org.toml, or take it out.",
    )
