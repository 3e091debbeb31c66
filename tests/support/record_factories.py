"""Builders of records for tests."""

from __future__ import annotations

from dataclasses import replace

from compiler.records import (
    CanonicalRecord,
    ClaimKey,
    CreatorClass,
    LifecycleEnvelope,
    ProvenanceEnvelope,
    RecordKind,
    TrustClass,
    make_record,
)

NOON = "2026-11-29T12:00:00.000Z"


def note(
    text: str = "Bo likes tea",
    *,
    kind: RecordKind = RecordKind.LONG_TERM_MEMORY_RECORD,
    creator: CreatorClass = CreatorClass.MODEL,
    trust: TrustClass = TrustClass.INFERRED,
    by: str | None = "bo",
    at: str = NOON,
    claim: ClaimKey | None = None,
    lifecycle: LifecycleEnvelope | None = None,
) -> CanonicalRecord:
    """Make a note as the model would after a remark of Bo's."""
    provenance = ProvenanceEnvelope(
        creator_class=creator, created_at=at, creator_id_hash=by, trust_class=trust
    )
    return make_record(
        kind=kind,
        payload=text.encode("utf-8", "surrogatepass"),
        provenance=replace(provenance),
        claim=claim,
        lifecycle=lifecycle,
    )
