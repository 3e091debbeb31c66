"""What a thread is called; how it is opened is proven end to end (P14)."""

from __future__ import annotations

import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.auto_threads import TITLE_CHARS, title_of
from compiler.request import MessageInput, Role


def asked(text: str, *mentions: tuple[str, str]) -> MessageInput:
    return MessageInput(
        provider="discord", author_label="Bo", role=Role.MEMBER, text=text, mentions=mentions
    )


def test_a_title_names_people_and_addresses_nobody() -> None:
    """Names for marks, the own mark left out, no Markdown, one line, no ping (P09)."""
    message = asked(
        "<@9> ask <@5>\nabout **tea** @everyone",
        ("<@9>", "Ember (you)"),
        ("<@5>", "Bo (user 5)"),
    )
    assert title_of(message) == "ask Bo about tea @\u200beveryone"


def test_what_says_nothing_is_named_for_its_author() -> None:
    """A picture alone, or the imp's mark alone."""
    assert title_of(asked("")) == "A talk with Bo"
    assert title_of(asked("<@9>", ("<@9>", "Ember (you)"))) == "A talk with Bo"


def test_a_long_question_is_cut_at_a_word() -> None:
    """Discord shows a beginning anyway; ours ends where a word does."""
    title = title_of(asked("warm words " * 20))
    assert title.endswith(("warm…", "words…"))
    assert len(title) <= TITLE_CHARS


@given(st.text(max_size=200))
@settings(max_examples=80, deadline=None)
def test_any_text_makes_a_name_that_discord_takes(text: str) -> None:
    """Never empty, never too long, one line, no half character."""
    title = title_of(asked(text))
    assert 1 <= len(title.strip()) <= TITLE_CHARS
    assert "\n" not in title
    title.encode()
    assert regex.fullmatch(r"\X+", title)
