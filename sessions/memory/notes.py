"""Notes as the host keeps them: what lies open, what is sealed, and the record behind both.

A *row* is what the database shows: ids, times and states, no word of the content. A *note* is a row
with its opened content. ``record_of`` gives the canonical record (TR) whose identity the row names.
Pure: values in, values out.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from compiler.audience import Binding, MemoryScope
from compiler.hashing import sha256_fields
from compiler.records import (
    CanonicalRecord,
    ClaimKey,
    CreatorClass,
    LifecycleEnvelope,
    ProvenanceEnvelope,
    RecordKind,
    RecordStatus,
    RetentionClass,
    SensitivityClass,
    TrustClass,
    make_record,
)
from compiler.request import UserId
from compiler.terms import fold
from sessions.clock import ALPHABET, timestamp

SHORT_ID_LENGTH: Final = 8
"""With 32 letters, a trillion ids: none is guessed, and people can still read one out."""
_SALT_BYTES: Final = 16
_OWN_DIGITS: Final = ALPHABET


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a note says about what, so that contradictions are found; each part is one short line.

    ``value`` is compared folded. Empty ends of the validity interval are open.
    """

    subject: str
    predicate: str
    value: str
    valid_from: str = ""
    valid_until: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRow:
    """The open part of a note. Times are Unix milliseconds, ids empty where there is none."""

    record_id: str
    short_id: str
    """What people and the model call it, ``m-7k2f9qxe``."""
    kind: RecordKind
    binding: Binding
    subject_id: UserId | None
    """Whom it is about; his word decides. None: the channel or the imp itself."""
    author_id: UserId | None
    """In whose turn or by whose hand it was written."""
    creator: CreatorClass
    trust: TrustClass
    status: RecordStatus
    pinned: bool
    created_ms: int
    expires_ms: int | None
    message_id: str = ""
    """The message it was made from."""
    place_id: str = ""
    """The conversation it was made in, a thread being one of its own."""
    run_id: str = ""
    turn_id: str = ""
    supersedes: str = ""
    superseded_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A row with its content."""

    row: NoteRow
    text: str
    claim: Claim | None = None
    salt: str = ""

    @property
    def confirmed(self) -> bool:
        """Whether a person stands behind it."""
        return self.row.trust is TrustClass.EXPLICIT


def binding_fields(binding: Binding) -> tuple[str, str, str, str, str]:
    """Give a binding as the columns that find it: imp, scope, guild, channel, user."""
    return (
        binding.imp,
        binding.scope.value,
        binding.guild_id or "",
        binding.channel_id or "",
        binding.user_id or "",
    )


def owner_of(row: NoteRow) -> UserId | None:
    """Say whose note it is: whom it is about, else who wrote it."""
    return row.subject_id or row.author_id


def is_over(row: NoteRow, now_ms: int) -> bool:
    """Tell whether a note's time is over, seen or not yet (``MemoryStore.expire``)."""
    return row.expires_ms is not None and row.expires_ms <= now_ms


def new_short_id() -> str:
    """Draw an id that nobody can guess; the table's constraint proves that it is unused."""
    return "m-" + "".join(secrets.choice(_OWN_DIGITS) for _ in range(SHORT_ID_LENGTH))


def with_identity(note: Note) -> Note:
    """Salt a new note and give it the record id of its content and provenance."""
    salted = replace(note, salt=secrets.token_hex(_SALT_BYTES))
    return replace(salted, row=replace(note.row, record_id=record_of(salted).record_id))


def record_of(note: Note) -> CanonicalRecord:
    """Build the canonical record of a note; its id is computed, not read from the row."""
    row = note.row
    return make_record(
        kind=row.kind,
        payload=note.text.encode("utf-8"),
        provenance=ProvenanceEnvelope(
            creator_class=row.creator,
            created_at=timestamp(from_ms(row.created_ms)),
            creator_id_hash=_hashed("user", row.author_id),
            supersedes=(row.supersedes,) if row.supersedes else (),
            source_uri_hash=_hashed("message", row.message_id),
            trust_class=row.trust,
            tenant_binding_hash=sha256_fields("inglenook-binding-v1", binding_fields(row.binding)),
            agent_binding_hash=_hashed("imp", row.binding.imp),
            sensitivity=(
                SensitivityClass.PERSONAL
                if row.subject_id or row.binding.scope is MemoryScope.USER
                else SensitivityClass.SHARED
            ),
            untrusted_data=row.creator is CreatorClass.MODEL,
            salt=note.salt,
        ),
        lifecycle=LifecycleEnvelope(
            status=row.status,
            retention=(
                RetentionClass.UNTIL_CHANGED
                if row.expires_ms is None
                else RetentionClass.UNTIL_EXPIRY
            ),
            expires_at=None if row.expires_ms is None else timestamp(from_ms(row.expires_ms)),
            pinned=row.pinned,
        ),
        claim=claim_key(note),
    )


def claim_key(note: Note) -> ClaimKey | None:
    """Say what a note's claim is about, folded, within its binding."""
    claim = note.claim
    if claim is None:
        return None
    return ClaimKey(
        subject=fold(claim.subject),
        predicate=fold(claim.predicate),
        scope=" ".join(binding_fields(note.row.binding)),
        valid_from=claim.valid_from,
        valid_until=claim.valid_until,
    )


def content_bytes(note: Note) -> bytes:
    """Write what is sealed: all that tells anything of the content."""
    claim = note.claim
    fields = {
        "text": note.text,
        "salt": note.salt,
        "claim": None
        if claim is None
        else [claim.subject, claim.predicate, claim.value, claim.valid_from, claim.valid_until],
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def with_content(row: NoteRow, content: bytes) -> Note:
    """Read what ``content_bytes`` wrote.

    Raises:
        ValueError: the content has another form.
    """
    fields = json.loads(content)
    try:
        claim = None
        if fields["claim"] is not None:
            subject, predicate, value, valid_from, valid_until = map(str, fields["claim"])
            claim = Claim(
                subject=subject,
                predicate=predicate,
                value=value,
                valid_from=valid_from,
                valid_until=valid_until,
            )
        return Note(row=row, text=str(fields["text"]), salt=str(fields["salt"]), claim=claim)
    except (KeyError, TypeError) as error:
        raise ValueError("sealed content has another form") from error


def to_ms(moment: datetime) -> int:
    """Give a UTC moment as Unix milliseconds."""
    return int(moment.timestamp() * 1_000)


def from_ms(milliseconds: int) -> datetime:
    """Give Unix milliseconds as a UTC moment; what no calendar holds becomes its last day."""
    try:
        return datetime.fromtimestamp(milliseconds // 1_000, UTC).replace(
            microsecond=milliseconds % 1_000 * 1_000
        )
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def date_of(milliseconds: int) -> str:
    """Give the UTC date, ``2026-11-29``."""
    return f"{from_ms(milliseconds):%Y-%m-%d}"


ShortIds = Callable[[], str]


def _hashed(what: str, value: str | None) -> str | None:
    return sha256_fields(f"inglenook-{what}-v1", (value,)) if value else None
