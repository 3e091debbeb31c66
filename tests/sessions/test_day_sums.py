"""Sums in memory of what was spent on each day."""

from __future__ import annotations

from sessions.day_sums import HELD_DAYS, DaySums, Sum

TOTAL = ("total", "")


def test_a_day_adds_up_for_each_holder_alone() -> None:
    sums = DaySums()
    for _ in range(2):
        sums.add("2026-11-30", TOTAL, tokens=3, micro_usd=5)
    assert sums.of("2026-11-30", TOTAL) == Sum(6, 10)
    assert sums.of("2026-11-30", ("user", "discord:7")) == Sum()
    assert sums.of("2026-12-01", TOTAL) == Sum()


def test_a_clock_that_goes_astray_and_comes_back_forgets_nothing() -> None:
    """P25: only the days that were looked at last are held, and today is one of them."""
    sums = DaySums()
    sums.add("2026-11-30", TOTAL, tokens=1, micro_usd=0)
    for day in ("2031-01-01", "2026-11-30", "1999-01-01", "2026-11-30", "2040-01-01"):
        assert sums.of(day, TOTAL).tokens == (day == "2026-11-30")
    assert len(sums) == HELD_DAYS
