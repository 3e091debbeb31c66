"""What was spent on the days at hand, in memory: by all bots of a process together.

Each bot keeps what it spent in a database of its own; the owner's limits are for all of them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, TypeAlias

HELD_DAYS: Final = 4
"""Yesterday, today, tomorrow, and one that a clock gone astray shows."""
Key: TypeAlias = tuple[str, str]
"""The kind of a holder and the holder, as in ``SpentRow``."""


@dataclass(slots=True)
class Sum:
    """Tokens, and money in millionths of a US dollar."""

    tokens: int = 0
    micro_usd: int = 0


class DaySums:
    """The sums of each day that the clock has shown lately: it may go back to one."""

    def __init__(self) -> None:
        self._days: OrderedDict[str, dict[Key, Sum]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._days)

    def of(self, day: str, key: Key) -> Sum:
        """Give what a holder spent on a day."""
        return self._page(day).get(key) or Sum()

    def add(self, day: str, key: Key, *, tokens: int, micro_usd: int) -> None:
        """Count what a holder spent on a day."""
        spent = self._page(day).setdefault(key, Sum())
        spent.tokens += tokens
        spent.micro_usd += micro_usd

    def _page(self, day: str) -> dict[Key, Sum]:
        sums = self._days.setdefault(day, {})
        self._days.move_to_end(day)
        while len(self._days) > HELD_DAYS:
            self._days.popitem(last=False)
        return sums
