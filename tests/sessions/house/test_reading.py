"""The host's part ahead of the grammar (issue "In the conversation", "Bad input")."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.directives.grammar import Keyword, parse
from sessions.house.reading import Doubt, Doubtful, Written, hides_something, read

MARKS = ("<@5>", "<@!5>")


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("use docker", "use docker"),
        ("  use docker \n", "use docker"),
        ("<@5> use docker", "use docker"),
        ("<@!5>\n use docker", "use docker"),
        ("use  docker", "use  docker"),
        ("set premise", "set premise"),
    ],
)
def test_the_leading_mention_and_outer_blanks_come_off(text: str, own: str) -> None:
    """Station 6: only those; the core gets the rest as it is (DG D4, D6)."""
    assert read(text, marks=MARKS) == Written(text=own)


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "",
        "please use docker",
        "<@6> use docker",
        "<@5> <@5> use docker",
        "<@5>, use docker",
        "Use docker",
        "use\u00a0docker",
        '"use docker"',
        "> use docker",
        ">>> use docker",
        "```\nuse docker\n```",
        "`use docker`",
        "clear premise now",
        "hello \u200b there",
        "a flag \U0001f3f4\U000e0067\U000e007f and \ud800",
    ],
)
def test_all_else_is_ordinary(text: str) -> None:
    """DG 7, D3 to D5; a text that begins with a quote or a code block is no directive."""
    assert read(text, marks=MARKS) is None


@pytest.mark.parametrize(
    "text",
    [
        "pro\u200bhibit docker",
        "\u200b<@5> use docker",
        "<@5>\u2060use docker",
        "\ufeffuse docker",
        "use doc\u200bker",
        "use docker\u202e",
        "use doc\xadker",
        "use\u200bdocker",
        "use \x00",
        "set premise \ud83d",
        "use e\u200de",
        "use \u3164",
        "clear\u2063 state",
        "use docker\U000e0041",
    ],
)
def test_a_hidden_character_in_a_directive_is_asked_back(text: str) -> None:
    """Issue "Bad input": answered with a question, never silently ignored or applied."""
    assert read(text, marks=MARKS) == Doubtful(doubt=Doubt.HIDDEN)


@pytest.mark.parametrize(
    "item",
    ["👩\u200d💻", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "می\u200cخواهم", "क्\u200dष", "☕\ufe0f"],
)
def test_joiners_of_a_script_or_an_emoji_hide_nothing(item: str) -> None:
    assert read(f"use {item}") == Written(text=f"use {item}")


@pytest.mark.parametrize(
    "text",
    ["use docker\n> prohibit nuts", "use docker\n>>> all", "set premise see ```x```", "use ```a"],
)
def test_quotes_and_code_in_a_directive_are_asked_back(text: str) -> None:
    """Issue "In the conversation": text inside quotes and code blocks never counts."""
    assert read(text) == Doubtful(doubt=Doubt.ENCLOSED)


@given(st.text(), st.sampled_from(list(Keyword)), st.text(max_size=3))
def test_reading_never_fails_and_applies_only_what_it_shows(
    text: str, keyword: Keyword, gap: str
) -> None:
    """Whatever is handed to the core is a directive there, and holds nothing hidden."""
    for each in (text, f"{keyword}{gap}{text}"):
        found = read(each, marks=MARKS)
        if isinstance(found, Written):
            assert parse(found.text) is not None
            assert not hides_something(found.text)
            assert found.text in each


@pytest.mark.parametrize("mark", ["\u0301", "\u200b", "\u202e", "\ud800", "use "])
def test_long_hostile_texts_are_read_in_time(mark: str) -> None:
    """Issue "Bad input": 10,000 combining marks and their like; the bound is the test's own."""
    for head in ("use ", ""):
        read(head + mark * 50_000)
