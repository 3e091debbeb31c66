"""What a message leaves open, and how the next one goes on."""

from __future__ import annotations

import pytest

from bot.markup import Rule, choose_rule, find_table, open_after


@pytest.mark.parametrize(
    ("message", "opening", "closing"),
    [
        ("plain words", "", ""),
        ("```py\nx = 1", "```py\n", "\n```"),
        ("```py\nx = 1\n", "```py\n", "```"),
        ("```py\nx = 1\n```", "", ""),
        ("> a quoted wor", "> ", ""),
        ("> a quoted line\n", "", ""),
        ("> one\nand no quote", "", ""),
        ("> ```py\n> x = ", "> ```py\n> ", "\n> ```"),
        ("> ```py\n> x = 1\n", "> ```py\n", "> ```"),
        ("> ```py\n> x = 1\nno quote any more", "", ""),
        ("one\n>>> two\nthree", ">>> ", ""),
        (">>> ```js\nlet x", ">>> ```js\n", "\n```"),
        (">>> a\n> b", ">>> ", ""),
        ("```\n> no quote but code", "```\n", "\n```"),
    ],
)
def test_what_is_open_is_opened_again(message: str, opening: str, closing: str) -> None:
    """The next message's beginning and this one's end; a second reading changes nothing."""
    left = open_after(message, Rule.NESTED)
    assert (left.opening, left.closing_after(message)) == (opening, closing)
    assert open_after(left.opening, Rule.NESTED).opening == opening


def test_rows_of_backticks_pair_as_leaves_nothing_open() -> None:
    """P07: rows of three in pairs as Discord pairs them, wherever they stand; with others among
    them CommonMark's pairing, unless only Discord's is whole."""
    assert choose_rule("```a\n```\n") is Rule.TOGGLE
    assert choose_rule("> ```a\n> ```\n") is Rule.TOGGLE
    assert choose_rule("so: ```a\nb\n```\n") is Rule.ANYWHERE
    assert choose_rule("```a\nb``` so\n") is Rule.ANYWHERE
    assert choose_rule("- so\n    ```a\n    b\n    ```\n") is Rule.ANYWHERE
    assert choose_rule("```a\n> ```b\n> ```\nc\n```\n") is Rule.ANYWHERE
    assert choose_rule("````a\n```b\n```\n````") is Rule.NESTED
    assert choose_rule("```a\n````b\n") is Rule.TOGGLE
    assert choose_rule("```a\n") is Rule.NESTED


@pytest.mark.parametrize(
    ("message", "opening", "closing"),
    [
        ("so: ```py\nx", "```py\n", "\n```"),
        ("so: ```x = 1", "```\n", "\n```"),
        ("```py\nx``` so", "", ""),
        ("a ```b``` c ```d", "```\n", "\n```"),
        ("> so ```py\n> x", "> ```py\n> ", "\n> ```"),
        ("a\n>>> so ```py\nx", ">>> ```py\n", "\n```"),
        ("> a", "> ", ""),
    ],
)
def test_a_row_anywhere_opens_and_closes(message: str, opening: str, closing: str) -> None:
    """P07: Discord shows code from a row in the middle of a line on."""
    left = open_after(message, Rule.ANYWHERE)
    assert (left.opening, left.closing_after(message)) == (opening, closing)
    assert open_after(left.opening, Rule.ANYWHERE).opening == opening


def test_a_table_is_found_where_it_begins() -> None:
    """The first one outside of code."""
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    code = f"```\n{table}\n```\n"
    assert find_table(table) == 0
    assert find_table(f"{code}then\n\n{table}") == len(code) + len("then\n\n")
    assert find_table(code) is None
    assert find_table("a row | of words") is None
    assert find_table("one\n\na | b\r\n--- | ---\r\n") == len("one\n\n")


def test_an_endless_line_of_bars_is_no_table() -> None:
    """A model may write one; it is looked at no further than any row that somebody draws."""
    assert find_table("a | b\n" + "|-" * 50_000) is None
    assert find_table("a | b\n" + "|-" * 400) == 0
