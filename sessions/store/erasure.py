"""Forgetting in the two databases, so that a host killed anywhere in between finishes it.

1. ``bury``, one transaction of the main database: tombstones in the place of records, contents and
   history copies gone, and a *pending* row that says what is left to do.
2. The key store destroys the keys and writes the register (``Vault.destroy``).
3. Sessions that hold the text end, and the engine's files of their runs go.
4. ``settle``: the receipt, and the pending row goes.

From 1 on nothing can be selected; from 2 on no copy of the file can be opened. Each step may be
repeated. At every start the register is held against the main database (``returned``), so one that
was brought back from a copy is brought to where it was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from compiler.lifecycle import LifecycleEvent, next_status
from compiler.records import RecordStatus
from compiler.request import ChannelId, RunId
from sessions.memory.notes import NoteRow
from sessions.store.burials import Burial, ConcernedRun, Pending, keep_pending, pending_of
from sessions.store.database import Database
from sessions.store.note_rows import chain_of
from sessions.store.sql import in_chunks

_PAGE: Final = 2_000
"""Messages looked through at once; the database serves others in between."""
_AFTER: Final = {
    "channel_id": "(ordinal, message_id) > (:ordinal, :id) ORDER BY ordinal, message_id",
    "author_id": "message_id > :id ORDER BY message_id",
}
"""How each index goes on from a message."""
TextTest = Callable[[str], bool]
_Shelf = tuple[str, str]
"""Messages that belong together: a column of ``history``, and its value."""


class ErasureStore:
    """Tombstones, pending forgettings and receipts; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def family(self, record_ids: Sequence[str]) -> tuple[NoteRow, ...]:
        """Read all that goes with some records: their other versions, and what was derived."""
        return tuple(await self._database.read(lambda db: _family(db, record_ids)))

    async def bury(self, burial: Burial, *, holds_text: TextTest) -> Pending:
        """Put tombstones in place, and empty contents and history copies, in one transaction.

        ``holds_text`` is asked of each message in the conversations concerned, and of the person's
        own words anywhere: ahead of the transaction, part by part, and within it of what came
        since. Records that are tombstoned already stay as they are.
        """
        looked: dict[_Shelf, int] = {}
        copies: set[str] = set()
        for shelf in await self._database.read(lambda db: _concerned(db, burial).shelves):
            found, looked[shelf] = await self._look_through(shelf, holds_text)
            copies |= found

        def work(db: sqlite3.Connection) -> Pending:
            concerned = _concerned(db, burial)
            messages = {*burial.message_ids, *_answers(db, burial.turn_ids), *copies}
            for shelf in concerned.shelves:
                messages |= _newer_copies(db, shelf, looked.get(shelf, -1), holds_text)
            whole = _with_summaries(db, burial, messages)
            if whole is not burial:
                concerned = _concerned(db, whole)
            places = concerned.places | _empty_messages(db, messages)
            for record_id in whole.record_ids:
                _tombstone(db, record_id, whole)
            pending = Pending(
                burial=whole,
                message_ids=tuple(sorted(messages)),
                channel_ids=tuple(sorted(places)),
                run_ids=tuple(sorted(concerned.runs)),
            )
            keep_pending(db, pending)
            return pending

        return await self._database.write(work)

    async def _look_through(self, shelf: _Shelf, holds_text: TextTest) -> tuple[set[str], int]:
        """Find the copies among some messages; give the newest's place in time as well."""
        column, value = shelf
        query = (
            "SELECT message_id, ordinal, text FROM history"  # noqa: S608
            f" WHERE deleted = 0 AND {column} = :value AND {_AFTER[column]} LIMIT :page"
        )
        copies: set[str] = set()
        last_id, last_ordinal, newest = "", -1, -1
        more = True
        while more:
            values = {"value": value, "id": last_id, "ordinal": last_ordinal, "page": _PAGE}

            def work(
                db: sqlite3.Connection, values: dict[str, object] = values
            ) -> tuple[list[tuple[str, int]], set[str]]:
                rows = db.execute(query, values).fetchall()
                return [row[:2] for row in rows], {row[0] for row in rows if holds_text(row[2])}

            seen, found = await self._database.read(work)
            copies |= found
            more = len(seen) == _PAGE
            if seen:
                last_id, last_ordinal = seen[-1]
                newest = max(newest, *(ordinal for _, ordinal in seen))
        return copies, newest

    async def late_answers(self, pending: Pending) -> Pending:
        """Empty the answers of the turns concerned that were posted since."""

        def work(db: sqlite3.Connection) -> Pending:
            messages = _answers(db, pending.burial.turn_ids)
            _empty_messages(db, messages)
            every = sorted({*pending.message_ids, *messages})
            changed = replace(pending, message_ids=tuple(every))
            keep_pending(db, changed)
            return changed

        return await self._database.write(work)

    async def concerned_runs(
        self, channel_ids: Sequence[str], run_ids: Sequence[str]
    ) -> tuple[ConcernedRun, ...]:
        """List the runs of some conversations, and some by name; each once."""
        columns = "SELECT run_id, channel_id, ended_at IS NULL FROM runs WHERE"

        def work(db: sqlite3.Connection) -> list[Any]:
            return [
                *in_chunks(db, f"{columns} channel_id IN", channel_ids),
                *in_chunks(db, f"{columns} run_id IN", run_ids),
            ]

        rows = await self._database.read(work)
        return tuple(
            ConcernedRun(
                run_id=RunId(run_id),
                channel_id=None if channel_id is None else ChannelId(channel_id),
                is_open=bool(is_open),
            )
            for run_id, channel_id, is_open in sorted(set(rows))
        )

    async def keep(self, pending: Pending) -> None:
        """Write down how far a forgetting has come."""
        await self._database.write(lambda db: keep_pending(db, pending))

    async def settle(self, pending: Pending, *, document: str, finished: bool) -> None:
        """Write the receipt and, if nothing is left to do, take the pending row away."""
        burial = pending.burial

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT OR REPLACE INTO memory_receipts VALUES (?, ?, ?)",
                (burial.receipt_id, burial.at_ms, document),
            )
            results = "UPDATE tasks SET result = '' WHERE run_id IN"
            in_chunks(db, results, pending.run_ids)  # told in the shell alone
            if finished:
                db.execute("DELETE FROM memory_pending WHERE receipt_id = ?", (burial.receipt_id,))
            else:
                keep_pending(db, pending)

        await self._database.write(work)

    async def pending(self) -> tuple[Pending, ...]:
        """Read what is unfinished."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT detail FROM memory_pending ORDER BY receipt_id"
            ).fetchall()
        )
        return tuple(pending_of(str(row[0])) for row in rows)

    async def receipt(self, receipt_id: str) -> str | None:
        """Read a receipt's document."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT document FROM memory_receipts WHERE receipt_id = ?", (receipt_id,)
            ).fetchone()
        )
        return None if row is None else str(row[0])

    async def tombstoned(self) -> frozenset[str]:
        """Read the ids of all that was forgotten."""
        rows = await self._database.read(
            lambda db: db.execute("SELECT record_id FROM memory_tombstones").fetchall()
        )
        return frozenset(str(row[0]) for row in rows)

    async def returned(
        self,
        *,
        record_ids: Iterable[str],
        message_ids: Iterable[str],
        run_ids: Iterable[str],
        turn_ids: Iterable[str],
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Say what of the register is there again: records with content, messages, open runs."""

        def work(
            db: sqlite3.Connection,
        ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
            records = in_chunks(
                db,
                "SELECT record_id FROM memory_records WHERE status != 'tombstoned'"
                " AND record_id IN",
                sorted(record_ids),
            )
            messages = in_chunks(
                db,
                "SELECT message_id FROM history WHERE deleted = 0 AND message_id IN",
                sorted({*message_ids, *_answers(db, sorted(turn_ids))}),
            )
            runs = in_chunks(
                db,
                "SELECT run_id FROM runs WHERE ended_at IS NULL AND run_id IN",
                sorted(run_ids),
            )
            return (
                tuple(str(row[0]) for row in records),
                tuple(str(row[0]) for row in messages),
                tuple(str(row[0]) for row in runs),
            )

        return await self._database.read(work)

    async def empty_messages(self, message_ids: Sequence[str]) -> None:
        """Take the text out of history messages."""
        await self._database.write(lambda db: _empty_messages(db, message_ids))

    async def expired_before(self, at_ms: int, limit: int) -> tuple[str, ...]:
        """Find records whose time was over before a moment and that still have their content."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT record_id FROM memory_records WHERE expires_ms < ?"
                " AND status = 'expired' LIMIT ?",
                (at_ms, limit),
            ).fetchall()
        )
        return tuple(str(row[0]) for row in rows)


