"""Canonical records: what is remembered, where it came from, what it may do.

A record is immutable. Its payload is the exact received bytes; normalization for search makes
separate index artefacts and never touches it. Its metadata is hashed as RFC 8785 JSON, its
identity covers kind, payload and metadata, so two records differ exactly when their ids do.

Spec: TR "Canonical record model", "Content identity and provenance envelope"; the tables of
kinds and of birth authority are our decisions in place of TR's lost ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compiler.authority import NO_AUTHORITY, Authority, Factual, Instruction, StateAuthority
from compiler.canonical_json import JsonValue, canonical_bytes
from compiler.hashing import sha256_fields

RECORD_SCHEMA: Final = "inglenook.record.v1"
MEMORY_POLICY: Final = "inglenook.memory-policy.v1"
_PAYLOAD_TAG: Final = "trlm-payload-v1"
_META_TAG: Final = "trlm-meta-v1"
_RECORD_TAG: Final = "trlm-record-v1"
_NORMAL_TAG: Final = "trlm-normalized-v1"
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z")


class RecordKind(StrEnum):
    """TR's kinds and its lifecycle additions."""

    ROLE_TAGGED_MESSAGE = "role_tagged_message"
    USER_PREFERENCE_ASSERTION = "user_preference_assertion"
    RETRACTION = "retraction"
    SESSION_FACT = "session_fact"
    SOURCE_CLAIM = "source_claim"
    TRUSTED_METADATA = "trusted_metadata"
    UNTRUSTED_CONTENT_BLOCK = "untrusted_content_block"
    TOOL_RESULT = "tool_result"
    SHORT_TERM_SUMMARY = "short_term_summary"
    LONG_TERM_MEMORY_RECORD = "long_term_memory_record"
    MEMORY_POINTER = "memory_pointer"
    TOMBSTONE = "tombstone"
    SUPERSESSION_LINK = "supersession_link"
    RETRIEVAL_HIT = "retrieval_hit"
    COMPILER_DIAGNOSTIC = "compiler_diagnostic"
    CONSENT_GRANT = "consent_grant"
    CONSENT_WITHDRAWAL = "consent_withdrawal"
    CONFLICT_RECORD = "conflict_record"
    OUTBOX_OPERATION = "outbox_operation"
    SYNC_RECEIPT = "sync_receipt"


class CreatorClass(StrEnum):
    """Who made a record."""

    HOST = "host"
    OWNER = "owner"
    PERSON = "person"
    MODEL = "model"
    TOOL = "tool"
    OTHER = "other"


PERSONS = frozenset({CreatorClass.PERSON, CreatorClass.OWNER})
"""Makers whose own click or command stands behind a record."""


class TrustClass(StrEnum):
    """How the words came to us."""

    EXPLICIT = "explicit"
    """By a person's own command, menu or button."""
    INFERRED = "inferred"
    """Proposed by the model."""
    HOST = "host"
    UNTRUSTED = "untrusted"


class SensitivityClass(StrEnum):
    """Who may meet the words at all."""

    SHARED = "shared"
    PERSONAL = "personal"


class RetentionClass(StrEnum):
    """When a record ends by itself."""

    UNTIL_CHANGED = "until_changed"
    UNTIL_EXPIRY = "until_expiry"
    SESSION = "session"
    RUN = "run"
    KEPT = "kept"


class PayloadEncoding(StrEnum):
    """What the payload bytes are."""

    TEXT = "text/utf-8"
    JCS = "application/jcs+json"


