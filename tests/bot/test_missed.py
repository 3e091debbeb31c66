"""Ids as moments; how channels are caught up is proven end to end (``e2e/test_loss.py``)."""

from __future__ import annotations

import discord
from hypothesis import given
from hypothesis import strategies as st

from bot.missed import snowflake_at


@given(st.integers(min_value=1_420_070_400, max_value=4_000_000_000))
def test_a_moment_is_the_least_id_of_it(seconds: int) -> None:
    """Discord's ids hold milliseconds since 2015 above 22 bits."""
    number = snowflake_at(float(seconds))
    assert discord.utils.snowflake_time(number).timestamp() == seconds
    assert discord.utils.snowflake_time(max(0, number - 1)).timestamp() <= seconds


def test_before_discord_there_is_nothing() -> None:
    """No negative ids."""
    assert snowflake_at(0.0) == 0
