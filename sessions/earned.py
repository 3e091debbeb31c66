"""Trust that was earned: after enough approvals and no denial, the host approves by itself. Pure.

What counts are decisions of people on the same imp, the same tool and the same conversation,
within a window that ends now. One denial in it takes all earlier approvals away. What the host
approved by earned trust earns nothing.

Spec: issue "Gateway of actions" (channel trust); off by default.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One decision of a person; milliseconds since 1970, UTC."""

    decided_ms: int
    approved: bool


def is_earned(past: Iterable[Past], *, approvals: int, since_ms: int) -> bool:
    """Tell whether so many approvals came in the window, after its last denial.

    ``approvals`` below one switches it off.
    """
    if approvals < 1:
        return False
    within = [each for each in past if each.decided_ms >= since_ms]
    denied_ms = max((each.decided_ms for each in within if not each.approved), default=-1)
    return sum(each.approved and each.decided_ms > denied_ms for each in within) >= approvals
