"""Texts that say the same: exactly, spelling aside, or nearly. Sets of terms, no understanding.

Spec: TR "Compilation algorithm" (exact and semantic deduplication).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from compiler.relevance import FULL_BP

NEAR_DUPLICATE_BP: Final = 9_000
"""Two texts that share nine tenths of their terms (Jaccard) say nearly the same."""


class Said(NamedTuple):
    """What a text says: its terms, and itself folded (``terms``)."""

    terms: frozenset[str]
    folded: str


def twin_of(text: Said, others: Iterable[Said]) -> int | None:
    """Give the place of the first that says the same: the same folded text, or nearly its terms."""
    terms, folded = text
    # Sets whose sizes differ by more than a tenth cannot share nine tenths.
    fewest = len(terms) * NEAR_DUPLICATE_BP // FULL_BP
    most = len(terms) * FULL_BP // NEAR_DUPLICATE_BP + 1
    # Whoever shares nine tenths has one of any few that are more than a tenth.
    few = tuple(islice(terms, len(terms) * (FULL_BP - NEAR_DUPLICATE_BP) // FULL_BP + 1))
    for place, other in enumerate(others):
        if other.folded == folded:
            return place
        size = len(other.terms)
        if terms and fewest <= size <= most and not other.terms.isdisjoint(few):
            common = len(terms & other.terms)
            union = len(terms) + size - common
            if FULL_BP * common >= NEAR_DUPLICATE_BP * union:
                return place
    return None
