"""What is old enough to go, and its going, in small transactions.

The row of a run outlives its trace: ``trace_events`` and ``trace_head_sha256`` say where the chain
ended. ``pruned_chain`` is set before the files go and ``pruned_at`` after, so that what a killed
host left half done is found and finished.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from compiler.request import RunId
from sessions.store.database import Database
from sessions.traces.chain import ChainEnd

PAGE: Final = 2_000
"""Runs read at once; the database serves others in between."""
ROWS: Final = 500
"""Rows deleted at once; each is overwritten as well."""
WHOLE: Final = "whole"
MISSING: Final = "missing"
"""There was no file any more."""
_MAY_GO: Final = (
    "ended_at IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM warm_sessions WHERE warm_sessions.run_id = runs.run_id)"
    " AND NOT EXISTS (SELECT 1 FROM gates WHERE gates.run_id = runs.run_id"
    " AND gates.state IN ('pending', 'approved', 'executing'))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """A run whose files are there. ``ended_at`` is None while they may not go."""

    run_id: RunId
    ended_at: str | None
    events: int
    head_sha256: str | None


class RetentionStore:
    """Every method raises ``StoreUnavailable`` when the database cannot answer in time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def traces(self, *, after: str = "", before: str = "\x7f") -> tuple[TraceRow, ...]:
        """Read runs that still have files, in the order of their ids, a page behind ``after``."""
        return await self._traces("run_id > ? AND run_id < ?", (after, before))

    async def trace(self, run_id: RunId) -> TraceRow | None:
        """Read one run, if it still has files."""
        found = await self._traces("run_id = ?", (run_id,))
        return found[0] if found else None

    async def _traces(self, where: str, values: tuple[str, ...]) -> tuple[TraceRow, ...]:
        query = (
            f"SELECT run_id, CASE WHEN {_MAY_GO} THEN ended_at END, trace_events,"  # noqa: S608
            " trace_head_sha256 FROM runs INDEXED BY runs_with_trace"
            f" WHERE pruned_at IS NULL AND {where} ORDER BY run_id LIMIT {PAGE}"
        )
        rows = await self._database.read(lambda db: db.execute(query, values).fetchall())
        return tuple(
            TraceRow(run_id=RunId(row[0]), ended_at=row[1], events=row[2], head_sha256=row[3])
            for row in rows
        )

    async def doom(self, run_id: RunId, end: ChainEnd | None) -> bool:
        """Write down where a run's chain ends, ahead of its files' going; False: they stay."""

        def work(db: sqlite3.Connection) -> bool:
            if end is None:
                db.execute(
                    f"UPDATE runs SET pruned_chain = ? WHERE run_id = ? AND {_MAY_GO}"  # noqa: S608
                    " AND pruned_chain IS NULL",
                    (MISSING, run_id),
                )
            else:
                db.execute(
                    "UPDATE runs SET pruned_chain = ?, trace_events = ?, trace_head_sha256 = ?"  # noqa: S608
                    f" WHERE run_id = ? AND {_MAY_GO} AND pruned_chain IS NULL",
                    (WHOLE, end.events, end.head_sha256, run_id),
                )
            return (
                db.execute(
                    "SELECT 1 FROM runs WHERE run_id = ? AND pruned_chain IS NOT NULL", (run_id,)
                ).fetchone()
                is not None
            )

        return await self._database.write(work)

    async def gone(self, run_id: RunId, *, at: str) -> None:
        """Write down that a run's files are gone."""
        await self._database.write(
            lambda db: db.execute(
                "UPDATE runs SET pruned_at = ? WHERE run_id = ?", (at, run_id)
            ).close()
        )

    async def recorded(self, ended_before: str, limit: int) -> tuple[RunId, ...]:
        """Find runs that ended before a moment, have no files and still have turns."""
        query = (
            "SELECT run_id FROM turns JOIN runs USING (run_id) WHERE turns.run_id < ?"
            " AND pruned_at IS NOT NULL AND ended_at < ? GROUP BY run_id ORDER BY run_id LIMIT ?"
        )
        values = (run_prefix(ended_before), ended_before, limit)
        rows = await self._database.read(lambda db: db.execute(query, values).fetchall())
        return tuple(RunId(row[0]) for row in rows)

    async def drop_turns(self, run_ids: Sequence[RunId]) -> int:
        """Delete the turns of some runs, and which messages answered them."""

        def work(db: sqlite3.Connection) -> int:
            count = 0
            for run_id in run_ids:
                db.execute(
                    "DELETE FROM replies WHERE turn_id IN"
                    " (SELECT turn_id FROM turns WHERE run_id = ?1) AND run_id = ?1",
                    (run_id,),
                )
                count += db.execute("DELETE FROM turns WHERE run_id = ?", (run_id,)).rowcount
            return count

        return await self._database.write(work)

    async def count_messages(self, before: int) -> int:
        """Count the messages whose place in time is before another."""
        query = "SELECT count(*) FROM history WHERE ordinal < ?"
        (count,) = await self._database.read(lambda db: db.execute(query, (before,)).fetchone())
        return int(count)

    async def drop_messages(self, before: int) -> int:
        """Delete some of the messages before a place in time; 0: none is left."""
        return await self._database.write(
            lambda db: (
                db.execute(
                    "DELETE FROM history WHERE message_id IN"
                    " (SELECT message_id FROM history WHERE ordinal < ? ORDER BY ordinal LIMIT ?)",
                    (before, ROWS),
                ).rowcount
            )
        )


def run_prefix(moment: str) -> str:
    """Give what ids of runs begin with that start at a moment: ``2026-11-29-23-16-35``."""
    return moment[:19].replace("T", "-").replace(":", "-")
