"""What memory answers: every expected outcome is a value, with a sentence fit to be shown.

``NotFound`` is one value for what does not exist and for what is somebody else's.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from compiler.audience import MemoryScope
from compiler.hashing import sha256_fields
from compiler.records import MEMORY_POLICY
from compiler.request import ChannelId, UserId
from compiler.secrets import SecretKind
from sessions.memory.notes import Claim
from sessions.store.consent import ConsentLevel, Purpose

_PROOF_TAG: Final = "inglenook-cleanup-v1"


class NoteState(StrEnum):
    """How a note stands, in the word that people read."""

    INFERRED = "inferred"
    CONFIRMED = "confirmed"
    WAITING = "waiting"
    """For the click of the person it is about."""
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"
    EXPIRED = "expired"
    FORGOTTEN = "forgotten"
    UNREADABLE = "unreadable"
    """Its key is missing or its content is damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteView:
    """A note as its person sees it; ``text`` is empty where it is gone or unreadable."""

    short_id: str
    state: NoteState
    scope: MemoryScope
    imp: str
    text: str
    recorded_on: str
    pinned: bool = False
    expires_on: str = ""
    forgotten_on: str = ""
    channel_id: ChannelId | None = None
    """The channel of a channel note."""
    about: UserId | None = None
    message_id: str = ""
    claim: Claim | None = None
    replaces: str = ""
    """Short id of the version before."""
    replaced_by: str = ""
    conflict: str = ""


class RefusalCode(StrEnum):
    """Why nothing was written."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    BAD_TEXT = "bad_text"
    SENSITIVE = "sensitive"
    CONSENT = "consent"
    FULL = "full"
    TOO_FAST = "too_fast"
    FORGOTTEN = "forgotten"
    NOT_ALLOWED = "not_allowed"
    NO_PLACE = "no_place"
    SEVERAL_PEOPLE = "several_people"
    UNTRUSTED_SOURCE = "untrusted_source"
    EXPIRED = "expired"
    ENDED = "ended"
    KEYS_UNAVAILABLE = "keys_unavailable"
    SWITCHED_OFF = "switched_off"


_SENTENCES: Final = {
    RefusalCode.EMPTY: "There is nothing to remember in that.",
    RefusalCode.TOO_LONG: "That is too long for a note.",
    RefusalCode.BAD_TEXT: "That holds characters that no note can hold.",
    RefusalCode.SENSITIVE: "I do not keep secrets.",
    RefusalCode.CONSENT: "This person has switched remembering off here.",
    RefusalCode.FULL: "There is no room for more notes here. Forget some first.",
    RefusalCode.TOO_FAST: "That are too many changes at once. Try again in a minute.",
    RefusalCode.FORGOTTEN: "This was just forgotten on request, so I do not write it back.",
    RefusalCode.NOT_ALLOWED: "Only the owner can do that.",
    RefusalCode.NO_PLACE: "There is nobody here to remember it for.",
    RefusalCode.SEVERAL_PEOPLE: "That is about several people. Make one note for each.",
    RefusalCode.UNTRUSTED_SOURCE: "I do not remember what another bot wrote.",
    RefusalCode.EXPIRED: "That time is over already.",
    RefusalCode.ENDED: "That note cannot be changed any more.",
    RefusalCode.KEYS_UNAVAILABLE: "My memory is locked just now. The owner has to look at it.",
    RefusalCode.SWITCHED_OFF: "Memory is switched off.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing was written, and why."""

    code: RefusalCode
    secret: SecretKind | None = None

    @property
    def sentence(self) -> str:
        """Say why, in words for anybody."""
        if self.secret is not None:
            return f"That looks like it holds a {self.secret.value}. I do not keep secrets."
        return _SENTENCES[self.code]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFound:
    """There is no such note of the asker's."""

    sentence: str = "You have no note with this id."


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A note stands as ``note`` tells; it may wait for its person's click."""

    note: NoteView
    known: bool = False
    """It was there already; nothing was written."""
    replaced: tuple[str, ...] = ()
    """Short ids of notes that it replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Notes, the newest or the best first."""

    notes: tuple[NoteView, ...]
    unreadable: int = 0
    """Notes of these that cannot be opened; the owner should look at the key store."""
    uncertain: bool = False
    """Of a search by the model: none of these answers to its words (UNCERTAIN_RETRIEVAL)."""


class CleanupStatus(StrEnum):
    """Whether a forgetting is finished."""

    COMPLETED = "completed"
    PARTIAL = "partial"
    """Nothing can be used any more; what is left is done later, by itself."""


class CleanupCode(StrEnum):
    """What is left to do."""

    KEYS_UNAVAILABLE = "keys_unavailable"
    LOG_BUSY = "log_busy"
    """Another process reads a database, whose log cannot be emptied meanwhile."""
    SESSION_RUNNING = "session_running"
    FILES_REMAIN = "files_remain"
    STORE_UNAVAILABLE = "store_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupProof:
    """TR's account of a forgetting; it holds no word of what was forgotten.

    Hashes are salted for this receipt alone: who knows a record's id can find it here
    (``commitment``), and nobody can compare two receipts.
    """

    receipt_id: str
    at: str
    """UTC, ``2026-11-29T23:16:35.000Z``."""
    status: CleanupStatus
    request_hash: str
    salt: str
    record_hashes: tuple[str, ...]
    stores: tuple[tuple[str, int], ...]
    """What was processed, and the index revision after it."""
    caches: tuple[str, ...]
    """Cache namespaces made invalid: keyed hashes of the conversations whose sessions ended."""
    history_copies: int
    sessions_ended: int
    errors: tuple[CleanupCode, ...] = ()
    traces_kept: bool = True
    """The owner's exact traces keep what was sent until their retention ends."""
    policy: str = MEMORY_POLICY

    def document(self) -> str:
        """Write the receipt as JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))


def commitment(salt: str, value: str) -> str:
    """Hash an id for one receipt."""
    return sha256_fields(_PROOF_TAG, (salt, value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """Notes are gone, with the proof of it; ``short_ids`` are those the person saw."""

    short_ids: tuple[str, ...]
    proof: CleanupProof


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The note was forgotten before."""

    short_id: str
    forgotten_on: str

    @property
    def sentence(self) -> str:
        """Say when."""
        return f"{self.short_id} was forgotten on {self.forgotten_on}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """All that is kept about a person, as a JSON document for him."""

    document: str
    notes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentState:
    """What holds for a person in a place."""

    level: ConsentLevel
    purpose: Purpose
    channel_id: ChannelId | None
    until: str = ""
    """UTC date and time at which it ends by itself; empty if it does not."""
    is_default: bool = True


Remembered = Kept | Refused
Changed = Kept | Refused | NotFound | Gone
"""Of confirm, correct, pin and keep."""
Erased = Forgotten | Gone | NotFound | Refused
Shown = NoteView | NotFound
