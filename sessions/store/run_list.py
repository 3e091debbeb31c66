"""The list of runs as it is looked through: filters, what each run came to, one page at a time.

Every filter has an index or walks the runs by their ids, which begin with the time; a page names
the run that it continues below. So the last page of a million turns costs what the first one does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from compiler.request import ImpName, RunId
from sessions.store.database import Database
from sessions.store.runs import MAX_LISTED, TELLING, RunRow, run_of

RUNNING: Final = "running"
"""Stands for a turn that has no outcome yet."""
_FEW: Final = 2_000
MAX_PLACES: Final = 200
"""Conversations and imps offered as filters."""
_RUN: Final = ", ".join(f"runs.{field.name}" for field in fields(RunRow))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs are looked for; what is None or empty does not narrow.

    ``since`` and ``until`` are beginnings of run ids, ``2026-11-29``: from the first one on, and
    before the second. ``outcome`` is of any of its turns. ``text`` is what an owner types: a part
    of a run's id, or exactly an id of a person, channel or message, an imp or an error code.
    ``channels`` are those that ``text`` names in another way. Runs that were warmed up and took no
    turn are left out unless ``idle`` says so, or ``text`` may name one.
    """

    imp: str = ""
    channel: str = ""
    since: str = ""
    until: str = ""
    outcome: str = ""
    least_usd: float = 0.0
    text: str = ""
    channels: tuple[str, ...] = ()
    idle: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run with the sums of its turns. ``outcomes`` are names with counts, None: running."""

    row: RunRow
    cost_usd: float
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    outcomes: tuple[tuple[str | None, int], ...]

    @classmethod
    def of_row(cls, row: RunRow) -> Self:
        """Give a run of which no sums are known."""
        return cls(
            row=row, cost_usd=0.0, input_tokens=0, cached_tokens=0, output_tokens=0, outcomes=()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What the filters can offer: channels with whether they are direct messages, and imps."""

    channels: tuple[tuple[str, bool], ...]
    imps: tuple[str, ...]


