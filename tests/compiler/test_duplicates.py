"""What says the same as something before it (TR "Compilation algorithm": deduplication)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.duplicates import NEAR_DUPLICATE_BP, Said, twin_of
from compiler.relevance import overlap_bp
from compiler.terms import fold, terms_of

WORDS = tuple(f"word{number}" for number in range(12))
TERMS = st.frozensets(st.sampled_from(WORDS), min_size=1)


def said(text: str) -> Said:
    return Said(frozenset(terms_of(text, limit_chars=500)), fold(text))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Bo likes tea", "BO LIKES TEA"),
        ("Zo\u00eb likes caf\u00e9s", "Zoe\u0308 likes cafe\u0301s"),
        ("\u0130stanbul", "istanbul"),
        ("\U0001f375", "\U0001f375"),
        (" ".join(WORDS[:10]), " ".join(WORDS[9::-1])),
        (" ".join(WORDS[:10]), " ".join(WORDS[:9])),
    ],
)
def test_the_same_in_other_letters_or_nearly_all_of_its_words_is_a_twin(one: str, two: str) -> None:
    assert twin_of(said(one), [said("else"), said(two)]) == 1
    assert twin_of(said(two), [said("else"), said(one)]) == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Bo likes tea", "Bo likes coffee"),
        (" ".join(WORDS[:10]), " ".join(WORDS[:8])),
        ("\U0001f375", "\u2615"),
        ("", "Bo"),
    ],
)
def test_anything_else_is_none(one: str, two: str) -> None:
    assert twin_of(said(one), [said(two)]) is None


@given(TERMS, st.lists(TERMS, max_size=6))
def test_the_quick_look_finds_what_the_whole_one_finds(
    terms: frozenset[str], others: list[frozenset[str]]
) -> None:
    """Sizes and a few of the terms are looked at first; the outcome is that of the overlap."""
    found = twin_of(Said(terms, "mine"), [Said(each, "other") for each in others])
    near = [i for i, each in enumerate(others) if overlap_bp(terms, each) >= NEAR_DUPLICATE_BP]
    assert found == (near[0] if near else None)
