"""Sums of days add up, all rows of a call or none."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from sessions.clock import SystemClock
from sessions.store.database import open_database
from sessions.store.usage import SpentRow, UsageStore
from support.session_world import BOUND_SECONDS

ROW = SpentRow(day="2026-11-29", kind="user", holder="discord:7", tokens=5, micro_usd=7, calls=1)
ROW = replace(ROW, input_tokens=4, cached_tokens=3)


async def test_rows_of_one_holder_add_up(tmp_path: Path) -> None:
    async with open_database(
        tmp_path / "a.db", clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        store = UsageStore(database)
        await store.add([ROW, replace(ROW, kind="total", holder="")])
        await store.add([ROW, replace(ROW, day="2026-11-30", tokens=1)])
        today = await store.of_day("2026-11-29")
        assert set(today) == {
            replace(ROW, tokens=10, micro_usd=14, calls=2, input_tokens=8, cached_tokens=6),
            replace(ROW, kind="total", holder=""),
        }
        assert [row.tokens for row in await store.of_day("2026-11-30")] == [1]


async def test_a_call_is_counted_whole_or_not_at_all(tmp_path: Path) -> None:
    async with open_database(
        tmp_path / "a.db", clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        store = UsageStore(database)
        with pytest.raises((OverflowError, sqlite3.Error)):
            await store.add([ROW, replace(ROW, holder="x", tokens=2**70)])
        assert await store.of_day(ROW.day) == ()