class RecordStatus(StrEnum):
    """Where a record stands in its life; see ``lifecycle``."""

    PENDING = "pending"
    """Waits for its person's consent; not selectable."""
    ACTIVE = "active"
    RETRACTED = "retracted"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    TOMBSTONED = "tombstoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimKey:
    """TR's K_c: what a claim is about, so that contradictions can be found."""

    subject: str
    predicate: str
    scope: str
    valid_from: str = ""
    valid_until: str = ""

    def overlaps(self, other: ClaimKey) -> bool:
        """Whether both can speak of the same thing at the same time; an open end is unbounded."""
        same = (self.subject, self.predicate, self.scope) == (
            other.subject,
            other.predicate,
            other.scope,
        )
        starts_in_time = not other.valid_until or self.valid_from < other.valid_until
        ends_in_time = not self.valid_until or other.valid_from < self.valid_until
        return same and starts_in_time and ends_in_time


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenanceEnvelope:
    """Where a record came from. Times are fixed-format UTC, ``2026-11-29T23:16:35.000Z``.

    Bindings are hashes of the trusted guild and imp ids, so that an envelope in a log names
    nobody. ``supersedes`` and ``derived_from`` hold record ids.
    """

    creator_class: CreatorClass
    created_at: str
    creator_id_hash: str | None = None
    observed_at: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    revision: str = "1"
    supersedes: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    source_record_id: str | None = None
    source_uri_hash: str | None = None
    trust_class: TrustClass = TrustClass.UNTRUSTED
    tenant_binding_hash: str | None = None
    agent_binding_hash: str | None = None
    sensitivity: SensitivityClass = SensitivityClass.PERSONAL
    untrusted_data: bool = True
    policy_version: str = MEMORY_POLICY
    salt: str | None = None
    """Random, and kept with the payload: where it is destroyed too, the record's id that remains
    tells nobody whether he has guessed what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEnvelope:
    """How long a record stands and in which state; changes make a new envelope."""

    status: RecordStatus = RecordStatus.ACTIVE
    retention: RetentionClass = RetentionClass.UNTIL_CHANGED
    expires_at: str | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorityEnvelope:
    """A record's three authorities and its claim, fixed at birth."""

    authority: Authority
    claim: ClaimKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalRecord:
    """One immutable record; build it with ``make_record``, which computes the hashes.

    ``record_id`` and the hashes are lower-case hex SHA-256. ``lifecycle`` is no part of the
    identity: a record that is retracted is still that record.
    """

    kind: RecordKind
    encoding: PayloadEncoding
    payload: bytes
    provenance: ProvenanceEnvelope
    lifecycle: LifecycleEnvelope
    authority: AuthorityEnvelope
    record_id: str
    original_hash: str
    normalization_hash: str
    metadata_hash: str
    schema: str = RECORD_SCHEMA


def make_record(
    *,
    kind: RecordKind,
    payload: bytes,
    provenance: ProvenanceEnvelope,
    encoding: PayloadEncoding = PayloadEncoding.TEXT,
    lifecycle: LifecycleEnvelope | None = None,
    claim: ClaimKey | None = None,
    normalized: bytes | None = None,
) -> CanonicalRecord:
    """Make a record with its birth authority, hashes and identity.

    ``normalized`` is the exact result of a documented decoding of the payload, where one was
    made; without it the normalization hash covers the payload itself.

    Raises:
        ValueError: a timestamp is not in the fixed UTC form, or metadata is no canonical JSON.
    """
    _check_times(provenance, lifecycle)
    authority = authority_at_birth(kind, provenance.creator_class)
    envelope = AuthorityEnvelope(authority=authority, claim=claim)
    payload_hash = sha256_fields(_PAYLOAD_TAG, (payload,))
    metadata = canonical_bytes(_metadata(kind, encoding, provenance, envelope))
    metadata_hash = sha256_fields(_META_TAG, (metadata,))
    return CanonicalRecord(
        kind=kind,
        encoding=encoding,
        payload=payload,
        provenance=provenance,
        lifecycle=lifecycle or LifecycleEnvelope(),
        authority=envelope,
        record_id=sha256_fields(_RECORD_TAG, (kind.value, payload_hash, metadata_hash)),
        original_hash=payload_hash,
        normalization_hash=sha256_fields(
            _NORMAL_TAG, (payload if normalized is None else normalized,)
        ),
        metadata_hash=metadata_hash,
    )


def verify_record(record: CanonicalRecord) -> bool:
    """Whether the payload, the metadata and the identity still belong together."""
    again = make_record(
        kind=record.kind,
        payload=record.payload,
        provenance=record.provenance,
        encoding=record.encoding,
        lifecycle=record.lifecycle,
        claim=record.authority.claim,
    )
    return (
        again.record_id == record.record_id
        and again.original_hash == record.original_hash
        and again.metadata_hash == record.metadata_hash
        and again.authority == record.authority
    )


def _metadata(
    kind: RecordKind,
    encoding: PayloadEncoding,
    provenance: ProvenanceEnvelope,
    authority: AuthorityEnvelope,
) -> JsonValue:
    claim = authority.claim
    salt = {} if provenance.salt is None else {"salt": provenance.salt}
    return {
        **salt,
        "schema": RECORD_SCHEMA,
        "kind": kind.value,
        "encoding": encoding.value,
        "creator_class": provenance.creator_class.value,
        "creator_id_hash": provenance.creator_id_hash,
        "created_at": provenance.created_at,
        "observed_at": provenance.observed_at,
        "valid_from": provenance.valid_from,
        "valid_until": provenance.valid_until,
        "revision": provenance.revision,
        "supersedes": list(provenance.supersedes),
        "derived_from": list(provenance.derived_from),
        "source_record_id": provenance.source_record_id,
        "source_uri_hash": provenance.source_uri_hash,
        "trust_class": provenance.trust_class.value,
        "tenant_binding_hash": provenance.tenant_binding_hash,
        "agent_binding_hash": provenance.agent_binding_hash,
        "sensitivity": provenance.sensitivity.value,
        "untrusted_data": provenance.untrusted_data,
        "policy_version": provenance.policy_version,
        "authority": [
            authority.authority.instruction.name,
            authority.authority.factual.name,
            authority.authority.state.name,
        ],
        "claim": None
        if claim is None
        else [claim.subject, claim.predicate, claim.scope, claim.valid_from, claim.valid_until],
    }


