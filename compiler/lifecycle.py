"""The life of a record, and what happens where two records disagree.

Three ends look alike and are not (TR "Supersession, retraction, and tombstones"):

* a *tombstone* says that the record must not exist or return: payload and key are destroyed,
  index entries, history copies and summaries purged, sessions that hold the text ended;
* a *retraction* says that its source no longer stands by it: out of selection, payload kept
  for the owner's trace until retention ends, undone only by a new assertion;
* a *supersession* says that a newer record says it better: out of selection, visible in the
  chain, undone only by a further supersession.

Every transition is a row of ``_TRANSITIONS``; a move without a row raises and leaves the record
as it was. Nothing leaves ``TOMBSTONED``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from types import MappingProxyType

from compiler.conflict_codes import ConflictCode
from compiler.errors import SafeError
from compiler.records import (
    CanonicalRecord,
    CreatorClass,
    RecordStatus,
    TrustClass,
)


class LifecycleEvent(StrEnum):
    """What can happen to a record."""

    CONSENT = "consent"
    """The person whom a waiting note is about lets it stand."""
    RETRACT = "retract"
    SUPERSEDE = "supersede"
    EXPIRE = "expire"
    TOMBSTONE = "tombstone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What the host must carry out with a transition, all of it or none."""

    destroys_payload: bool = False
    purges_copies: bool = False
    """Index entries, history copies, derived summaries."""
    ends_sessions: bool = False
    stales_summaries: bool = False


_NOTHING = Effects()
_OUT_OF_SELECTION = Effects(stales_summaries=True)
_GONE = Effects(
    destroys_payload=True, purges_copies=True, ends_sessions=True, stales_summaries=True
)

_S, _E = RecordStatus, LifecycleEvent
_TRANSITIONS: Mapping[tuple[RecordStatus, LifecycleEvent], tuple[RecordStatus, Effects]] = (
    MappingProxyType(
        {
            (_S.PENDING, _E.CONSENT): (_S.ACTIVE, _NOTHING),
            (_S.PENDING, _E.EXPIRE): (_S.EXPIRED, _NOTHING),
            (_S.PENDING, _E.TOMBSTONE): (_S.TOMBSTONED, _GONE),
            (_S.ACTIVE, _E.RETRACT): (_S.RETRACTED, _OUT_OF_SELECTION),
            (_S.ACTIVE, _E.SUPERSEDE): (_S.SUPERSEDED, _OUT_OF_SELECTION),
            (_S.ACTIVE, _E.EXPIRE): (_S.EXPIRED, _OUT_OF_SELECTION),
            (_S.ACTIVE, _E.TOMBSTONE): (_S.TOMBSTONED, _GONE),
            (_S.RETRACTED, _E.TOMBSTONE): (_S.TOMBSTONED, _GONE),
            (_S.SUPERSEDED, _E.TOMBSTONE): (_S.TOMBSTONED, _GONE),
            (_S.EXPIRED, _E.TOMBSTONE): (_S.TOMBSTONED, _GONE),
        }
    )
)


class LifecycleErrorCode(StrEnum):
    """Why a transition was refused."""

    ILLEGAL_TRANSITION = "illegal_transition"


class IllegalTransition(SafeError):
    """The record is not in a state from which this can happen; nothing changed."""

    def __init__(self, status: RecordStatus, event: LifecycleEvent) -> None:
        super().__init__(
            LifecycleErrorCode.ILLEGAL_TRANSITION,
            "That note cannot be changed this way any more.",
            facts={"status": status.value, "event": event.value},
        )


def next_status(status: RecordStatus, event: LifecycleEvent) -> tuple[RecordStatus, Effects]:
    """Look up one transition.

    Raises:
        IllegalTransition: there is no such move.
    """
    found = _TRANSITIONS.get((status, event))
    if found is None:
        raise IllegalTransition(status, event)
    return found


def advance(record: CanonicalRecord, event: LifecycleEvent) -> tuple[CanonicalRecord, Effects]:
    """Move a record on; a tombstoned one comes back without its payload.

    Raises:
        IllegalTransition: there is no such move; the record is unchanged.
    """
    status, effects = next_status(record.lifecycle.status, event)
    moved = replace(record, lifecycle=replace(record.lifecycle, status=status))
    return (replace(moved, payload=b"") if effects.destroys_payload else moved), effects


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two claims about one thing that cannot both hold.

    ``kept`` wins by a rule; where no rule decides, ``kept`` is None and both are shown with
    the conflict disclosed. Ids only.
    """

    code: ConflictCode
    record_ids: tuple[str, str]
    kept: str | None


def find_conflicts(
    records: Iterable[CanonicalRecord], values: Mapping[str, str]
) -> tuple[Conflict, ...]:
    """Find contradictions among claims; the order of the records never matters.

    ``values`` maps record ids to their claims' normalized values; mere textual difference of
    records without a claim is no contradiction (TR "Contradiction policy").
    """
    by_subject: dict[tuple[str, str, str], list[CanonicalRecord]] = {}
    for record in records:
        claim = record.authority.claim
        if claim is not None and record.record_id in values:
            by_subject.setdefault((claim.subject, claim.predicate, claim.scope), []).append(record)
    found = [
        conflict
        for group in by_subject.values()
        for one, two in combinations(sorted(group, key=lambda item: item.record_id), 2)
        if (conflict := _conflict_of(one, two, values)) is not None
    ]
    return tuple(sorted(found, key=lambda item: item.record_ids))


def _conflict_of(
    one: CanonicalRecord, two: CanonicalRecord, values: Mapping[str, str]
) -> Conflict | None:
    first, second = one.authority.claim, two.authority.claim
    if first is None or second is None or not first.overlaps(second):
        return None
    ids = (one.record_id, two.record_id)
    if values[one.record_id] == values[two.record_id]:
        kept = min((one, two), key=_duplicate_order).record_id
        return Conflict(code=ConflictCode.DUPLICATE_EQUIVALENT, record_ids=ids, kept=kept)
    winner = _winner(one, two)
    if winner is None:
        return Conflict(code=ConflictCode.AUTHORITATIVE_DATE_DIVERGENCE, record_ids=ids, kept=None)
    return Conflict(
        code=ConflictCode.PREFERENCE_STALE_PROFILE, record_ids=ids, kept=winner.record_id
    )


def _winner(one: CanonicalRecord, two: CanonicalRecord) -> CanonicalRecord | None:
    """Explicit beats inferred whatever the age; of one person's own words the newer stands."""
    explicit = [item.provenance.trust_class is TrustClass.EXPLICIT for item in (one, two)]
    if explicit[0] != explicit[1]:
        return one if explicit[0] else two
    if _same_person(one, two) and one.provenance.created_at != two.provenance.created_at:
        return max((one, two), key=lambda item: item.provenance.created_at)
    return None


def _same_person(one: CanonicalRecord, two: CanonicalRecord) -> bool:
    makers = {item.provenance.creator_id_hash for item in (one, two)}
    persons = {item.provenance.creator_class for item in (one, two)}
    return len(makers) == 1 and None not in makers and CreatorClass.OTHER not in persons


def _duplicate_order(record: CanonicalRecord) -> tuple[int, str, str]:
    """Higher factual authority first, then the newer, then the smaller id."""
    newest_first = "".join(chr(0x10FFFF - ord(char)) for char in record.provenance.created_at)
    return (-record.authority.authority.factual, newest_first, record.record_id)
