"""Rows of the table ``memory_records``: written and read back, column by column."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from compiler.audience import Binding, MemoryScope
from compiler.records import CreatorClass, RecordKind, RecordStatus, TrustClass
from compiler.request import ChannelId, GuildId, ImpName, UserId
from sessions.memory.notes import NoteRow, binding_fields
from sessions.store.sql import marks
from sessions.store.vault import Sealed

COLUMNS: Final = (
    "record_id, short_id, kind, imp, scope, guild_id, channel_id, user_id, subject_id, author_id,"
    " creator, trust, status, pinned, created_ms, expires_ms, message_id, place_id, run_id,"
    " turn_id, supersedes, superseded_by"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNote:
    """A row with its content as it lies there; a tombstone has none."""

    row: NoteRow
    sealed: Sealed | None


def chain_of(db: sqlite3.Connection, record_id: str) -> list[NoteRow]:
    """Read the rows that a record replaced or was replaced by, itself included; oldest first."""
    one = f"SELECT {COLUMNS} FROM memory_records WHERE record_id = ?"  # noqa: S608
    found: dict[str, NoteRow] = {}
    ahead = [record_id]
    while ahead:
        chosen = ahead.pop()
        values = None if chosen in found else db.execute(one, (chosen,)).fetchone()
        if values is None:
            continue
        row = found[chosen] = _row(values)
        ahead += filter(None, (row.supersedes, row.superseded_by))
        for column in ("supersedes", "superseded_by"):
            linked = f"SELECT record_id FROM memory_records WHERE {column} = ? AND {column} != ''"  # noqa: S608
            ahead += (str(each[0]) for each in db.execute(linked, (chosen,)))
    return sorted(found.values(), key=lambda row: (row.created_ms, row.record_id))


def insert_row(db: sqlite3.Connection, row: NoteRow, sealed: Sealed) -> None:
    """Write a new row with its sealed content."""
    values = (
        row.record_id,
        row.short_id,
        row.kind.value,
        *binding_fields(row.binding),
        row.subject_id or "",
        row.author_id or "",
        row.creator.value,
        row.trust.value,
        row.status.value,
        row.pinned,
        row.created_ms,
        row.expires_ms,
        row.message_id,
        row.place_id,
        row.run_id,
        row.turn_id,
        row.supersedes,
        row.superseded_by,
        sealed.nonce,
        sealed.ciphertext,
    )
    db.execute(
        f"INSERT INTO memory_records ({COLUMNS}, nonce, sealed) VALUES ({marks(values)})",  # noqa: S608
        values,
    )


def stored_of(values: Sequence[Any]) -> StoredNote:
    """Read a row with its content, in the order of ``COLUMNS``, nonce and content last."""
    *fields, nonce, sealed = values
    content = None if sealed is None else Sealed(nonce=bytes(nonce), ciphertext=bytes(sealed))
    return StoredNote(row=_row(fields), sealed=content)


def _row(values: Sequence[Any]) -> NoteRow:
    """Read a row, in the order of ``COLUMNS``."""
    (record_id, short_id, kind, imp, scope, guild, channel, user, subject, author) = values[:10]
    (creator, trust, status, pinned, created_ms, expires_ms) = values[10:16]
    (message_id, place_id, run_id, turn_id, supersedes, superseded_by) = values[16:]
    return NoteRow(
        record_id=record_id,
        short_id=short_id,
        kind=RecordKind(kind),
        binding=Binding(
            imp=ImpName(imp),
            scope=MemoryScope(scope),
            guild_id=GuildId(guild) if guild else None,
            channel_id=ChannelId(channel) if channel else None,
            user_id=UserId(user) if user else None,
        ),
        subject_id=UserId(subject) if subject else None,
        author_id=UserId(author) if author else None,
        creator=CreatorClass(creator),
        trust=TrustClass(trust),
        status=RecordStatus(status),
        pinned=bool(pinned),
        created_ms=created_ms,
        expires_ms=expires_ms,
        message_id=message_id,
        place_id=place_id,
        run_id=run_id,
        turn_id=turn_id,
        supersedes=supersedes,
        superseded_by=superseded_by,
    )
