"""Items into a room: whole in order, over-long ones as their beginning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.fitting import MIN_KEPT_CHARS, Candidate, shorten, take_in_order


def candidate(text: str, name: str = "c") -> Candidate:
    """Give an item whose form is its text, shortened to a beginning with an ellipsis."""
    return Candidate(
        item_id=name,
        whole=text,
        text_chars=len(text),
        render_kept=lambda kept: f"{text[:kept]}…",
    )


def test_all_go_in_whole_while_there_is_room() -> None:
    """Each costs its characters and a comma to the one before."""
    taken = take_in_order([candidate("aaa"), candidate("bbb")], 7)
    assert (taken.items, taken.shortened) == (("aaa", "bbb"), ())
    assert take_in_order([candidate("aaa"), candidate("bbb")], 6).items == ("aaa",)


def test_nothing_goes_in_behind_the_first_that_is_left() -> None:
    """What stays has no holes."""
    taken = take_in_order([candidate("a" * 5), candidate("b" * 5), candidate("c")], 8)
    assert taken.items == ("a" * 5,)


def test_an_over_long_first_leaves_half_to_the_others() -> None:
    taken = take_in_order([candidate("a" * 99), candidate("bbb")], 20)
    assert taken.items == ("a" * 9 + "…", "bbb")
    assert taken.shortened == (0,)


def test_an_over_long_single_item_takes_all() -> None:
    assert take_in_order([candidate("a" * 99)], 20).items == ("a" * 19 + "…",)


def test_an_over_long_first_takes_more_than_half_where_half_holds_nothing() -> None:
    """TR tables, section 4: the newest never vanishes whole."""
    frame = Candidate(
        item_id="c", whole="x" * 99, text_chars=50, render_kept=lambda kept: "f" * 12 + "x" * kept
    )
    taken = take_in_order([frame, candidate("b")], 20)
    assert taken.items == ("f" * 12 + "x" * 8,)


def test_a_first_without_any_room_leaves_everything_out() -> None:
    assert take_in_order([candidate("aaa"), candidate("b")], 0).items == ()
    assert take_in_order([candidate("a")], -5).items == ()
    assert take_in_order([], 10).items == ()


@pytest.mark.parametrize("spare", [0, 1])
def test_a_lesser_over_long_item_needs_a_beginning_worth_reading(spare: int) -> None:
    capacity = 2 * (MIN_KEPT_CHARS + 2)
    first = candidate("a" * (capacity - MIN_KEPT_CHARS - 2 + spare), "a")
    taken = take_in_order([first, candidate("b" * 500), candidate("c")], capacity)
    expected = () if spare else (1,)
    assert taken.shortened == expected


@given(st.text(max_size=60), st.integers(-5, 80), st.integers(0, 20))
def test_the_longest_beginning_within_the_limit(text: str, limit: int, least: int) -> None:
    short = shorten(candidate(text), limit, least)
    possible = [f"{text[:kept]}…" for kept in range(least, len(text)) if kept < limit]
    assert short == (possible[-1] if possible else None)


@given(st.lists(st.text(min_size=1, max_size=90), max_size=8), st.integers(-3, 200))
def test_what_is_taken_never_exceeds_the_capacity(texts: list[str], capacity: int) -> None:
    taken = take_in_order([candidate(text) for text in texts], capacity)
    assert len(",".join(taken.items)) <= max(capacity, 0)
    for index, item in enumerate(taken.items):
        assert (item == texts[index]) is (index not in taken.shortened)
