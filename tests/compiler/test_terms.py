"""Search terms: every script, and the same for every spelling of the same text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.terms import MAX_TERM_CHARS, fold, terms_of


def terms(text: str) -> tuple[str, ...]:
    return terms_of(text, limit_chars=2_000)


@given(st.text(max_size=60))
def test_composed_and_decomposed_are_equal(text: str) -> None:
    """NFC and NFD spellings of one text have the same terms."""
    assert terms(unicodedata.normalize("NFC", text)) == terms(unicodedata.normalize("NFD", text))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("День рождения Бо", "рождения"),
        ("İSTANBUL", "istanbul"),
        ("Straße", "strasse"),
        ("Ｄｏｃｋｅｒ", "docker"),
        ("CAFÉ", "café"),
        ("हिन्दी में", "हिन्दी"),
        ("生日是星期五", "生日"),
        ("誕生日パーティー", "誕生"),
        ("생일 축하", "생일"),
        ("re-use", "use"),
    ],
)
def test_words_are_found_in_every_script(text: str, word: str) -> None:
    """Russian, Turkish, German, full-width, accented, Hindi, Chinese, Japanese, Korean."""
    assert word in terms(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("猫", ("猫",)),
        ("猫犬", ("猫", "犬", "猫犬")),
        ("é猫犬é", ("é", "猫", "犬", "猫犬", "é")),
        ("猫犬é", ("猫", "犬", "猫犬", "é")),
        ("tea 猫 tea", ("tea", "猫", "tea")),
    ],
)
def test_a_script_without_spaces_gives_characters_and_pairs(
    text: str, found: tuple[str, ...]
) -> None:
    """What stands around such a run is a term of its own, and nothing is empty."""
    assert terms(text) == found


@pytest.mark.parametrize("text", ["", " \n", "!?—", "\u200b", "\ud800", "\x00", "\u0301"])
def test_texts_without_words_have_no_terms(text: str) -> None:
    """Blanks, punctuation, lone surrogates and stray marks index nothing and never crash."""
    assert terms(text) == ()


def test_terms_are_bounded() -> None:
    """A megabyte of one letter is one short term; only the asked beginning is read."""
    assert MAX_TERM_CHARS == 40
    assert terms("a" * 1_000_000) == ("a" * MAX_TERM_CHARS,)
    long = "é" * (MAX_TERM_CHARS + 1)
    assert terms(f"{long}猫{long}") == (long[1:], "猫", long[1:])
    assert terms_of("one two three", limit_chars=7) == ("one", "two")


@given(st.text(max_size=40))
def test_folding_is_stable(text: str) -> None:
    """A folded text folds to itself, so stored and fresh terms meet."""
    assert fold(fold(text)) == fold(text)
