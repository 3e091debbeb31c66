"""What people allow to be remembered: an append-only list of grants and withdrawals.

Consent is for one person, one imp, one place (a channel, or direct messages), one purpose, and may
end by itself. The last word of its person counts. Each word is a canonical record of its own.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compiler.canonical_json import canonical_bytes
from compiler.hashing import sha256_fields
from compiler.records import (
    CanonicalRecord,
    CreatorClass,
    PayloadEncoding,
    ProvenanceEnvelope,
    RecordKind,
    SensitivityClass,
    TrustClass,
    make_record,
)
from compiler.request import ChannelId, ImpName, UserId
from sessions.clock import timestamp
from sessions.memory.notes import from_ms
from sessions.store.database import Database

FIELD: Final = "notes"
"""The one field there is: notes about a person. Others would be a value of their own."""


class ConsentLevel(StrEnum):
    """How far a person lets it go."""

    OFF = "off"
    ASK = "ask"
    ON = "on"


class Purpose(StrEnum):
    """What it is for."""

    REMEMBER = "remember"
    """Keep notes about the person that come up in this place."""
    SHARE = "share"
    """Use the person's private notes in this channel, where others read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """One word of a person. ``channel_id`` None means direct messages; times in Unix ms."""

    imp: ImpName
    user_id: UserId
    channel_id: ChannelId | None
    purpose: Purpose
    level: ConsentLevel
    at_ms: int
    until_ms: int | None = None

    def holds(self, now_ms: int) -> bool:
        """Whether it has not ended by itself."""
        return self.until_ms is None or now_ms < self.until_ms


class ConsentStore:
    """The table ``memory_consents``; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, consent: Consent) -> None:
        """Write down a word; what was said before stays readable and no longer counts."""
        values = (
            consent_record(consent).record_id,
            consent.imp,
            consent.user_id,
            consent.channel_id or "",
            FIELD,
            consent.purpose.value,
            consent.level.value,
            consent.at_ms,
            consent.until_ms,
        )

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO memory_consents (record_id, imp, user_id, channel_id, field, purpose,"
                " level, at_ms, until_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )

        await self._database.write(work)

    async def last(
        self, imp: ImpName, user_id: UserId, channel_id: ChannelId | None, purpose: Purpose
    ) -> Consent | None:
        """Read a person's last word; whether it still holds is the caller's question."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT level, at_ms, until_ms FROM memory_consents WHERE user_id = ? AND imp = ?"
                " AND channel_id = ? AND purpose = ? ORDER BY seq DESC LIMIT 1",
                (user_id, imp, channel_id or "", purpose.value),
            ).fetchone()
        )
        if row is None:
            return None
        return Consent(
            imp=imp,
            user_id=user_id,
            channel_id=channel_id,
            purpose=purpose,
            level=ConsentLevel(row[0]),
            at_ms=row[1],
            until_ms=row[2],
        )


def consent_record(consent: Consent) -> CanonicalRecord:
    """Give the canonical record of a word: a grant, or a withdrawal."""
    withdrawn = consent.level is ConsentLevel.OFF
    payload = canonical_bytes(
        {
            "field": FIELD,
            "purpose": consent.purpose.value,
            "scope": consent.channel_id or "dm",
            "level": consent.level.value,
            "until": None if consent.until_ms is None else timestamp(from_ms(consent.until_ms)),
        }
    )
    return make_record(
        kind=RecordKind.CONSENT_WITHDRAWAL if withdrawn else RecordKind.CONSENT_GRANT,
        payload=payload,
        encoding=PayloadEncoding.JCS,
        provenance=ProvenanceEnvelope(
            creator_class=CreatorClass.PERSON,
            created_at=timestamp(from_ms(consent.at_ms)),
            creator_id_hash=sha256_fields("inglenook-user-v1", (consent.user_id,)),
            trust_class=TrustClass.EXPLICIT,
            agent_binding_hash=sha256_fields("inglenook-imp-v1", (consent.imp,)),
            sensitivity=SensitivityClass.PERSONAL,
            untrusted_data=False,
        ),
    )
