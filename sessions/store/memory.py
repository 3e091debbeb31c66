"""Notes in SQLite: rows in the open, contents sealed, each change one transaction.

A new note's key is kept before its row is written, so a row without a key never comes to be; a host
killed between the two leaves a key that opens nothing. What is forgotten goes through
``sessions.store.erasure``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from compiler.audience import Binding
from compiler.lifecycle import LifecycleEvent, next_status
from compiler.records import RecordKind, RecordStatus
from compiler.request import ImpName, MessageId, RunId, UserId
from sessions.memory.notes import (
    Note,
    NoteRow,
    ShortIds,
    binding_fields,
    content_bytes,
    new_short_id,
    with_content,
)
from sessions.store.database import Database
from sessions.store.note_rows import COLUMNS, StoredNote, chain_of, insert_row, stored_of
from sessions.store.vault import Sealed, Vault

MAX_LISTED: Final = 1_000
MAX_LEFT: Final = 50
"""Of a binding's notes that can never be chosen, the newest that are named with their reason."""
_ID_ATTEMPTS: Final = 5
_IN_BINDING: Final = "imp = ? AND scope = ? AND guild_id = ? AND channel_id = ? AND user_id = ?"
_LIVING: Final = (RecordStatus.ACTIVE.value, RecordStatus.PENDING.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Notes whose content could be opened, in the order asked for, and the rows of the others."""

    notes: tuple[Note, ...]
    unreadable: tuple[NoteRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Which notes an asker can name: his own, and only those of ``bindings`` if that is given.

    ``user_id`` None is the owner's reach: everybody's.
    """

    user_id: UserId | None
    bindings: tuple[Binding, ...] | None = None


class MemoryStore:
    """The table ``memory_records``; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database, vault: Vault, *, ids: ShortIds = new_short_id) -> None:
        self._database = database
        self._vault = vault
        self._ids = ids

    async def add(
        self, note: Note, *, supersedes: Sequence[str] = (), sources: Sequence[str] = ()
    ) -> Note:
        """Write a new note, and in the same transaction end those that it replaces.

        Args:
            note: with its identity (``notes.with_identity``).
            supersedes: ids of records, in use or waiting for consent, that it says better.
            sources: ids of records that it was derived from.

        Returns:
            The note with its short id.

        Raises:
            IllegalTransition: one that it should replace cannot be replaced any more.
        """
        record_id = note.row.record_id
        try:
            sealed = await self._vault.seal(
                record_id, content_bytes(note), binding=binding_fields(note.row.binding)
            )
            return await self._insert(note, sealed, tuple(supersedes), tuple(sources))
        except BaseException:
            # A cancelled wait may have ended a moment after the row was written.
            if await self.get(record_id) is None:
                await self._vault.discard(record_id)
            raise

    async def _insert(
        self, note: Note, sealed: Sealed, supersedes: tuple[str, ...], sources: tuple[str, ...]
    ) -> Note:
        def work(db: sqlite3.Connection) -> str:
            short_id = self._free_id(db)
            insert_row(db, replace(note.row, short_id=short_id), sealed)
            for old in supersedes:
                _supersede(db, old, by=note.row.record_id)
            db.executemany(
                "INSERT OR IGNORE INTO memory_lineage VALUES (?, ?)",
                [(source, note.row.record_id) for source in sources],
            )
            if note.row.run_id:
                _keep_use(db, note.row.run_id, (note.row.record_id,))
            return short_id

        short_id = await self._database.write(work)
        return replace(note, row=replace(note.row, short_id=short_id))

    def _free_id(self, db: sqlite3.Connection) -> str:
        for _ in range(_ID_ATTEMPTS):
            short_id = self._ids()
            query = "SELECT 1 FROM memory_records WHERE short_id = ?"
            if db.execute(query, (short_id,)).fetchone() is None:
                return short_id
        raise sqlite3.IntegrityError("no free short id")

    async def find(self, short_id: str, reach: Reach) -> StoredNote | None:
        """Find a note by its short id within an asker's reach.

        What does not exist and what is out of reach cannot be told apart, by time neither: one
        look-up answers both.
        """
        query = f"SELECT {COLUMNS}, nonce, sealed FROM memory_records WHERE short_id = ?"  # noqa: S608
        row = await self._database.read(lambda db: db.execute(query, (short_id,)).fetchone())
        stored = None if row is None else stored_of(row)
        return stored if stored is not None and _within(stored.row, reach) else None

    async def get(self, record_id: str) -> StoredNote | None:
        """Read one record by its full id."""
        query = f"SELECT {COLUMNS}, nonce, sealed FROM memory_records WHERE record_id = ?"  # noqa: S608
        row = await self._database.read(lambda db: db.execute(query, (record_id,)).fetchone())
        return None if row is None else stored_of(row)

    async def of_binding(self, binding: Binding) -> tuple[StoredNote, ...]:
        """Read the notes of one binding: all that live, and the newest of those that ended."""
        living = (
            f"SELECT {COLUMNS}, nonce, sealed FROM memory_records"  # noqa: S608
            f" WHERE {_IN_BINDING} AND status = ?"
        )
        ended = (
            f"SELECT {COLUMNS}, nonce, NULL FROM memory_records"  # noqa: S608
            f" WHERE {_IN_BINDING} AND status = ? ORDER BY created_ms DESC LIMIT ?"
        )
        fields = binding_fields(binding)

        def work(db: sqlite3.Connection) -> list[Any]:
            rows: list[Any] = []
            for status in RecordStatus:
                if status.value in _LIVING:
                    rows += db.execute(living, (*fields, status.value))
                else:
                    rows += db.execute(ended, (*fields, status.value, MAX_LEFT))
            return rows

        return tuple(stored_of(row) for row in await self._database.read(work))

    async def ids_of_binding(self, binding: Binding) -> tuple[str, ...]:
        """Read the short ids of a binding's active notes and nothing else of them."""
        query = f"SELECT short_id FROM memory_records WHERE {_IN_BINDING} AND status = 'active'"  # noqa: S608
        fields = binding_fields(binding)
        rows = await self._database.read(lambda db: db.execute(query, fields).fetchall())
        return tuple(sorted(str(row[0]) for row in rows))

    async def living_in(self, binding: Binding, *, summaries: bool = False) -> int:
        """Count the notes of a binding that are active or wait: its summaries, or all others."""
        query = (
            f"SELECT count(*) FROM memory_records WHERE {_IN_BINDING}"  # noqa: S608
            " AND status IN ('active', 'pending') AND (kind = ?) = ?"
        )
        fields = (*binding_fields(binding), RecordKind.SHORT_TERM_SUMMARY, summaries)
        (number,) = await self._database.read(lambda db: db.execute(query, fields).fetchone())
        return int(number)

    async def of_person(
        self, user_id: UserId | None, *, imp: ImpName | None = None, tombstones: bool = False
    ) -> tuple[StoredNote, ...]:
        """Read a person's own notes, the newest first; with None, everybody's."""
        # UNION, so that each half has its index.
        halves = ("subject_id = :user", "subject_id = '' AND author_id = :user")
        where = " AND (:imp IS NULL OR imp = :imp) AND (:gone OR status != 'tombstoned')"
        chosen = ("1",) if user_id is None else halves
        query = " UNION ".join(
            f"SELECT {COLUMNS}, nonce, sealed FROM memory_records WHERE {half}{where}"  # noqa: S608
            for half in chosen
        )
        values = {"user": user_id, "imp": imp, "gone": tombstones, "limit": MAX_LISTED}
        rows = await self._database.read(
            lambda db: db.execute(
                f"SELECT * FROM ({query}) ORDER BY created_ms DESC, record_id LIMIT :limit",  # noqa: S608
                values,
            ).fetchall()
        )
        return tuple(stored_of(row) for row in rows)

    async def of_message(self, message_id: MessageId) -> tuple[StoredNote, ...]:
        """Read the notes that were made of a message, whoever's they are, and its summaries."""
        query = (
            f"SELECT {COLUMNS}, nonce, sealed FROM memory_records"  # noqa: S608
            " WHERE (message_id = ?1 OR record_id IN"
            " (SELECT record_id FROM summary_sources WHERE message_id = ?1))"
            " AND status != 'tombstoned' ORDER BY record_id"
        )
        rows = await self._database.read(lambda db: db.execute(query, (message_id,)).fetchall())
        return tuple(stored_of(row) for row in rows)

    async def sealed_after(self, record_id: str) -> tuple[StoredNote, ...]:
        """Read the next records that have a content, in the order of their ids, from all people."""
        query = (
            f"SELECT {COLUMNS}, nonce, sealed FROM memory_records"  # noqa: S608
            " WHERE record_id > ? AND sealed IS NOT NULL ORDER BY record_id LIMIT ?"
        )
        values = (record_id, MAX_LISTED)
        rows = await self._database.read(lambda db: db.execute(query, values).fetchall())
        return tuple(stored_of(row) for row in rows)

    async def chain(self, record_id: str) -> tuple[NoteRow, ...]:
        """Read all versions of a note, the oldest first."""
        return tuple(await self._database.read(lambda db: chain_of(db, record_id)))

    async def open(self, stored: Iterable[StoredNote]) -> Opened:
        """Open contents.

        Raises:
            KeysUnavailable: the key store has a fault.
        """
        given = [each for each in stored if each.sealed is not None]
        plain = await self._vault.open(
            (each.row.record_id, each.sealed, binding_fields(each.row.binding))
            for each in given
            if each.sealed is not None
        )
        notes: list[Note] = []
        unreadable: list[NoteRow] = []
        for each in given:
            content = plain.get(each.row.record_id)
            try:
                if content is None:
                    unreadable.append(each.row)
                else:
                    notes.append(with_content(each.row, content))
            except ValueError:
                unreadable.append(each.row)
        return Opened(notes=tuple(notes), unreadable=tuple(unreadable))

    async def advance(self, record_id: str, event: LifecycleEvent) -> RecordStatus:
        """Move a record on in its life; for all but the tombstone.

        Raises:
            IllegalTransition: there is no such move; nothing changed.
        """
        return await self._database.write(lambda db: _advance(db, record_id, event))

    async def expire(self, record_ids: Sequence[str]) -> None:
        """Write down that records were seen to be past their time, so no clock brings them back."""

        def work(db: sqlite3.Connection) -> None:
            db.executemany(
                "UPDATE memory_records SET status = 'expired' WHERE record_id = ?"
                " AND status IN ('active', 'pending')",
                [(each,) for each in record_ids],
            )

        await self._database.write(work)

    async def pin(self, record_id: str, *, pinned: bool) -> None:
        """Set or take the pin of a record."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE memory_records SET pinned = ? WHERE record_id = ?", (pinned, record_id)
            )

        await self._database.write(work)

    async def keep_use(self, run_id: RunId, short_ids: Sequence[str]) -> None:
        """Write down that a run's context holds these records, before it does."""
        query = (
            "INSERT OR IGNORE INTO memory_runs"
            " SELECT record_id, ? FROM memory_records WHERE short_id = ?"
        )

        def work(db: sqlite3.Connection) -> None:
            db.executemany(query, [(run_id, each) for each in short_ids])

        await self._database.write(work)

    async def forgotten_at(self, record_id: str) -> int | None:
        """Read when a record was forgotten, in Unix milliseconds."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT at_ms FROM memory_tombstones WHERE record_id = ?", (record_id,)
            ).fetchone()
        )
        return None if row is None else int(row[0])

    async def statuses(self) -> dict[str, int]:
        """Count all records by status, for the owner."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT status, count(*) FROM memory_records GROUP BY status"
            ).fetchall()
        )
        return {str(status): int(number) for status, number in rows}


