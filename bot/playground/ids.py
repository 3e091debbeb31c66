"""Snowflakes: how they are made, and the stable ids of the default world.

A snowflake holds the milliseconds since Discord's epoch above 22 bits of sequence, so ids sort by
time and ``discord.utils.snowflake_time`` reads a true date from every one made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DISCORD_EPOCH_MS = 1_420_070_400_000
"""2015-01-01T00:00:00Z, from which snowflakes count."""
SEQUENCE_BITS = 22

ADA = 100_000_000_000_000_001
"""The owner of the bot and of both guilds."""
BO = 100_000_000_000_000_002
CY = 100_000_000_000_000_003
DEE = 100_000_000_000_000_004
EMBER = 100_000_000_000_000_009
"""The bot; its application has the same id."""

ORCHARD = 200_000_000_000_000_000
"""A guild with Ada, Bo, Cy, Dee and the bot. On two shards it is on the other one than Harbour."""
HARBOUR = ORCHARD + (1 << SEQUENCE_BITS)
"""A guild with Ada, Bo and the bot."""

HEARTH = 300_000_000_000_000_001
"""#hearth in Orchard."""
WORKSHOP = 300_000_000_000_000_002
"""#workshop in Orchard."""
KINDLING = 300_000_000_000_000_003
"""A public thread named "kindling" in #hearth."""
PIER = 300_000_000_000_000_004
"""#pier in Harbour."""

HELPERS = 400_000_000_000_000_001
"""A role in Orchard that Cy has; anyone may mention it."""

DIRECT = {
    ADA: 500_000_000_000_000_001,
    BO: 500_000_000_000_000_002,
    CY: 500_000_000_000_000_003,
    DEE: 500_000_000_000_000_004,
}
"""The DM channel of each person with the bot."""


class SnowflakeMaker:
    """Make strictly growing snowflakes from a wall clock (seconds since 1970).

    When the clock stands still or goes back, the sequence goes on from the last id.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = 0

    def __call__(self) -> int:
        """Return the next id."""
        now_ms = int(self._clock() * 1000) - DISCORD_EPOCH_MS
        self._last = max(self._last + 1, now_ms << SEQUENCE_BITS)
        return self._last


def snowflake_seconds(snowflake: int) -> float:
    """Return the time of an id in seconds since 1970."""
    return ((snowflake >> SEQUENCE_BITS) + DISCORD_EPOCH_MS) / 1000
