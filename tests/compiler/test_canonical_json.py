"""RFC 8785 for hashes (TR "Content identity")."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.canonical_json import CanonicalJsonError, canonical_bytes, parse_strict

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner)
    ),
    max_leaves=12,
)


@given(values)
def test_bytes_parse_back_and_are_a_fixed_point(value: object) -> None:
    """Canonical bytes hold the value and canonicalize to themselves."""
    octets = canonical_bytes(value)  # type: ignore[arg-type]  # recursive strategies are untyped
    again = parse_strict(octets.decode("utf-8"))
    assert again == value
    assert canonical_bytes(again) == octets


def test_keys_sort_by_utf16() -> None:
    """RFC 8785 3.2.3: code units, not code points."""
    assert canonical_bytes({"\ufb33": 1, "\U0001f600": 2}) == (
        '{"\U0001f600":2,"\ufb33":1}'.encode()
    )


def test_strings_are_not_normalized() -> None:
    """TR: payloads are never rewritten during canonicalization."""
    assert canonical_bytes("e\u0301") != canonical_bytes("\u00e9")


@pytest.mark.parametrize("value", [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {1: 2}])
def test_values_without_a_canonical_form_are_refused(value: object) -> None:
    """Unsafe integers, non-finite numbers, lone surrogates, foreign keys."""
    with pytest.raises(CanonicalJsonError):
        canonical_bytes(value)  # type: ignore[arg-type]  # what a careless caller may pass


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', "NaN", "[-Infinity]", "[1e999]", "{", "[" * 100_000, '{"a":{"b":1,"b":1}}'],
)
def test_foreign_json_is_read_strictly(text: str) -> None:
    """Duplicate keys and non-finite numbers never reach a hash; no payload in the message."""
    with pytest.raises(CanonicalJsonError) as caught:
        parse_strict(text)
    assert text[:5] not in str(caught.value)


def test_plain_json_is_read() -> None:
    """The strict reader reads what is fine."""
    assert parse_strict(json.dumps({"a": [1, None, "x"]})) == {"a": [1, None, "x"]}
