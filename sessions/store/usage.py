"""What was spent on which day, summed up: the memory of the limits over a restart, and ``/usage``.

A day is a date in the owner's time zone. Kinds are those of ``sessions.allowance``. The rows are as
many as days and who spent on them, never as many as turns, so a year's sums are read at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, Self

from sessions.store.database import Database
from sessions.store.sql import marks


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentRow:
    """What one holder spent on one day; money in millionths of a US dollar.

    ``input_tokens`` are those of prompts whose provider told of its cache, ``cached_tokens`` what
    of them came from there. Both are 0 for what was spent before this was counted.
    """

    day: str
    kind: str
    holder: str
    tokens: int
    micro_usd: int
    calls: int
    input_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """A sum of such rows."""

    tokens: int = 0
    micro_usd: int = 0
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0

    @property
    def cache_share(self) -> float | None:
        """What of the prompts came from a cache, between 0 and 1; None where nobody told."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else None

    def __add__(self, other: Self) -> Self:
        """Add up."""
        names = _SUMS
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in names})


_SUMS: Final = tuple(field.name for field in fields(Spent))
"""Columns are named as the fields, so there is one list of them."""
_ROW: Final = ", ".join(("day", "kind", "holder", *_SUMS))
_ADDED: Final = ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
_TOTALS: Final = ", ".join(f"sum({name})" for name in _SUMS)


class UsageStore:
    """The table ``usage_days``.

    Every method raises ``StoreUnavailable`` when the database cannot answer in time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, rows: Sequence[SpentRow]) -> None:
        """Add to the sums, all or none."""

        def work(db: sqlite3.Connection) -> None:
            db.executemany(
                f"INSERT INTO usage_days ({_ROW})"  # noqa: S608  (names of columns, ours)
                f" VALUES (?, ?, ?{', ?' * len(_SUMS)}) ON CONFLICT (day, kind, holder)"
                f" DO UPDATE SET {_ADDED}",
                [
                    (row.day, row.kind, row.holder, *(getattr(row, name) for name in _SUMS))
                    for row in rows
                ],
            )

        await self._database.write(work)

    async def of_day(self, day: str) -> tuple[SpentRow, ...]:
        """Read the sums of a day."""
        query = f"SELECT {_ROW} FROM usage_days WHERE day = ?"  # noqa: S608
        rows = await self._database.read(lambda db: db.execute(query, (day,)).fetchall())
        return tuple(
            SpentRow(day=day, kind=kind, holder=holder, **dict(zip(_SUMS, sums, strict=True)))
            for day, kind, holder, *sums in rows
        )

    async def by_day(self, days: Sequence[str], *, kind: str, holder: str) -> dict[str, Spent]:
        """Read what one holder spent on each of some days; days without spending are left out."""
        query = (
            f"SELECT day, {', '.join(_SUMS)} FROM usage_days"  # noqa: S608
            f" WHERE day IN ({marks(days)}) AND kind = ? AND holder = ?"
        )
        return dict(await self._sums(query, (*days, kind, holder)))

    async def by_holder(self, days: Sequence[str], *, kind: str) -> tuple[tuple[str, Spent], ...]:
        """Sum up some days for each holder of a kind, who spent most first."""
        query = (
            f"SELECT holder, {_TOTALS} FROM usage_days"  # noqa: S608
            f" WHERE day IN ({marks(days)}) AND kind = ?"
            " GROUP BY holder ORDER BY sum(tokens) DESC, holder"
        )
        return await self._sums(query, (*days, kind))

    async def _sums(self, query: str, values: Sequence[str]) -> tuple[tuple[str, Spent], ...]:
        rows = await self._database.read(lambda db: db.execute(query, values).fetchall())
        return tuple((name, Spent(**dict(zip(_SUMS, sums, strict=True)))) for name, *sums in rows)
