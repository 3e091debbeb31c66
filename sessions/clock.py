"""Time and fresh ids, passed in so that tests can hold them still.

Order, idleness and deadlines use the monotonic clock only: a changed wall clock or a night of
daylight saving must end no session (P25). Wall time is for people and for file names.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from compiler.request import RunId

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
"""Base 32 without look-alikes of letters and digits: a run id is read aloud and typed."""
DAY_MS = 86_400_000
RANDOM_LENGTH = 2
"""Behind a millisecond, two make a shared id a chance in a thousand, and its maker sees it."""
_IN_ORDER = "".join(sorted(ALPHABET))


class Clock(Protocol):
    """What sessions know of time."""

    def monotonic_ns(self) -> int:
        """Nanoseconds that never go back; the same clock as ``InboundMessage.received_ns``."""

    def utc_now(self) -> datetime:
        """The wall clock, in UTC."""

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """Bound a block as ``asyncio.timeout`` does, by this clock's seconds."""


class SystemClock:
    """The real clock."""

    def monotonic_ns(self) -> int:
        """Nanoseconds of ``time.monotonic_ns``."""
        return time.monotonic_ns()

    def utc_now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """Delegate to ``asyncio.timeout``, whose loop time is monotonic."""
        return asyncio.timeout(seconds)


def elapsed_us(clock: Clock, since_ns: int) -> int:
    """Microseconds from a moment of the monotonic clock to now."""
    return max(0, clock.monotonic_ns() - since_ns) // 1_000


def unix_ms(clock: Clock) -> int:
    """Milliseconds of the wall clock since 1970."""
    return round(clock.utc_now().timestamp() * 1_000)


def timestamp(moment: datetime) -> str:
    """Write a UTC moment as ``2026-11-29T23:16:35.123Z``, the one form in tables and traces."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def parse_timestamp(text: str) -> datetime:
    """Read what ``timestamp`` wrote.

    Raises:
        ValueError: the text has another form.
    """
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def random_suffix() -> str:
    """Draw the random end of a run id."""
    return "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))


class RunIds:
    """Maker of run ids: ``2026-11-29-23-16-35-abcd``, UTC to the second, then four letters.

    The first two tell when in its second, to a millisecond, so that ids sort by time; the others
    are random.
    """

    def __init__(self, clock: Clock, suffix: Callable[[], str] = random_suffix) -> None:
        self._clock = clock
        self._suffix = suffix

    def fresh(self) -> RunId:
        """Make an id; the caller's exclusive ``mkdir`` is what proves that it is unused."""
        now, base = self._clock.utc_now(), len(_IN_ORDER)
        first, second = divmod(now.microsecond * base**2 // 1_000_000, base)
        within = _IN_ORDER[first] + _IN_ORDER[second]
        return RunId(f"{now:%Y-%m-%d-%H-%M-%S}-{within}{self._suffix()}")
