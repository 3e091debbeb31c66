"""Hashes cover exact bytes, and identities cannot be shifted into each other."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from compiler.hashing import prefix_hashes, sha256_fields, sha256_text

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(_TEXT)
def test_a_text_hash_covers_its_utf8_bytes_and_nothing_else(text: str) -> None:
    """CC "Determinism": hashes cover exact UTF-8 block content."""
    assert sha256_text(text) == hashlib.sha256(text.encode()).hexdigest()


def test_a_lone_surrogate_is_hashed_not_refused() -> None:
    expected = hashlib.sha256("\ud83d".encode("utf-8", "surrogatepass")).hexdigest()
    assert sha256_text("\ud83d") == expected


def test_fields_are_length_prefixed_and_domain_separated() -> None:
    octets = b"a-domain\x00" + (3).to_bytes(8, "big") + b"abc" + (0).to_bytes(8, "big")
    assert sha256_fields("a-domain", ("abc", "")) == hashlib.sha256(octets).hexdigest()


@given(st.lists(_TEXT), st.lists(_TEXT))
def test_different_lists_differ(one: list[str], other: list[str]) -> None:
    assert (sha256_fields("d", one) == sha256_fields("d", other)) == (one == other)


@given(_TEXT, st.data())
def test_prefix_hashes_cover_exactly_their_prefixes(text: str, data: st.DataObject) -> None:
    """CC "Prompt-cache contract": each boundary hash covers the exact UTF-8 prefix."""
    ends = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    assert prefix_hashes(text, ends) == tuple(sha256_text(text[:end]) for end in ends)
