"""Nearness in meaning, in integers."""

from __future__ import annotations

import math
import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from compiler.meaning import UNIT, inner_product, nearness_bp, quantize
from compiler.relevance import FULL_BP

DIMENSIONS = 384


def unit(seed: int) -> list[float]:
    chance = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    vector = [chance.gauss(0.0, 1.0) for _ in range(DIMENSIONS)]
    length = math.hypot(*vector)
    return [part / length for part in vector]


@given(st.integers(), st.integers())
def test_products_of_rounded_vectors_are_near_the_cosine(one: int, two: int) -> None:
    """Rounding moves a cosine by less than one part in a hundred, and no sum leaves float32."""
    a, b = unit(one), unit(two)
    product = inner_product(quantize(a), quantize(b))
    assert abs(product / UNIT**2 - sum(x * y for x, y in zip(a, b, strict=True))) < 0.01
    assert abs(product) < 2**24


def test_nearness_is_scaled_between_unrelated_and_same() -> None:
    """TR: each part of relevance is a number of basis points from 0 to 10,000."""
    cosines = (-1.0, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
    scores = [nearness_bp(round(cosine * UNIT**2)) for cosine in cosines]
    assert scores[:3] == [0, 0, 0]
    assert scores[-2:] == [FULL_BP, FULL_BP]
    assert abs(scores[4] - FULL_BP // 2) <= 5
    assert all(one <= two for one, two in pairwise(scores))


def test_a_wild_vector_is_clamped() -> None:
    """A model that breaks its promise of unit length cannot overflow anything."""
    assert quantize([1e9, -1e9]) == quantize([16.0, -16.0])
