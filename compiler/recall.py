"""Selection of memory: hard eligibility first, then relevance; authority is untouched.

``RecallIndex`` holds the candidates of one binding (one imp, channel or person) with their
search terms. A turn reads at most three of them (``audience.readable_bindings``), so its cost
depends on what it may know and not on how much the store holds.

Spec: TR "Retrieval eligibility and scoring"; CC "Memory".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Final

from compiler.audience import Exclusion
from compiler.duplicates import Said, twin_of
from compiler.records import RecordStatus
from compiler.relevance import (
    ANSWERING_BP,
    FULL_BP,
    Weights,
    answering_weight,
    bm25,
    diversify,
    fuse,
    rarity,
    recency_bp,
    scale_bp,
)
from compiler.terms import fold, terms_of

QUERY_CHARS: Final = 2_000  # a question's words are in its beginning; a pasted file is no query
NOTE_CHARS: Final = 2_000
POOL: Final = 48  # candidates that diversity looks at; it is quadratic in them
_DAY_MS: Final = 86_400_000
_EVER_MS: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One note as selection sees it. Times are Unix milliseconds."""

    record_id: str
    text: str
    created_ms: int
    status: RecordStatus = RecordStatus.ACTIVE
    expires_ms: int | None = None
    consented: bool = True
    pinned: bool = False
    confirmed: bool = False
    quality_bp: int = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The outcome of one selection: best first, and the ids of what was left out by reason."""

    chosen: tuple[Candidate, ...]
    left: Mapping[Exclusion, tuple[str, ...]]
    uncertain: bool = False
    """None of the chosen answers to what was asked: they are only the newest or the best kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a turn asks memory. ``semantic`` gives quantized scores in basis points by id."""

    text: str
    now_ms: int
    limit_notes: int = 32
    weights: Weights = field(default_factory=Weights)
    semantic: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    candidate: Candidate
    terms: frozenset[str]
    counts: tuple[tuple[str, int], ...]
    length: int
    folded: str
    reason: Exclusion | None
    """Why it can never be chosen as it is; expiry aside, which depends on the time."""
    standing: tuple[int, bool, bool]
    """Source quality, confirmed, pinned: few values, so each is weighed once a query."""
    created_ms: int
    expires_ms: int | None
    record_id: str


class _Eligible:
    """What may be chosen, numbered in the order of record ids, and what may not.

    Made once, and used until something changes or expires.
    """

    def __init__(self, entries: Sequence[_Entry], left: Mapping[Exclusion, Sequence[str]]) -> None:
        self.entries = entries
        self.left = left
        self.number_of = {entry.record_id: number for number, entry in enumerate(entries)}
        self.lengths = [entry.length for entry in entries]
        self.created_ms = [entry.created_ms for entry in entries]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._standing: tuple[Weights, list[int]] | None = None

    def postings(self, term: str, indexes: Sequence[RecallIndex]) -> list[tuple[int, int]]:
        """Give the numbers of those whose text has the term, with its count in each."""
        found = self._postings.get(term)
        if found is None:
            number_of = self.number_of
            found = [
                (number_of[record_id], count)
                for index in indexes
                for record_id, count in index.holders(term).items()
                if record_id in number_of
            ]
            if found:  # words of questions alone are not kept
                self._postings[term] = found
        return found

    def standings(self, weights: Weights) -> list[int]:
        """Give the part of each one's relevance that no question changes."""
        if self._standing is None or self._standing[0] != weights:
            kinds = {entry.standing for entry in self.entries}
            scores = {standing: _standing_score(standing, weights) for standing in kinds}
            self._standing = weights, [scores[entry.standing] for entry in self.entries]
        return self._standing[1]