def _keep_use(db: sqlite3.Connection, run_id: str, record_ids: Sequence[str]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO memory_runs VALUES (?, ?)", [(each, run_id) for each in record_ids]
    )


def _advance(db: sqlite3.Connection, record_id: str, event: LifecycleEvent) -> RecordStatus:
    (found,) = db.execute(
        "SELECT status FROM memory_records WHERE record_id = ?", (record_id,)
    ).fetchone()
    status, _ = next_status(RecordStatus(found), event)
    db.execute(
        "UPDATE memory_records SET status = ? WHERE record_id = ?", (status.value, record_id)
    )
    return status


def _supersede(db: sqlite3.Connection, record_id: str, *, by: str) -> None:
    """End a record that is said better; one that waits is in use at no time in between."""
    (found,) = db.execute(
        "SELECT status FROM memory_records WHERE record_id = ?", (record_id,)
    ).fetchone()
    if found == RecordStatus.PENDING:
        _advance(db, record_id, LifecycleEvent.CONSENT)
    _advance(db, record_id, LifecycleEvent.SUPERSEDE)
    db.execute("UPDATE memory_records SET superseded_by = ? WHERE record_id = ?", (by, record_id))


def _within(row: NoteRow, reach: Reach) -> bool:
    if reach.user_id is not None and reach.user_id != (row.subject_id or row.author_id):
        return False
    return reach.bindings is None or row.binding in reach.bindings
