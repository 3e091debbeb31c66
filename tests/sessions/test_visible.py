"""``sessions.visible``: what a reader sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.visible import is_seen, is_visible


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\u200b\u2060\ufeff\u00ad",
        "\u2800\u3164\u115f\u1160\uffa0",
        "\ufe0f",
        "\ud800",
        "\U000e0141",
    ],
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


@pytest.mark.parametrize(
    "sign", ["a", " ", "\n", "\t", "\u00a0", "\u3000", "é", "猫", "👍", "\u0301"]
)
def test_a_sign_or_its_gap_is_seen(sign: str) -> None:
    """Letters, marks on them, pictures, blanks."""
    assert is_seen(sign)


@pytest.mark.parametrize(
    "sign",
    [
        *("\x00", "\x1b", "\x7f", "\x85", "\u2028", "\ud800", "\ue000"),
        *("\u00ad", "\u200b", "\u202e", "\u2066", "\ufeff"),
        *(
            "\u034f",
            "\u115f",
            "\u3164",
            "\ufe00",
            "\ufe0f",
            "\U000e0041",
            "\U000e0100",
            "\U000e01ef",
        ),
    ],
)
def test_what_carries_words_that_nobody_reads_is_not(sign: str) -> None:
    """Issue "Gateway": what was approved is what was seen. Selectors and fillers are letters and
    marks to Python, and nothing to the eye."""
    assert not is_seen(sign)