class RecallIndex:
    """The candidates of one binding and their terms; changed only by ``put`` and ``drop``."""

    def __init__(self, candidates: Iterable[Candidate] = ()) -> None:
        self._entries: dict[str, _Entry] = {}
        self._postings: dict[str, dict[str, int]] = {}
        self._sorted: tuple[_Entry, ...] | None = None
        self._eligible: _Eligible | None = None
        self._valid_ms = -_EVER_MS, _EVER_MS
        """The times at which ``_eligible`` holds: from the first to before the second."""
        for candidate in candidates:
            self.put(candidate)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._entries

    def put(self, candidate: Candidate) -> None:
        """Add a candidate, or replace the one with its id."""
        self.drop(candidate.record_id)
        words = terms_of(candidate.text, limit_chars=NOTE_CHARS)
        counts = Counter(words)
        self._changed()
        self._entries[candidate.record_id] = _Entry(
            candidate,
            frozenset(counts),
            tuple(counts.items()),
            len(words),
            fold(candidate.text),
            _ineligible(candidate),
            (candidate.quality_bp, candidate.confirmed, candidate.pinned),
            candidate.created_ms,
            candidate.expires_ms,
            candidate.record_id,
        )
        for term, count in counts.items():
            self._postings.setdefault(term, {})[candidate.record_id] = count

    def drop(self, record_id: str) -> None:
        """Remove a candidate and every trace of it from the index."""
        entry = self._entries.pop(record_id, None)
        if entry is None:
            return
        self._changed()
        for term, _ in entry.counts:
            holders = self._postings[term]
            del holders[record_id]
            if not holders:
                del self._postings[term]

    def _changed(self) -> None:
        self._sorted = self._eligible = None

    def eligible(self, now_ms: int) -> _Eligible:
        """Give what may be chosen at a time; the same until something changes or expires."""
        since_ms, until_ms = self._valid_ms
        if self._eligible is None or not since_ms <= now_ms < until_ms:
            self._eligible = self._sort_out(now_ms)
        return self._eligible

    def _sort_out(self, now_ms: int) -> _Eligible:
        left: dict[Exclusion, list[str]] = {}
        eligible: list[_Entry] = []
        since_ms, until_ms = -_EVER_MS, _EVER_MS
        for entry in self.entries():
            reason, expires_ms = entry.reason, entry.expires_ms
            if reason is None and expires_ms is not None:
                if expires_ms <= now_ms:
                    reason = Exclusion.EXPIRED
                    since_ms = max(since_ms, expires_ms)
                else:
                    until_ms = min(until_ms, expires_ms)
            if reason is None:
                eligible.append(entry)
            else:
                left.setdefault(reason, []).append(entry.record_id)
        self._valid_ms = since_ms, until_ms
        return _Eligible(eligible, left)

    def entries(self) -> tuple[_Entry, ...]:
        """Give all entries by record id; sorted once for each change."""
        if self._sorted is None:
            self._sorted = tuple(self._entries[key] for key in sorted(self._entries))
        return self._sorted

    def holders(self, term: str) -> Mapping[str, int]:
        """Give the ids whose text has the term, with its count in each."""
        return self._postings.get(term, {})


def select(indexes: Sequence[RecallIndex], query: Query) -> Recall:
    """Select notes for one turn from the bindings that its audience may know.

    The order in which candidates were put never matters: every tie ends at the record id.
    """
    found = _eligible(indexes, query.now_ms)
    eligible = found.entries
    left = {reason: [*ids] for reason, ids in found.left.items()}
    asked = frozenset(terms_of(query.text, limit_chars=QUERY_CHARS))
    ranked, relevance = _rank(found, indexes, query, asked)
    pool = _collapse(ranked, eligible, left)
    terms = {number: eligible[number].terms for number in pool}
    kept = diversify(pool, relevance, terms, query.limit_notes)
    _leave_the_rest(eligible, kept, left)
    return Recall(
        chosen=tuple(eligible[number].candidate for number in kept),
        left={reason: tuple(sorted(ids)) for reason, ids in sorted(left.items())},
        uncertain=_is_uncertain(
            found, [eligible[number] for number in kept], indexes, asked, query.semantic or {}
        ),
    )


def _is_uncertain(
    eligible: _Eligible,
    kept: Sequence[_Entry],
    indexes: Sequence[RecallIndex],
    asked: frozenset[str],
    semantic: Mapping[str, int],
) -> bool:
    """Tell whether notes were found for a question, and none answers by words or by meaning."""
    if not asked or not kept:
        return False
    count = len(eligible.entries)
    holders = {term: len(eligible.postings(term, indexes)) for term in asked}
    rarities = {held: rarity(count, held) for held in {0, *holders.values()}}
    weights = {term: rarities[held] for term, held in holders.items()}
    needed = answering_weight(weights.values(), rarities[0])
    return not any(
        semantic.get(entry.record_id, 0) >= ANSWERING_BP
        or sum(map(weights.__getitem__, asked & entry.terms)) >= needed
        for entry in kept
    )


def _eligible(indexes: Sequence[RecallIndex], now_ms: int) -> _Eligible:
    parts = [index.eligible(now_ms) for index in indexes if len(index)]
    if len(parts) == 1:
        return parts[0]
    left: dict[Exclusion, list[str]] = {}
    for part in parts:
        for reason, ids in part.left.items():
            left.setdefault(reason, []).extend(ids)
    return _Eligible(sorted(chain(*(part.entries for part in parts)), key=_by_id), left)


_by_id = attrgetter("record_id")


