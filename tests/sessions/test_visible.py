"""``sessions.visible``: what a reader sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.visible import is_visible


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\u200b\u2060\ufeff\u00ad", "\u2800\u3164\u115f\u1160\uffa0", "\ufe0f", "\ud800"],
)
def test_nobody_sees_blanks_controls_and_fillers(text: str) -> None:
    """P08: Discord refuses these with 50006."""
    assert not is_visible(text)


@pytest.mark.parametrize("text", ["\u200b.", "👍", "\U0001fae9", "\ue000"])
def test_everything_else_shows(text: str) -> None:
    """Also an emoji newer than this Python's table."""
    assert is_visible(text)


@given(st.text())
def test_visible_means_some_letter_mark_or_sign(text: str) -> None:
    """Joining texts shows something exactly if one of them does."""
    assert is_visible(text + "\u200b") is is_visible(text)
    assert is_visible(text + "a")
    assert not is_visible("".join(char for char in text if not is_visible(char)))