class RunList:
    """Reads; every method raises ``StoreUnavailable`` when the database cannot answer in time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, wanted: RunFilter, limit: int, *, before: RunId | None = None
    ) -> tuple[RunSummary, ...]:
        """List runs, the latest first; ``before`` continues below a run."""

        def work(db: sqlite3.Connection) -> tuple[RunSummary, ...]:
            where, values = _where(db, wanted, before)
            query = (
                f"SELECT {_RUN}, runs.cost_usd FROM runs WHERE {where}"  # noqa: S608  (constants)
                " ORDER BY run_id DESC LIMIT ?"
            )
            rows = db.execute(query, (*values, max(0, min(limit, MAX_LISTED)))).fetchall()
            return _summaries(db, rows)

        return await self._database.read(work)

    async def one(self, run_id: RunId) -> RunSummary | None:
        """Sum up one run."""

        def work(db: sqlite3.Connection) -> tuple[RunSummary, ...]:
            query = f"SELECT {_RUN}, runs.cost_usd FROM runs WHERE run_id = ?"  # noqa: S608
            return _summaries(db, db.execute(query, (run_id,)).fetchall())

        found = await self._database.read(work)
        return found[0] if found else None

    async def places(self) -> Places:
        """Name the conversations and imps that there are runs of."""

        def work(db: sqlite3.Connection) -> Places:
            return Places(
                channels=tuple(
                    (channel, _is_dm(db, channel)) for channel in _distinct(db, "channel_id")
                ),
                imps=tuple(_distinct(db, "imp")),
            )

        return await self._database.read(work)


def _where(
    db: sqlite3.Connection, wanted: RunFilter, before: RunId | None
) -> tuple[str, tuple[object, ...]]:
    pairs: list[tuple[str, tuple[object, ...]]] = []
    if before is not None:
        pairs.append(("runs.run_id < ?", (before,)))
    if wanted.imp:
        pairs.append(("imp = ?", (ImpName(wanted.imp),)))
    if wanted.channel:
        pairs.append(("channel_id = ?", (wanted.channel,)))
    if wanted.since:
        pairs.append(("runs.run_id >= ?", (wanted.since,)))
    if wanted.until:
        pairs.append(("runs.run_id < ?", (wanted.until,)))
    if wanted.outcome:
        pairs.append(_ended(db, wanted.outcome))
    if wanted.least_usd > 0:
        pairs.append(("cost_usd >= ?", (wanted.least_usd,)))
    if not wanted.idle and not wanted.text:
        pairs.append((TELLING, ()))
    if wanted.text or wanted.channels:
        pairs.append(_typed(db, wanted.text.strip(), wanted.channels))
    return (
        " AND ".join(["1", *(condition for condition, _ in pairs)]),
        tuple(value for _, values in pairs for value in values),
    )


def _ended(db: sqlite3.Connection, outcome: str) -> tuple[str, tuple[object, ...]]:
    if outcome == RUNNING:
        return "runs.run_id IN (SELECT run_id FROM turns WHERE outcome IS NULL)", ()
    return _some_turn(db, "outcome = ?", outcome), (outcome,)


def _some_turn(db: sqlite3.Connection, condition: str, value: str) -> str:
    """Give the condition on runs of which some turn fulfils another, with the value once.

    Few such turns are looked up, by their index; of many, each run in turn is asked, and a page is
    full soon. So neither nobody nor everybody makes a page wait.
    """
    query = f"SELECT count(*) FROM (SELECT 1 FROM turns WHERE {condition} LIMIT ?)"  # noqa: S608
    (count,) = db.execute(query, (value, _FEW + 1)).fetchone()
    if count <= _FEW:
        return f"runs.run_id IN (SELECT run_id FROM turns WHERE {condition})"  # noqa: S608
    return (
        "EXISTS (SELECT 1 FROM turns WHERE turns.run_id = runs.run_id AND "  # noqa: S608
        f"turns.{condition})"
    )


def _part_of_id(db: sqlite3.Connection, part: str) -> str:
    ids = "SELECT run_id FROM runs INDEXED BY runs_by_imp WHERE instr(run_id, ?) > 0"
    (count,) = db.execute(
        f"SELECT count(*) FROM ({ids} LIMIT ?)",  # noqa: S608
        (part, _FEW + 1),
    ).fetchone()
    return f"runs.run_id IN ({ids})" if count <= _FEW else "instr(runs.run_id, ?) > 0"


def _typed(
    db: sqlite3.Connection, text: str, channels: tuple[str, ...]
) -> tuple[str, tuple[object, ...]]:
    """Take what was typed for an id or a code; a run's id alone may be given in part.

    That a code is not empty is said again, so that the index of turns with codes is used. Ids are
    searched in an index that holds little else.
    """
    ways: list[str] = []
    values: list[object] = []

    def way(condition: str, value: str) -> None:
        ways.append(condition)
        values.append(value)

    for channel in channels:
        way("channel_id = ?", channel)
    digits = text.removeprefix("discord:")
    if digits.isascii() and digits.isdigit():
        known = f"discord:{digits}"
        way("channel_id = ?", known)
        way(_some_turn(db, "user_id = ?", known), known)
        way(
            "runs.run_id IN (SELECT run_id FROM turns WHERE turn_id = ?)",
            f"discord:message:{digits}",
        )
        way("runs.run_id = (SELECT run_id FROM replies WHERE message_id = ?)", known)
    elif text:
        way("imp = ?", text)
        way("end_reason = ?", text)
        way(_some_turn(db, "error_code = ? AND error_code != ''", text), text)
    if text:
        way(_part_of_id(db, text.lower()), text.lower())
    return f"({' OR '.join(ways)})", tuple(values)


def _distinct(db: sqlite3.Connection, column: str) -> Iterable[str]:
    """Hop along an index from one value to the next: no walk over all runs."""
    value: str = ""
    for _ in range(MAX_PLACES):
        query = f"SELECT min({column}) FROM runs WHERE {column} > ?"  # noqa: S608  (constants)
        (found,) = db.execute(query, (value,)).fetchone()
        if found is None:
            return
        value = found
        yield value


def _is_dm(db: sqlite3.Connection, channel: str) -> bool:
    row = db.execute("SELECT is_dm FROM runs WHERE channel_id = ? LIMIT 1", (channel,)).fetchone()
    return bool(row and row[0])


def _summaries(db: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> tuple[RunSummary, ...]:
    return tuple(_summary(db, run_of(row[:-1]), float(row[-1])) for row in rows)


def _summary(db: sqlite3.Connection, row: RunRow, cost_usd: float) -> RunSummary:
    turns = db.execute(
        "SELECT outcome, count(*), sum(input_tokens + cache_read_tokens + cache_write_tokens),"
        " sum(cache_read_tokens), sum(output_tokens) FROM turns WHERE run_id = ?"
        " GROUP BY outcome ORDER BY count(*) DESC, outcome",
        (row.run_id,),
    ).fetchall()
    return RunSummary(
        row=row,
        cost_usd=cost_usd,
        input_tokens=sum(each[2] for each in turns),
        cached_tokens=sum(each[3] for each in turns),
        output_tokens=sum(each[4] for each in turns),
        outcomes=tuple((each[0], each[1]) for each in turns),
    )
