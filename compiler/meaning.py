"""How near two texts are in meaning, in integers, whatever model says so.

A model of meaning gives vectors of floating-point numbers. They are rounded to integers at once, so
that products of them are exact and a selection is the same on every machine that rounds alike.
Vectors tell what was written: they are kept in memory only, and go with their note.

Spec: TR "Retrieval eligibility and scoring" (the semantic part, quantized before use).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from compiler.relevance import FULL_BP

UNIT: Final = 2_048
"""A component of 1.0. Products of unit vectors stay below 2**23, so even float32 adds them
exactly."""
_ONE: Final = UNIT * UNIT
_UNRELATED_BP: Final = 7_500
_SAME_BP: Final = 9_500
"""Cosines of this family of models (E5) lie close together: texts that have nothing in common come
to about 0.75, and one said in other words to 0.95."""


class Embedder(Protocol):
    """A local model of meaning. It blocks, and one thread at a time uses it."""

    @property
    def name(self) -> str:
        """Model and form, as a trace names the policy of a selection."""

    def query(self, text: str) -> bytes:
        """Give the quantized vector of a question."""

    def passage(self, text: str) -> bytes:
        """Give the quantized vector of a note."""

    def products(self, query: bytes, passages: Sequence[bytes]) -> list[int]:
        """Give the exact inner product of the question with each note."""


def quantize(vector: Iterable[float]) -> bytes:
    """Round a vector of length 1 to 16-bit integers of ``UNIT``; ties go to the even number."""
    most = 2**15 - 1
    return array("h", (max(-most, min(most, round(UNIT * part))) for part in vector)).tobytes()


def inner_product(one: bytes, two: bytes) -> int:
    """Multiply two quantized vectors; for a model that has no quicker way."""
    left, right = array("h", one), array("h", two)
    return sum(a * b for a, b in zip(left, right, strict=True))


def nearness_bp(product: int) -> int:
    """Turn an inner product into basis points of nearness, 0 where nothing is shared."""
    cosine_bp = product * FULL_BP // _ONE
    scaled = (cosine_bp - _UNRELATED_BP) * FULL_BP // (_SAME_BP - _UNRELATED_BP)
    return max(0, min(FULL_BP, scaled))
