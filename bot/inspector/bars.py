"""Parts of a whole as widths in percent; pure.

What is there is seen: a part that is not nothing keeps a least width, at the expense of the wide
ones. So a bar's order and what is in it are exact, its figures stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST_PERCENT: Final = 0.6
"""About two pixels of a phone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a bar. ``kind`` chooses its colour and pattern."""

    kind: str
    label: str
    value: int
    at_percent: float
    percent: float


def stack(
    parts: Sequence[tuple[str, str, int]], whole: int, *, least: float = LEAST_PERCENT
) -> tuple[Part, ...]:
    """Lay parts (kind, label, value) out one after the other; empty ones are left out."""
    given = [(kind, label, value) for kind, label, value in parts if value > 0]
    total = max(whole, sum(value for _, _, value in given), 1)
    widths = _widths([100 * value / total for _, _, value in given], least)
    laid: list[Part] = []
    at_percent = 0.0
    for (kind, label, value), width in zip(given, widths, strict=True):
        laid.append(
            Part(
                kind=kind,
                label=label,
                value=value,
                at_percent=round(at_percent, 3),
                percent=round(width, 3),
            )
        )
        at_percent += width
    return tuple(laid)


def _widths(shares: list[float], least: float) -> list[float]:
    """Widen the narrow ones, and take it from what is wider than the least where need be."""
    widths = [max(share, least) for share in shares]
    over = max(0.0, sum(widths) - 100.0)
    spare = sum(width - least for width in widths)
    factor = max(0.0, 1 - over / spare) if spare > 0 else 1.0
    return [least + (width - least) * factor for width in widths]
