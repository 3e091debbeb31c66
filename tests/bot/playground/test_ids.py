"""Snowflakes: time, order, and the default world's ids."""

from __future__ import annotations

import datetime as dt

import discord
from hypothesis import given
from hypothesis import strategies as st

from bot.playground.ids import HARBOUR, ORCHARD, SnowflakeMaker, snowflake_seconds


@given(st.lists(st.floats(min_value=1.5e9, max_value=2e9), min_size=1, max_size=30))
def test_ids_always_grow_whatever_the_clock_does(times: list[float]) -> None:
    """P25: also when the clock stands still or goes back."""
    left = iter(times)
    make = SnowflakeMaker(lambda: next(left))
    made = [make() for _ in times]
    assert made == sorted(set(made))


def test_an_id_holds_its_time() -> None:
    """discord.py reads the same time from an id as went into it."""
    made = SnowflakeMaker(lambda: 1_700_000_000.5)()
    assert snowflake_seconds(made) == 1_700_000_000.5
    expected = dt.datetime.fromtimestamp(1_700_000_000.5, dt.UTC)
    assert discord.utils.snowflake_time(made) == expected


def test_the_two_guilds_are_on_different_shards_of_two() -> None:
    """So that sharding can be tried with the default world."""
    assert (ORCHARD >> 22) % 2 != (HARBOUR >> 22) % 2