_REASON_OF_STATUS = {
    RecordStatus.PENDING: Exclusion.CONSENT,
    RecordStatus.RETRACTED: Exclusion.RETRACTED,
    RecordStatus.SUPERSEDED: Exclusion.SUPERSEDED,
    RecordStatus.EXPIRED: Exclusion.EXPIRED,
    RecordStatus.TOMBSTONED: Exclusion.TOMBSTONED,
}


def _ineligible(candidate: Candidate) -> Exclusion | None:
    """TR's E(r) beyond the binding; what fails here is not ranked at all."""
    if candidate.status is not RecordStatus.ACTIVE:
        return _REASON_OF_STATUS[candidate.status]
    return None if candidate.consented else Exclusion.CONSENT


def _rank(
    eligible: _Eligible, indexes: Sequence[RecallIndex], query: Query, asked: frozenset[str]
) -> tuple[list[int], dict[int, int]]:
    """Give the best ``POOL`` and more document numbers, best first, and their fused values."""
    lexical = scale_bp(_lexical(eligible, indexes, asked))
    semantic = _semantic(eligible.entries, query.semantic)
    scores = _weighted(eligible, lexical, semantic, query)
    rankings = (
        _best(range(len(scores)), scores.__getitem__),
        _best(sorted(lexical), lexical.__getitem__),
        _best(sorted(semantic), semantic.__getitem__),
    )
    fused = fuse(rankings)
    return _best(sorted(fused), fused.__getitem__), fused


def _best(numbers: Iterable[int], value: Callable[[int], int]) -> list[int]:
    """Give the highest first; the sort is stable, so ties keep the order of record ids.

    Duplicates fall out of the pool, so it is filled from lists four times its length.
    """
    return sorted(numbers, key=value, reverse=True)[: 4 * POOL]


def _lexical(
    eligible: _Eligible, indexes: Sequence[RecallIndex], asked: frozenset[str]
) -> dict[int, int]:
    postings = {term: found for term in asked if (found := eligible.postings(term, indexes))}
    return bm25(asked, postings, eligible.lengths, len(eligible.entries))


def _semantic(eligible: Sequence[_Entry], given: Mapping[str, int] | None) -> dict[int, int]:
    if not given:
        return {}
    return {
        number: min(FULL_BP, max(0, given[entry.candidate.record_id]))
        for number, entry in enumerate(eligible)
        if entry.candidate.record_id in given
    }


def _standing_score(standing: tuple[int, bool, bool], weights: Weights) -> int:
    quality_bp, confirmed, pinned = standing
    score = weights.source_quality * quality_bp
    status = weights.record_status * FULL_BP
    score += status if confirmed else status // 2
    return score + weights.explicit_pin * FULL_BP if pinned else score


def _weighted(
    eligible: _Eligible, lexical: Mapping[int, int], semantic: Mapping[int, int], query: Query
) -> list[int]:
    """TR's R(r, q): exact integers, in ten-thousandths of a basis point."""
    weights, now_ms = query.weights, query.now_ms
    ages = [(now_ms - created_ms) // _DAY_MS for created_ms in eligible.created_ms]
    recency = {age: weights.recency * recency_bp(age) for age in set(ages)}
    standings = eligible.standings(weights)
    scores = [recency[age] + standing for age, standing in zip(ages, standings, strict=True)]
    for number, part in lexical.items():
        scores[number] += weights.lexical * part
    for number, part in semantic.items():
        scores[number] += weights.semantic * part
    return scores


def _collapse(
    ranked: list[int], eligible: Sequence[_Entry], left: dict[Exclusion, list[str]]
) -> list[int]:
    """Fill the pool, dropping exact and near duplicates of what already stands in it.

    A duplicate yields to the confirmed one, then to the better ranked.
    """
    pool: list[int] = []
    said: list[Said] = []
    for number in ranked:
        if len(pool) == POOL:
            break
        entry = eligible[number]
        mine = Said(entry.terms, entry.folded)
        twin = twin_of(mine, said)
        if twin is None:
            pool.append(number)
            said.append(mine)
            continue
        loser = number
        if entry.candidate.confirmed and not eligible[pool[twin]].candidate.confirmed:
            loser, pool[twin], said[twin] = pool[twin], number, mine
        left.setdefault(Exclusion.DUPLICATE, []).append(eligible[loser].candidate.record_id)
    return pool


def _leave_the_rest(
    eligible: Sequence[_Entry], kept: list[int], left: dict[Exclusion, list[str]]
) -> None:
    told = {*left.get(Exclusion.DUPLICATE, ())}
    told.update(eligible[number].candidate.record_id for number in kept)
    rest = [record_id for entry in eligible if (record_id := entry.record_id) not in told]
    if rest:
        left[Exclusion.RANK] = rest
