"""Time and fresh ids."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.clock import (
    RunIds,
    SystemClock,
    elapsed_us,
    parse_timestamp,
    random_suffix,
    timestamp,
)
from support.session_world import ManualClock

MOMENT = datetime(2026, 11, 29, 23, 16, 35, 123_999, tzinfo=UTC)


def test_timestamps_have_one_form() -> None:
    """UTC, milliseconds, cut and not rounded, so that order is kept."""
    assert timestamp(MOMENT) == "2026-11-29T23:16:35.123Z"
    east = MOMENT.astimezone(timezone(timedelta(hours=3)))
    assert timestamp(east) == timestamp(MOMENT)


@given(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_timestamps_read_back_and_sort_as_time(moment: datetime) -> None:
    """Comparing the texts is comparing the moments."""
    text = timestamp(moment)
    assert timedelta() <= moment - parse_timestamp(text) < timedelta(milliseconds=1)
    later = timestamp(moment + timedelta(seconds=1)) if moment.year < 9999 else "9999-12-31T9"
    assert text < later


def test_another_form_is_refused() -> None:
    """A stored time that we did not write."""
    with pytest.raises(ValueError, match="does not match"):
        parse_timestamp("29.11.2026")


def test_run_ids_tell_their_second() -> None:
    """``2026-11-29-23-16-35-abcd``: UTC, two letters of its milliseconds, and a random end."""
    ids = RunIds(ManualClock(), suffix=lambda: "cd")
    assert re.fullmatch("2026-11-29-23-16-35-[a-z2-7]{2}cd", ids.fresh())


@given(st.lists(st.integers(0, 999), min_size=2, max_size=20, unique=True))
def test_run_ids_sort_by_time(moments: list[int]) -> None:
    """Issue "Owner slash commands": ``latest`` is the latest, also of two in one second."""
    clock, made = ManualClock(), []
    ids = RunIds(clock)
    began = clock.utc_now().replace(microsecond=0)
    for moment in moments:
        clock.wall = began + timedelta(milliseconds=moment)
        made.append(ids.fresh())
    assert sorted(made) == [made[moments.index(moment)] for moment in sorted(moments)]


def test_suffixes_are_short_and_plain() -> None:
    """They can be read aloud, and are part of no other word."""
    assert all(re.fullmatch("[a-z2-7]{2}", random_suffix()) for _ in range(100))


def test_elapsed_time_is_in_microseconds_and_never_negative() -> None:
    """A foreign clock's start in the future counts as now."""
    clock = ManualClock()
    since_ns = clock.monotonic_ns()
    clock.advance(0.002)
    assert elapsed_us(clock, since_ns) == 2000
    assert elapsed_us(clock, since_ns + 10**12) == 0


async def test_the_system_clock_bounds_a_block() -> None:
    """The real timeout is asyncio's."""
    clock = SystemClock()
    assert clock.utc_now().tzinfo is UTC
    assert clock.monotonic_ns() <= clock.monotonic_ns()
    with pytest.raises(TimeoutError):
        async with clock.timeout(0.001):
            await never()


async def never() -> None:
    """Wait for what does not come."""
    await asyncio.Event().wait()
