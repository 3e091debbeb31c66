"""An estimate says that it is one, and is too high rather than too low."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.tokens import Counting
from sessions.tokens.estimate import EstimateTokenizer, estimate_tokens
from sessions.tokens.tiktoken import TiktokenTokenizer

PROSE = (
    "The harvest supper of the Orchard is on Friday, and everybody brings something to it. " * 20,
    "Урожайный ужин сада в пятницу, и каждый что-нибудь приносит. " * 20,
    "果园的丰收晚餐在星期五举行，每个人都带点东西来。" * 20,
)


def test_it_declares_itself() -> None:
    tokens = EstimateTokenizer().tokenize("hello")
    assert (tokens.count, tokens.ids) == (2, None)
    assert EstimateTokenizer.identity.counting is Counting.ESTIMATE


@pytest.mark.parametrize("text", PROSE)
def test_prose_in_any_script_has_fewer_tokens_than_estimated(text: str, tmp_path: Path) -> None:
    exact = TiktokenTokenizer.load("o200k_base", tmp_path).tokenize(text).count
    assert exact <= estimate_tokens(text) <= 4 * exact


@given(st.text())
def test_every_text_has_an_estimate(text: str) -> None:
    assert estimate_tokens(text) >= bool(text)