def _family(db: sqlite3.Connection, record_ids: Sequence[str]) -> list[NoteRow]:
    found: dict[str, NoteRow] = {}
    ahead = list(record_ids)
    while ahead:
        chosen = ahead.pop()
        if chosen in found:
            continue
        for row in chain_of(db, chosen):
            found[row.record_id] = row
            derived = "SELECT record_id FROM memory_lineage WHERE source_id = ?"
            ahead += (str(each[0]) for each in db.execute(derived, (row.record_id,)))
    return sorted(found.values(), key=lambda row: (row.created_ms, row.record_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Concerned:
    """What a burial concerns: runs, conversations, and where copies may lie."""

    runs: frozenset[str]
    places: frozenset[str]
    shelves: tuple[_Shelf, ...]


def _concerned(db: sqlite3.Connection, burial: Burial) -> _Concerned:
    rows = [_row_of(db, each) for each in burial.record_ids]
    runs = _runs_of(db, burial)
    places = {str(place) for row in rows if row is not None for place in row[:2] if place}
    places |= _channels_of(db, runs)
    authors = {str(row[2]) for row in rows if row is not None and row[2]}
    shelves = [("channel_id", place) for place in sorted(places)]
    shelves += [("author_id", author) for author in sorted(authors)]
    return _Concerned(runs=frozenset(runs), places=frozenset(places), shelves=tuple(shelves))


def _with_summaries(db: sqlite3.Connection, burial: Burial, message_ids: Iterable[str]) -> Burial:
    """Add the summaries of some messages, with all their versions and what was made of them."""
    query = "SELECT DISTINCT record_id FROM summary_sources WHERE message_id IN"
    found = [str(row[0]) for row in in_chunks(db, query, sorted(message_ids))]
    living = {
        row.record_id for row in _family(db, found) if row.status is not RecordStatus.TOMBSTONED
    }
    if living <= {*burial.record_ids}:
        return burial
    return replace(burial, record_ids=tuple(sorted({*burial.record_ids, *living})))


def _row_of(db: sqlite3.Connection, record_id: str) -> Any:  # noqa: ANN401 - a row of SQLite's
    return db.execute(
        "SELECT channel_id, place_id, CASE subject_id WHEN '' THEN author_id ELSE subject_id END"
        " FROM memory_records WHERE record_id = ?",
        (record_id,),
    ).fetchone()


def _tombstone(db: sqlite3.Connection, record_id: str, burial: Burial) -> None:
    row = db.execute(
        "SELECT status FROM memory_records WHERE record_id = ?", (record_id,)
    ).fetchone()
    if row is None or row[0] == RecordStatus.TOMBSTONED.value:
        return
    status, _ = next_status(RecordStatus(row[0]), LifecycleEvent.TOMBSTONE)
    db.execute(
        "UPDATE memory_records SET status = ?, pinned = 0, nonce = NULL, sealed = NULL"
        " WHERE record_id = ?",
        (status.value, record_id),
    )
    db.execute(
        "INSERT OR IGNORE INTO memory_tombstones VALUES (?, ?, ?, ?, ?)",
        (record_id, burial.by_id, burial.at_ms, burial.reason, burial.receipt_id),
    )


def _runs_of(db: sqlite3.Connection, burial: Burial) -> set[str]:
    held = in_chunks(db, "SELECT run_id FROM memory_runs WHERE record_id IN", burial.record_ids)
    took = in_chunks(db, "SELECT run_id FROM turns WHERE turn_id IN", burial.turn_ids)
    return {str(row[0]) for row in (*held, *took)}


def _channels_of(db: sqlite3.Connection, run_ids: Iterable[str]) -> set[str]:
    query = "SELECT channel_id FROM runs WHERE channel_id IS NOT NULL AND run_id IN"
    return {str(row[0]) for row in in_chunks(db, query, sorted(run_ids))}


def _newer_copies(
    db: sqlite3.Connection, shelf: _Shelf, since: int, holds_text: TextTest
) -> set[str]:
    """Find the copies among the messages that came after a place in time."""
    column, value = shelf
    query = (
        "SELECT message_id, text FROM history"  # noqa: S608
        f" WHERE deleted = 0 AND {column} = ? AND ordinal > ?"
    )
    rows = db.execute(query, (value, since))
    return {str(message_id) for message_id, text in rows if holds_text(text)}


def _answers(db: sqlite3.Connection, turn_ids: Sequence[str]) -> set[str]:
    query = "SELECT message_id FROM replies WHERE turn_id IN"
    return {str(row[0]) for row in in_chunks(db, query, turn_ids)}


def _empty_messages(db: sqlite3.Connection, message_ids: Iterable[str]) -> set[str]:
    """Take the text out of messages; give the conversations in which they were."""
    places: set[str] = set()
    for message_id in message_ids:
        row = db.execute(
            "SELECT channel_id FROM history WHERE message_id = ?", (message_id,)
        ).fetchone()
        if row is not None:
            places.add(str(row[0]))
            db.execute(
                "UPDATE history SET text = '', author_label = '', deleted = 1 WHERE message_id = ?",
                (message_id,),
            )
    return places
