"""Relevance in integers: the same inputs give the same order on every machine.

TR's weights are a policy with a version. Every part is a number of basis points from 0 to
10,000; instruction authority is not among them. BM25 runs over the eligible set only, so other
people's records cannot move a rank.

Spec: TR "Retrieval eligibility and scoring".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

RELEVANCE_POLICY: Final = "inglenook.relevance.v1"
FULL_BP: Final = 10_000
ANSWERING_BP: Final = 900
"""A note answers to a question that holds this share of the question's weight, or is as near to it
in meaning. Below it there are words that stand in most notes, and no more."""
_ASKED_TERMS: Final = 4
"""A long message does not ask about each of its words: it weighs as much as these, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """TR's weights in basis points; their sum is 10,000."""

    semantic: int = 4_000
    lexical: int = 1_500
    recency: int = 1_500
    source_quality: int = 1_000
    explicit_pin: int = 1_000
    record_status: int = 1_000


_FRACTION_BITS = 16
_K1_MILLI = 1_200
_B_MILLI = 750
_RRF_K = 60  # the constant of the published fusion runs; ranks this far down still count
_RRF_UNIT = 1_000_000
_HALF_LIFE_DAYS = 30  # a month-old note has half the recency of today's


def log2_fixed(value: int) -> int:
    """Give the binary logarithm of a positive integer, with 16 fractional bits.

    Squaring the mantissa once a bit needs no floating point, so no platform differs.
    """
    whole = value.bit_length() - 1
    mantissa = (value << 32) >> whole  # 1.0 <= m < 2.0, with 32 fractional bits
    fraction = 0
    for _ in range(_FRACTION_BITS):
        mantissa = (mantissa * mantissa) >> 32
        fraction <<= 1
        if mantissa >= 2 << 32:
            mantissa >>= 1
            fraction |= 1
    return (whole << _FRACTION_BITS) | fraction


def recency_bp(age_days: int) -> int:
    """Give how recent a record is; a clock set back makes nothing newer than new."""
    return FULL_BP * _HALF_LIFE_DAYS // (_HALF_LIFE_DAYS + max(0, age_days))


def bm25(
    query: Iterable[str],
    postings: Mapping[str, Sequence[tuple[int, int]]],
    lengths: Sequence[int],
    eligible: int,
) -> dict[int, int]:
    """Score the documents that share a term with the query.

    ``postings`` maps a term to pairs of document number and count, eligible documents only;
    ``lengths`` counts each document's terms; ``eligible`` is their number. The scores have no
    unit and compare only within one call.
    """
    scores: dict[int, int] = {}
    known = scores.get
    average = max(1, sum(lengths) * 1_000 // max(1, eligible))
    weights: dict[int, int] = {}  # few lengths and counts occur, so each pair is weighed once
    for term in sorted(set(query)):
        found = postings.get(term)
        if not found:
            continue
        idf = rarity(eligible, len(found))
        for document, count in found:
            pair = count << 32 | lengths[document]
            weight = weights.get(pair, -1)
            if weight < 0:
                weight = weights[pair] = _saturated(count, lengths[document], average)
            scores[document] = known(document, 0) + idf * weight
    return scores


def rarity(eligible: int, holders: int) -> int:
    """Weigh a term by how few of the eligible documents have it, with 16 fractional bits."""
    return log2_fixed(2 * eligible + 2) - log2_fixed(2 * holders + 1)


def answering_weight(weights: Iterable[int], heaviest: int) -> int:
    """Give the weight that a note must hold of a question to answer to it.

    ``weights`` are those of the question's terms, ``heaviest`` that of a term that nobody has.
    """
    whole = min(sum(weights), _ASKED_TERMS * heaviest)
    return max(1, ANSWERING_BP * whole // FULL_BP)


def _saturated(count: int, length: int, average: int) -> int:
    """Weigh a term's count in a document, in thousandths; ``average`` is in thousandths too."""
    norm = 1_000 - _B_MILLI + _B_MILLI * length * 1_000 // average
    return count * (_K1_MILLI + 1_000) * 1_000 // (count * 1_000 + _K1_MILLI * norm // 1_000)


def scale_bp(scores: Mapping[int, int]) -> dict[int, int]:
    """Scale scores so that the best has 10,000 basis points."""
    best = max(scores.values(), default=0)
    if best <= 0:
        return {}
    return {document: score * FULL_BP // best for document, score in scores.items()}


def fuse(rankings: Iterable[Sequence[int]]) -> dict[int, int]:
    """Fuse rankings by reciprocal rank; a document absent from one gains nothing from it."""
    fused: dict[int, int] = {}
    for ranking in rankings:
        for rank, document in enumerate(ranking, start=1):
            fused[document] = fused.get(document, 0) + _RRF_UNIT // (_RRF_K + rank)
    return fused


def overlap_bp(one: frozenset[str], two: frozenset[str]) -> int:
    """Give the share of common terms (Jaccard) in basis points."""
    if one.isdisjoint(two):
        return 0
    common = len(one & two)
    return FULL_BP * common // (len(one) + len(two) - common)


def diversify(
    pool: Sequence[int],
    relevance: Mapping[int, int],
    terms: Mapping[int, frozenset[str]],
    limit: int,
) -> list[int]:
    """Choose the first ``limit`` of a pool by maximal marginal relevance, in fixed point.

    The pool comes best first with ties already broken; equal marginal values keep its order.
    Relevance counts seven parts, novelty three.
    """
    best = max((relevance[document] for document in pool), default=0) or 1
    margin = {document: 7 * (relevance[document] * FULL_BP // best) for document in pool}
    nearest = dict.fromkeys(pool, 0)
    ordered: list[int] = []
    while margin and len(ordered) < limit:
        chosen = max(margin, key=margin.__getitem__)
        del margin[chosen]
        ordered.append(chosen)
        mine = terms[chosen]
        for document in margin:
            common = overlap_bp(mine, terms[document])
            if common > nearest[document]:
                margin[document] -= 3 * (common - nearest[document])
                nearest[document] = common
    return ordered
