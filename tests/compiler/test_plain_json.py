"""The fast bytes are RFC 8785's bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.canonical_json import canonical_bytes
from compiler.plain_json import PlainValue, plain_bytes, writable

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
KEY = st.text(st.characters(max_codepoint=126), max_size=6)
LEAF = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT
VALUE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEY, inner, max_size=4)
)


@given(VALUE)
def test_the_bytes_are_those_of_rfc_8785(value: PlainValue) -> None:
    """TR: the plan hash covers a JCS-canonical object."""
    assert plain_bytes(value) == canonical_bytes(value)


def test_half_a_surrogate_pair_has_no_bytes() -> None:
    with pytest.raises(UnicodeEncodeError):
        plain_bytes({"a": "\ud83d"})


@given(st.text())
def test_every_label_can_be_made_writable(text: str) -> None:
    assert json.loads(plain_bytes(writable(text))) == writable(text)
    assert writable(writable(text)) == writable(text)
