"""Integer relevance (TR "Retrieval eligibility and scoring")."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from compiler.relevance import (
    ANSWERING_BP,
    FULL_BP,
    Weights,
    answering_weight,
    bm25,
    diversify,
    fuse,
    log2_fixed,
    overlap_bp,
    rarity,
    recency_bp,
    scale_bp,
)


def test_the_weights_are_trs() -> None:
    """0.40, 0.15, 0.15, 0.10, 0.10, 0.10, as exact basis points."""
    weights = Weights()
    assert (
        weights.semantic,
        weights.lexical,
        weights.recency,
        weights.source_quality,
        weights.explicit_pin,
        weights.record_status,
    ) == (4_000, 1_500, 1_500, 1_000, 1_000, 1_000)


@given(st.integers(1, 10**12))
def test_the_logarithm_is_exact_to_its_bits(value: int) -> None:
    """Within one unit of the last place of the true value."""
    assert abs(log2_fixed(value) - math.log2(value) * 65_536) < 2


@given(st.integers(0, 10_000))
def test_recency_falls_with_age(days: int) -> None:
    """Newer is never less recent; the future counts as now."""
    assert recency_bp(days) >= recency_bp(days + 1) >= 0
    assert recency_bp(-days) == FULL_BP


def test_a_rare_term_weighs_more() -> None:
    """The term that few documents have decides."""
    postings = {"the": [(0, 1), (1, 1), (2, 1)], "docker": [(1, 1)]}
    scores = bm25(["the", "docker"], postings, [3, 3, 3], 3)
    assert max(scores, key=scores.__getitem__) == 1
    assert scores[0] == scores[2]


def test_a_short_document_weighs_more() -> None:
    """The same count in fewer words says more."""
    scores = bm25(["tea"], {"tea": [(0, 1), (1, 1)]}, [2, 50], 2)
    assert scores[0] > scores[1] > 0


@given(st.dictionaries(st.integers(0, 50), st.integers(1, 10**9), max_size=20))
def test_scaling_keeps_the_order(scores: dict[int, int]) -> None:
    """The best has 10,000 and nobody overtakes."""
    scaled = scale_bp(scores)
    assert max(scaled.values(), default=FULL_BP) == FULL_BP
    for one, two in zip(scores, list(scores)[1:], strict=False):
        if scores[one] > scores[two]:
            assert scaled[one] >= scaled[two]


def test_fusion_rewards_agreement() -> None:
    """What two rankings like beats what one likes best."""
    fused = fuse([[1, 2, 3], [2, 4]])
    assert max(fused, key=fused.__getitem__) == 2
    assert set(fused) == {1, 2, 3, 4}


@given(st.frozensets(st.sampled_from("abcdef")), st.frozensets(st.sampled_from("abcdef")))
def test_overlap_is_symmetric_and_bounded(one: frozenset[str], two: frozenset[str]) -> None:
    """Jaccard in basis points."""
    assert overlap_bp(one, two) == overlap_bp(two, one) <= FULL_BP
    if one:
        assert overlap_bp(one, one) == FULL_BP


def test_diversity_puts_a_new_thing_before_a_repetition() -> None:
    """A slightly less relevant but different note comes before a near copy."""
    terms = {
        0: frozenset({"bo", "likes", "tea"}),
        1: frozenset({"bo", "likes", "tea", "much"}),
        2: frozenset({"cy", "ships", "friday"}),
    }
    assert diversify([0, 1, 2], {0: 100, 1: 99, 2: 90}, terms, 3) == [0, 2, 1]


@given(st.lists(st.integers(1, 100), min_size=1, max_size=8), st.integers(1, 10))
def test_diversity_chooses_each_once(values: list[int], limit: int) -> None:
    """A permutation of the pool's beginning, never more than asked."""
    pool = list(range(len(values)))
    terms = {number: frozenset({str(number)}) for number in pool}
    chosen = diversify(pool, dict(enumerate(values)), terms, limit)
    assert len(chosen) == len(set(chosen)) == min(limit, len(pool))


def test_the_fusion_has_its_published_constants() -> None:
    """TR "fusion by reciprocal rank": another constant would be another policy."""
    assert fuse([[7, 8], [8]]) == {
        7: 1_000_000 // 61,
        8: 1_000_000 // 62 + 1_000_000 // 61,
    }
    assert fuse([]) == {}


def test_no_score_is_no_share() -> None:
    assert scale_bp({1: 0, 2: 0}) == scale_bp({}) == {}
    assert scale_bp({1: 1, 2: 3}) == {1: 3_333, 2: 10_000}


def test_diversity_weighs_seven_to_three_against_the_nearest_chosen() -> None:
    """TR "maximal marginal relevance": the nearest of all chosen counts, not the last."""
    terms = {
        1: frozenset("abcdefgh"),
        2: frozenset("abcdefgh"),  # as the first
        3: frozenset("ijkl"),
        4: frozenset("mnop"),
    }

    def chosen(third: int, fourth: int) -> list[int]:
        relevance = {1: 1_000, 2: 1_000, 3: third, 4: fourth}
        return diversify([1, 2, 3, 4], relevance, terms, 4)

    assert chosen(572, 100) == [1, 3, 2, 4]
    assert chosen(571, 100) == [1, 2, 3, 4]
    assert chosen(700, 600) == [1, 3, 4, 2]


def test_a_term_weighs_the_more_the_fewer_have_it() -> None:
    """Down to almost nothing where all do, and never below."""
    weights = [rarity(100, holders) for holders in range(101)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == max(weights)
    assert 0 < weights[100] < weights[1] // 100


def test_a_question_weighs_at_most_as_much_as_four_of_its_words() -> None:
    """A hundred further words in a message make what answers to one of them no less an answer."""
    one, many = answering_weight([1_000], 1_000), answering_weight([1_000] * 100, 1_000)
    assert one == 1_000 * ANSWERING_BP // FULL_BP
    assert many == 4 * one < 1_000


def test_something_of_a_question_must_be_held_however_little_it_weighs() -> None:
    assert answering_weight([], 1_000) == answering_weight([0, 0], 0) == 1