def _check_times(provenance: ProvenanceEnvelope, lifecycle: LifecycleEnvelope | None) -> None:
    times = (
        provenance.created_at,
        provenance.observed_at,
        provenance.valid_from,
        provenance.valid_until,
        lifecycle.expires_at if lifecycle else None,
    )
    for time in times:
        if time is not None and not _TIMESTAMP.fullmatch(time):
            msg = "a timestamp is not in the form 2026-11-29T23:16:35.000Z"
            raise ValueError(msg)


_BIRTH: dict[RecordKind, tuple[int, int, int]] = {
    RecordKind.ROLE_TAGGED_MESSAGE: (7, 2, 0),
    RecordKind.USER_PREFERENCE_ASSERTION: (4, 2, 2),
    RecordKind.RETRACTION: (4, 2, 2),
    RecordKind.SESSION_FACT: (5, 3, 1),
    RecordKind.SOURCE_CLAIM: (7, 1, 0),
    RecordKind.TRUSTED_METADATA: (5, 3, 1),
    RecordKind.UNTRUSTED_CONTENT_BLOCK: (7, 0, 0),
    RecordKind.TOOL_RESULT: (7, 2, 0),
    RecordKind.SHORT_TERM_SUMMARY: (6, 0, 0),
    RecordKind.LONG_TERM_MEMORY_RECORD: (6, 0, 0),
    RecordKind.MEMORY_POINTER: (5, 3, 1),
    RecordKind.TOMBSTONE: (5, 3, 2),
    RecordKind.SUPERSESSION_LINK: (5, 3, 1),
    RecordKind.RETRIEVAL_HIT: (7, 0, 0),
    RecordKind.COMPILER_DIAGNOSTIC: (5, 3, 1),
    RecordKind.CONSENT_GRANT: (4, 2, 2),
    RecordKind.CONSENT_WITHDRAWAL: (4, 2, 2),
    RecordKind.CONFLICT_RECORD: (5, 3, 1),
    RecordKind.OUTBOX_OPERATION: (5, 3, 1),
    RecordKind.SYNC_RECEIPT: (5, 3, 1),
}
"""Instruction, factual and state authority at birth. A message is A3 only while it is current;
the record that remains of it is A7."""

_MAKERS: dict[RecordKind, frozenset[CreatorClass]] = {
    RecordKind.USER_PREFERENCE_ASSERTION: PERSONS,
    RecordKind.RETRACTION: PERSONS,
    RecordKind.CONSENT_GRANT: PERSONS,
    RecordKind.CONSENT_WITHDRAWAL: PERSONS,
    RecordKind.TOMBSTONE: PERSONS | {CreatorClass.HOST},
    RecordKind.ROLE_TAGGED_MESSAGE: PERSONS | {CreatorClass.HOST},
    RecordKind.TOOL_RESULT: frozenset({CreatorClass.TOOL, CreatorClass.HOST}),
    RecordKind.SOURCE_CLAIM: frozenset({CreatorClass.TOOL, CreatorClass.HOST}),
    **{
        kind: frozenset({CreatorClass.HOST})
        for kind, birth in _BIRTH.items()
        if birth[0] == Instruction.A5 and kind is not RecordKind.TOMBSTONE
    },
}
"""Kinds that only some may make; made by anyone else they carry no authority."""


def authority_at_birth(kind: RecordKind, creator: CreatorClass) -> Authority:
    """Fix a new record's authority from its kind and maker, and from nothing else.

    A page that calls itself a preference is a page; a memory record that a person wrote
    himself is A4 and F2.
    """
    if creator not in _MAKERS.get(kind, frozenset(CreatorClass)):
        return NO_AUTHORITY
    instruction, factual, state = _BIRTH[kind]
    if kind is RecordKind.LONG_TERM_MEMORY_RECORD:
        if creator in PERSONS:
            instruction, factual = Instruction.A4, Factual.F2
        elif creator is not CreatorClass.MODEL:
            return NO_AUTHORITY
    return Authority(
        instruction=Instruction(instruction),
        factual=Factual(factual),
        state=StateAuthority(state),
    )
