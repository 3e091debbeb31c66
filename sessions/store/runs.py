"""Runs, turns and replies: what the owner's inspection lists.

A run is one session of pi: its start and all its turns (CC "Trace and owner interface").
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from compiler.request import ChannelId, ImpName, MessageId, RunId, TurnId, UserId
from sessions.errors import SessionErrorCode
from sessions.inbound import OutcomeKind, Usage
from sessions.store.database import Database
from sessions.store.inbox import handle, join
from sessions.store.sql import marks
from sessions.store.warm import WarmRow, keep


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run. Times are UTC, ``2026-11-29T23:16:35.123Z``."""

    run_id: RunId
    surface: str
    imp: ImpName
    channel_id: ChannelId | None
    is_dm: bool
    started_at: str
    ended_at: str | None
    end_reason: str | None
    """``idle``, ``reset``, ``stopped``, ``evicted``, ``rollover``, ``failed``, ``shutdown``."""
    system_sha256: str | None
    route_key: str | None
    turns: int
    trace_events: int
    trace_head_sha256: str | None
    """Hash of the last trace line, so that a cut-off trace is noticed."""
    pruned_chain: str | None = None
    """``whole`` or ``missing``: how the trace was found when it had to go."""
    pruned_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One turn of a run; ``outcome`` is None while it runs. ``*_us`` are microseconds."""

    run_id: RunId
    turn_id: TurnId
    seq: int
    user_id: UserId | None
    accepted_at: str
    outcome: OutcomeKind | None
    error_code: str
    input_sha256: str | None
    reply_sha256: str | None
    wait_us: int
    compile_us: int
    trace_us: int
    first_text_us: int
    total_us: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceExtent:
    """How far the trace of a run goes: its events, and the hash of the last line."""

    events: int
    head_sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptedTurn:
    """A turn that the last host was killed in; who asked is still waiting for a word."""

    run_id: RunId
    turn_id: TurnId
    imp: ImpName
    channel_id: ChannelId | None
    user_id: UserId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """What a killed host left: turns without an outcome, and runs that were open."""

    turns: tuple[InterruptedTurn, ...]
    open_runs: tuple[RunId, ...]


_RUN_FIELDS = tuple(field.name for field in fields(RunRow))
_USAGE_FIELDS = tuple(field.name for field in fields(Usage))
_OWN_TURN_FIELDS = tuple(field.name for field in fields(TurnRow) if field.name != "usage")
_RUN = ", ".join(_RUN_FIELDS)
"""Columns are named as the fields, so there is one list of them."""
_TURN = ", ".join((*_OWN_TURN_FIELDS, *_USAGE_FIELDS))
_ID_CHARACTERS = frozenset("0123456789-abcdefghijklmnopqrstuvwxyz")
LATEST = "latest"
"""Stands for the run that began last."""
_LATEST_RUNS = 20
TELLING = "(turns > 0 OR end_reason = 'failed')"
"""The condition on runs that took a turn or failed; the others were warmed up in vain."""
MAX_LISTED = 1_000
"""No list is longer; what asks for more asks again from where it stopped."""


class RunStore:
    """The tables ``runs``, ``turns`` and ``replies``.

    Every method raises ``StoreUnavailable`` when the database cannot answer in time.
    """

    def __init__(self, database: Database, *, told: Callable[[RunId], None] | None = None) -> None:
        """Take the open database; ``told`` hears of each run that changed, once it is written."""
        self._database = database
        self._told = told or _nobody

    async def begin_run(self, row: RunRow) -> None:
        """Write down a run that starts; its id must be new."""
        await self._database.write(lambda db: _insert_run(db, row))
        self._told(row.run_id)

    async def set_start(
        self, run_id: RunId, *, system_sha256: str, route_key: str, extent: TraceExtent
    ) -> None:
        """Write down what a run was compiled to."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE runs SET system_sha256 = ?, route_key = ? WHERE run_id = ?",
                (system_sha256, route_key, run_id),
            )
            _set_extent(db, run_id, extent)

        await self._database.write(work)

    async def end_run(
        self, run_id: RunId, *, ended_at: str, reason: str, extent: TraceExtent | None = None
    ) -> None:
        """Close a run, and drop its claim to be resumed.

        Without ``extent`` what is known of the trace stays.
        """

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE runs SET ended_at = ?, end_reason = ? WHERE run_id = ?",
                (ended_at, reason, run_id),
            )
            if extent is not None:
                _set_extent(db, run_id, extent)
            db.execute("DELETE FROM warm_sessions WHERE run_id = ?", (run_id,))

        await self._database.write(work)
        self._told(run_id)

    async def begin_turn(self, row: TurnRow, *, joined: Sequence[MessageId] = ()) -> None:
        """Write down a turn that is about to reach pi, so that no delivered turn is unknown.

        ``joined`` are messages that are a part of it beside the one it is named for.
        """

        def work(db: sqlite3.Connection) -> None:
            _upsert_turn(db, row)
            join(db, row.turn_id, joined)

        await self._database.write(work)
        self._told(row.run_id)

    async def record_turn(
        self, row: TurnRow, extent: TraceExtent, *, warm: WarmRow | None = None
    ) -> None:
        """Write down how a turn ended, with its usage and, in the same transaction, its traces.

        ``warm`` is the session's claim to be resumed after a restart of the host.
        """

        def work(db: sqlite3.Connection) -> None:
            _upsert_turn(db, row)
            handle(db, row.turn_id)
            _set_extent(db, row.run_id, extent)
            if warm is not None:
                keep(db, warm)

        await self._database.write(work)
        self._told(row.run_id)

    async def set_extent(self, run_id: RunId, extent: TraceExtent) -> None:
        """Write down how far the trace of a run goes."""
        await self._database.write(lambda db: _set_extent(db, run_id, extent))

    async def list_runs(
        self,
        limit: int,
        *,
        imp: ImpName | None = None,
        channel: ChannelId | None = None,
        before: RunId | None = None,
        telling: bool = False,
    ) -> tuple[RunRow, ...]:
        """List runs, the latest first; ``before`` continues below a run."""
        narrower = (("imp = ?", imp), ("channel_id = ?", channel), ("run_id < ?", before))
        where, values = _conditions(TELLING if telling else "1", *narrower)
        # Ids begin with the time, and the names of columns are constants of this module.
        query = f"SELECT {_RUN} FROM runs WHERE {where} ORDER BY run_id DESC LIMIT ?"  # noqa: S608
        rows = await self._select(query, (*values, _bounded(limit)))
        return tuple(run_of(row) for row in rows)

    async def get_run(self, run_id: RunId) -> RunRow | None:
        """Read one run."""
        query = f"SELECT {_RUN} FROM runs WHERE run_id = ?"  # noqa: S608
        rows = await self._select(query, (run_id,))
        return run_of(rows[0]) if rows else None

    async def turns(self, run_id: RunId, *, after: int = 0) -> tuple[TurnRow, ...]:
        """Read the turns of a run in their order, from the one behind ``after`` on."""
        query = f"SELECT {_TURN} FROM turns WHERE run_id = ? AND seq > ? ORDER BY seq"  # noqa: S608
        return tuple(_turn(row) for row in await self._select(query, (run_id, after)))

    async def search_run_ids(self, prefix: str, limit: int) -> tuple[RunRow, ...]:
        """Find runs whose id begins so, the latest first; for completion while typing."""
        if not _ID_CHARACTERS.issuperset(prefix):
            return ()
        query = (
            f"SELECT {_RUN} FROM runs WHERE run_id >= ? AND run_id < ?"  # noqa: S608
            " ORDER BY run_id DESC LIMIT ?"
        )
        rows = await self._select(query, (prefix, prefix + "\x7f", _bounded(limit)))
        return tuple(run_of(row) for row in rows)

    async def named(self, text: str) -> tuple[RunId, ...]:
        """Find the runs that are meant by an id, its beginning or its last part, or ``latest``.

        The latest comes first; for ``latest`` itself some before it are given as well.
        """
        if text == LATEST:
            return tuple(row.run_id for row in await self.list_runs(_LATEST_RUNS))
        if not _ID_CHARACTERS.issuperset(text):
            return ()
        rows = await self._select(
            "SELECT run_id FROM runs WHERE run_id = ?1 UNION ALL"
            " SELECT run_id FROM runs WHERE run_id > ?1 AND run_id < ?1 || char(127)"
            " ORDER BY run_id DESC LIMIT ?2",
            (text, MAX_LISTED),
        )
        # The last part has no index; all of them are walked, and ids alone.
        rows = rows or await self._select(
            "SELECT run_id FROM runs INDEXED BY runs_by_imp WHERE substr(run_id, -length(?1)) = ?1"
            " ORDER BY run_id DESC LIMIT ?2",
            (f"-{text}", MAX_LISTED),
        )
        exact = [row for row in rows if row[0] == text]
        return tuple(RunId(row[0]) for row in exact or rows)

    async def turn_of_reply(self, message_id: MessageId) -> tuple[RunId, TurnId] | None:
        """Find the turn behind a message of the imp."""
        rows = await self._select(
            "SELECT run_id, turn_id FROM replies WHERE message_id = ?", (message_id,)
        )
        return (RunId(rows[0][0]), TurnId(rows[0][1])) if rows else None

    async def posted(self, run_id: RunId) -> Mapping[TurnId, str]:
        """Say when the last message of each turn was in its channel, as far as that is known."""
        rows = await self._select(
            "SELECT turn_id, max(replies.at) FROM turns JOIN replies USING (run_id, turn_id)"
            " WHERE turns.run_id = ? AND replies.at IS NOT NULL GROUP BY turn_id",
            (run_id,),
        )
        return {TurnId(row[0]): row[1] for row in rows}

    async def close_interrupted(self, *, now: str, idle_before: str) -> Interrupted:
        """Settle what a killed host left open, and return what that was.

        Turns without an outcome become cut off; one whose reply was sent already counts as
        replied, and nobody has to be told. Runs still open end: as ``idle`` if their claim to be
        resumed is older than ``idle_before``, as ``shutdown`` if they have none. The rest stays
        open.
        """

        def work(db: sqlite3.Connection) -> Interrupted:
            db.execute(
                "UPDATE turns SET outcome = ?, error_code = ? WHERE outcome IS NULL AND EXISTS"
                " (SELECT 1 FROM replies WHERE replies.run_id = turns.run_id"
                " AND replies.turn_id = turns.turn_id)",
                (OutcomeKind.REPLIED, SessionErrorCode.HOST_KILLED),
            )
            cut = db.execute(
                "SELECT turn_id, run_id, user_id, imp, channel_id FROM turns JOIN runs"
                " USING (run_id) WHERE outcome IS NULL ORDER BY run_id, seq"
            ).fetchall()
            open_runs = db.execute("SELECT run_id FROM runs WHERE ended_at IS NULL").fetchall()
            _close_open(db, now=now, idle_before=idle_before)
            return Interrupted(
                turns=tuple(_interrupted(row) for row in cut),
                open_runs=tuple(RunId(row[0]) for row in open_runs),
            )

        return await self._database.write(work)

    async def _select(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return await self._database.read(lambda db: db.execute(query, values).fetchall())


def _close_open(db: sqlite3.Connection, *, now: str, idle_before: str) -> None:
    db.execute(
        "UPDATE turns SET outcome = ?, error_code = ? WHERE outcome IS NULL",
        (OutcomeKind.CUT_OFF, SessionErrorCode.HOST_KILLED),
    )
    db.execute(
        "UPDATE runs SET ended_at = ?, end_reason = 'idle' WHERE run_id IN"
        " (SELECT run_id FROM warm_sessions WHERE last_active_at < ?)",
        (now, idle_before),
    )
    db.execute("DELETE FROM warm_sessions WHERE last_active_at < ?", (idle_before,))
    db.execute(
        "UPDATE runs SET ended_at = ?, end_reason = 'shutdown' WHERE ended_at IS NULL"
        " AND run_id NOT IN (SELECT run_id FROM warm_sessions)",
        (now,),
    )


def _interrupted(row: tuple[Any, ...]) -> InterruptedTurn:
    return InterruptedTurn(
        turn_id=TurnId(row[0]),
        run_id=RunId(row[1]),
        user_id=None if row[2] is None else UserId(row[2]),
        imp=ImpName(row[3]),
        channel_id=None if row[4] is None else ChannelId(row[4]),
    )


def _insert_run(db: sqlite3.Connection, row: RunRow) -> None:
    values = [getattr(row, name) for name in _RUN_FIELDS]
    db.execute(f"INSERT INTO runs ({_RUN}) VALUES ({marks(values)})", values)  # noqa: S608


def _upsert_turn(db: sqlite3.Connection, row: TurnRow) -> None:
    values = [
        *(getattr(row, name) for name in _OWN_TURN_FIELDS),
        *(getattr(row.usage, name) for name in _USAGE_FIELDS),
    ]
    # A turn is written when it begins and when it ends: what it cost counts once.
    db.execute(
        "UPDATE runs SET turns = max(turns, :seq), cost_usd = cost_usd + :usd - coalesce("
        "(SELECT cost_usd FROM turns WHERE run_id = :run AND seq = :seq), 0) WHERE run_id = :run",
        {"seq": row.seq, "usd": row.usage.cost_usd, "run": row.run_id},
    )
    db.execute(f"INSERT OR REPLACE INTO turns ({_TURN}) VALUES ({marks(values)})", values)  # noqa: S608


def run_of(values: Sequence[Any]) -> RunRow:
    """Read a row of ``runs``, its columns in the order of the fields."""
    row = dict(zip(_RUN_FIELDS, values, strict=True))
    return RunRow(**{**row, "is_dm": bool(row["is_dm"])})


def _turn(values: Sequence[Any]) -> TurnRow:
    own, usage = values[: len(_OWN_TURN_FIELDS)], values[len(_OWN_TURN_FIELDS) :]
    row = dict(zip(_OWN_TURN_FIELDS, own, strict=True))
    outcome = None if row["outcome"] is None else OutcomeKind(row["outcome"])
    used = Usage(**dict(zip(_USAGE_FIELDS, usage, strict=True)))
    return TurnRow(**{**row, "outcome": outcome, "usage": used})


def _set_extent(db: sqlite3.Connection, run_id: RunId, extent: TraceExtent) -> None:
    db.execute(
        "UPDATE runs SET trace_events = ?, trace_head_sha256 = ? WHERE run_id = ?",
        (extent.events, extent.head_sha256, run_id),
    )


def _conditions(always: str, *pairs: tuple[str, str | None]) -> tuple[str, tuple[str, ...]]:
    given = [(condition, value) for condition, value in pairs if value is not None]
    return " AND ".join([always, *(c for c, _ in given)]), tuple(v for _, v in given)


def _nobody(run_id: RunId) -> None:
    """Nobody listens."""
    del run_id


def _bounded(limit: int) -> int:
    return max(0, min(limit, MAX_LISTED))
