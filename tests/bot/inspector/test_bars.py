"""Bars: what is there is seen, in its order, within its bounds."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.inspector.bars import LEAST_PERCENT, stack

SLACK = 0.01
"""Widths are rounded to a thousandth."""


@settings(max_examples=30)
@given(values=st.lists(st.integers(0, 10**9), max_size=40), more=st.integers(0, 10**9))
def test_parts_lie_one_after_the_other_and_within(values: list[int], more: int) -> None:
    given_parts = [(str(place), str(place), value) for place, value in enumerate(values)]
    parts = stack(given_parts, sum(values) + more)
    assert [part.value for part in parts] == [value for value in values if value]
    at = 0.0
    for part in parts:
        assert part.at_percent == pytest.approx(at, abs=SLACK)
        assert part.percent >= LEAST_PERCENT - SLACK
        at += part.percent
    assert at <= 100 + SLACK * max(1, len(parts))


@settings(max_examples=30)
@given(values=st.lists(st.integers(1, 10**6), min_size=2, max_size=10))
def test_more_is_never_drawn_as_less(values: list[int]) -> None:
    parts = stack([("k", "l", value) for value in sorted(values)], 0)
    widths = [part.percent for part in parts]
    assert all(a <= b + SLACK for a, b in itertools.pairwise(widths))


def test_wide_parts_have_their_share() -> None:
    half, other = stack([("a", "a", 50), ("b", "b", 50)], 100)
    assert (half.percent, other.at_percent) == (50, 50)
    (quarter,) = stack([("a", "a", 25), ("nothing", "b", 0)], 100)
    assert quarter.percent == 25
    assert stack([], 0) == ()
