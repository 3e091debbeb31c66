"""How the scripted model counts tokens, and what of a prompt it calls cached."""

from __future__ import annotations

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from bot.playground.model_wire import common_prefix_chars, count_tokens


@given(st.text("ab", max_size=40), st.lists(st.text("ab", max_size=40), max_size=6))
def test_the_common_prefix_is_the_longest_of_any(text: str, others: list[str]) -> None:
    def shared(other: str) -> int:
        pairs = zip(text, other, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    expected = max((shared(other) for other in others), default=0)
    assert common_prefix_chars(text, others) == expected


@given(st.text(max_size=200))
def test_tokens_round_up(text: str) -> None:
    assert (count_tokens(text) - 1) * 4 < max(len(text), 0) <= count_tokens(text) * 4 or not text
