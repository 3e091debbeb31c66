"""What each summary was made of, and whether it still stands; the words are in the memory store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.request import ChannelId, ImpName, MessageId, RunId
from compiler.summaries import StaleReason, SummaryLineage, lineage_bytes, staleness
from sessions.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """A summary: its note, the hashes of its messages, the notes behind it."""

    record_id: str
    short_id: str
    sources: dict[str, str]
    notes: tuple[str, ...]
    newer: tuple[str, ...] = ()
    """Short ids of the notes that stand in the place of some of those."""


class SummaryStore:
    """Which summaries stand, and what on; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record_id_of(self, short_id: str) -> str:
        """Give the record behind a note's short id; empty if there is none."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT record_id FROM memory_records WHERE short_id = ?", (short_id,)
            ).fetchone()
        )
        return "" if row is None else str(row[0])

    async def add(
        self, lineage: SummaryLineage, *, imp: ImpName, channel_id: ChannelId, run_id: RunId
    ) -> None:
        """Write down what a summary was made of: messages, and the notes that its run was given.

        The notes' part is the lineage that forgetting follows: with one of them the summary goes.
        What an earlier summary among them was made of counts as well. From here on the tables
        themselves make it stale; what changed since its sources were read does so now.
        """
        record_id = lineage.summary_record_id
        sources = dict(zip(lineage.source_record_ids, lineage.source_record_hashes, strict=True))

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT OR IGNORE INTO memory_lineage SELECT record_id, ?1 FROM memory_runs"
                " WHERE run_id = ?2 AND record_id != ?1",
                (record_id, run_id),
            )
            db.executemany(
                "INSERT OR IGNORE INTO summary_sources VALUES (?, ?)",
                [(source, record_id) for source in sources],
            )
            for table, column in (
                ("summary_sources", "message_id"),
                ("memory_lineage", "source_id"),
            ):
                db.execute(
                    f"INSERT OR IGNORE INTO {table} SELECT {column}, ?1 FROM {table}"  # noqa: S608
                    " WHERE record_id IN"
                    " (SELECT source_id FROM memory_lineage WHERE record_id = ?1)",
                    (record_id,),
                )
            db.execute(
                "INSERT INTO summaries (record_id, imp, channel_id, lineage, lineage_sha256, stale)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    record_id,
                    imp,
                    channel_id,
                    lineage_bytes(lineage).decode(),
                    lineage.sha256,
                    _stale_now(db, record_id, sources),
                ),
            )

        await self._database.write(work)

    async def sources_of_run(self, run_id: RunId) -> tuple[MessageId, ...]:
        """Name the messages that a run answered and those that it answered with, in order."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT message_id FROM history WHERE deleted = 0 AND ("
                " message_id IN (SELECT replace(turn_id, ':message:', ':') FROM turns"
                "  WHERE run_id = ?1 AND outcome = 'replied')"
                " OR message_id IN (SELECT message_id FROM replies WHERE run_id = ?1))"
                " ORDER BY ordinal",
                (run_id,),
            ).fetchall()
        )
        return tuple(MessageId(row[0]) for row in rows)

    async def of_conversation(
        self,
        imp: ImpName,
        channel_id: ChannelId,
        stale: StaleReason | None = None,
        *,
        of: Sequence[MessageId] | None = None,
    ) -> tuple[SummaryRow, ...]:
        """Read a conversation's summaries that stand or are stale for one reason, newest first.

        ``of`` leaves out those that were made of none of these messages.
        """
        named = None if of is None else json.dumps(of)

        def work(db: sqlite3.Connection) -> list[SummaryRow]:
            rows = db.execute(
                "SELECT record_id, short_id, lineage FROM summaries JOIN memory_records"
                " USING (record_id) WHERE stale IS ?1 AND summaries.imp = ?2"
                " AND summaries.channel_id = ?3 AND status = 'active'"
                " AND (?4 IS NULL OR record_id IN"
                " (SELECT summary_sources.record_id FROM json_each(?4)"
                " JOIN summary_sources ON message_id = value))"
                " ORDER BY created_ms DESC, record_id",
                (stale, imp, channel_id, named),
            ).fetchall()
            return [_row(db, *map(str, each)) for each in rows]

        return tuple(await self._database.read(work))

    async def mark_stale(self, record_id: str, reason: StaleReason) -> None:
        """Note that a summary stands for nothing any more; no later event makes it fresh."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE summaries SET stale = ? WHERE record_id = ? AND stale IS NULL",
                (reason, record_id),
            )

        await self._database.write(work)


def _row(db: sqlite3.Connection, record_id: str, short_id: str, lineage: str) -> SummaryRow:
    fields = json.loads(lineage)
    ids, hashes = fields["source_record_ids"], fields["source_record_hashes"]
    notes = db.execute(
        "SELECT source_id FROM memory_lineage WHERE record_id = ? ORDER BY source_id", (record_id,)
    )
    newer = db.execute(
        "SELECT newer.short_id FROM memory_lineage"
        " JOIN memory_records AS older ON older.record_id = memory_lineage.source_id"
        " JOIN memory_records AS newer ON newer.record_id = older.superseded_by"
        " WHERE memory_lineage.record_id = ? ORDER BY newer.short_id",
        (record_id,),
    )
    return SummaryRow(
        record_id=record_id,
        short_id=short_id,
        sources=dict(zip(ids, hashes, strict=True)),
        notes=tuple(str(row[0]) for row in notes),
        newer=tuple(str(row[0]) for row in newer),
    )


def _stale_now(
    db: sqlite3.Connection, record_id: str, sources: Mapping[str, str]
) -> StaleReason | None:
    """Hold a new summary against its sources as they are in this very transaction."""
    texts: dict[str, str] = {}
    for message_id in sources:
        row = db.execute(
            "SELECT text FROM history WHERE message_id = ? AND deleted = 0", (message_id,)
        ).fetchone()
        if row is not None:
            texts[message_id] = str(row[0])
    ended = (
        "SELECT 1 FROM memory_lineage JOIN memory_records"
        " ON memory_records.record_id = memory_lineage.source_id"
        " WHERE memory_lineage.record_id = ? AND status != 'active'"
    )
    if db.execute(ended, (record_id,)).fetchone() is not None:
        return StaleReason.SOURCE_CHANGED
    return staleness(sources, texts)
