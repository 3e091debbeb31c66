"""The list of runs as an owner looks through it: each filter, and page by page."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from compiler.request import ChannelId, ImpName, MessageId, RunId, TurnId, UserId
from sessions.inbound import OutcomeKind, Usage
from sessions.store import run_list
from sessions.store.database import Database, open_database
from sessions.store.run_list import RunFilter, RunList, _where
from sessions.store.runs import RunStore, TraceExtent
from support.run_rows import remember_reply, run_row, turn_row
from support.session_world import BOUND_SECONDS, ManualClock

EXTENT = TraceExtent(events=1, head_sha256="b" * 64)
OLD = RunId("2026-11-28-10-00-00-aaaa")
MIDDLE = RunId("2026-11-29-10-00-00-bbbb")
NEW = RunId("2026-11-30-10-00-00-cccc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A database with three runs."""

    database: Database
    book: RunList
    runs: RunStore

    async def found(self, **wanted: object) -> list[str]:
        page = await self.book.page(replace(RunFilter(), **wanted), 10)  # type: ignore[arg-type]
        return [each.row.run_id for each in page]


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    async with open_database(
        tmp_path / "inglenook.db", clock=ManualClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        runs = RunStore(database)
        await runs.begin_run(run_row(OLD, is_dm=True, channel_id=ChannelId("discord:200")))
        await runs.begin_run(run_row(MIDDLE, imp=ImpName("cinder")))
        await runs.begin_run(run_row(NEW))
        await runs.record_turn(turn_row(OLD, 1), EXTENT)
        await runs.record_turn(turn_row(OLD, 2, user_id=UserId("discord:8")), EXTENT)
        failed = turn_row(MIDDLE, 1, outcome=OutcomeKind.FAILED, error_code="pi_exited")
        await runs.record_turn(replace(failed, usage=Usage()), EXTENT)
        await runs.begin_turn(
            turn_row(NEW, 1, outcome=None, usage=Usage(), turn_id=TurnId("discord:message:77"))
        )
        await remember_reply(runs, MessageId("discord:5555"), MIDDLE, failed.turn_id)
        yield Shelf(database=database, book=RunList(database), runs=runs)


FILTERS: list[tuple[dict[str, object], list[RunId]]] = [
    ({}, [NEW, MIDDLE, OLD]),
    ({"imp": "cinder"}, [MIDDLE]),
    ({"channel": "discord:200"}, [OLD]),
    ({"since": "2026-11-29"}, [NEW, MIDDLE]),
    ({"until": "2026-11-29"}, [OLD]),
    ({"since": "2026-11-29", "until": "2026-11-30"}, [MIDDLE]),
    ({"outcome": "failed"}, [MIDDLE]),
    ({"outcome": "running"}, [NEW]),
    ({"outcome": "replied", "imp": "cinder"}, []),
    ({"least_usd": 0.5}, [OLD]),
    ({"least_usd": 0.51}, []),
    ({"text": "bbbb"}, [MIDDLE]),
    ({"text": " 11-30 "}, [NEW]),
    ({"text": "8"}, [OLD]),
    ({"text": "discord:7"}, [NEW, MIDDLE, OLD]),
    ({"text": "77"}, [NEW]),
    ({"text": "5555"}, [MIDDLE]),
    ({"text": "pi_exited"}, [MIDDLE]),
    ({"text": "cinder"}, [MIDDLE]),
    ({"text": "hearth", "channels": ("discord:200",)}, [OLD]),
    ({"text": "' OR 1=1 --"}, []),
    ({"text": "%"}, []),
]


async def test_each_filter_finds_its_runs(shelf: Shelf) -> None:
    """Issue "Web inspector": search and filters (imp, conversation, time, outcome, cost)."""
    for wanted, found in FILTERS:
        assert await shelf.found(**wanted) == found, wanted


async def test_a_run_tells_what_its_turns_came_to(shelf: Shelf) -> None:
    old, new = await shelf.book.one(OLD), await shelf.book.one(NEW)
    assert old is not None
    assert new is not None
    assert (old.cost_usd, old.input_tokens, old.cached_tokens, old.output_tokens) == (
        0.5,
        80,
        60,
        10,
    )
    assert old.outcomes == (("replied", 2),)
    assert new.outcomes == ((None, 1),)
    assert await shelf.book.one(RunId("2026-01-01-00-00-00-none")) is None


async def test_a_turn_costs_once_however_often_it_is_written(shelf: Shelf) -> None:
    """A turn is written at its beginning and its end, and the end may be written again."""
    for _ in range(3):
        await shelf.runs.record_turn(turn_row(OLD, 2), EXTENT)
    found = await shelf.book.one(OLD)
    assert found is not None
    assert found.cost_usd == pytest.approx(0.5)


async def test_places_are_those_that_have_runs(shelf: Shelf) -> None:
    places = await shelf.book.places()
    assert places.channels == (("discord:100", False), ("discord:200", True))
    assert places.imps == ("cinder", "ember")


async def test_pages_are_the_list(shelf: Shelf) -> None:
    """Keyset: each page begins below the last run of the one before it, and nothing is lost."""
    for number in range(4):
        await shelf.runs.begin_run(run_row(RunId(f"2026-11-29-10-00-0{number}-dddd"), turns=1))
    whole = await shelf.found()
    assert len(whole) == 7
    for limit in (1, 2, 3, 7, 8):
        found: list[str] = []
        before: RunId | None = None
        while page := await shelf.book.page(RunFilter(), limit, before=before):
            assert len(page) <= limit
            found += [each.row.run_id for each in page]
            before = page[-1].row.run_id
        assert found == whole


async def test_what_was_warmed_up_in_vain_does_not_crowd_the_list(shelf: Shelf) -> None:
    """Runs without a turn are left out unless asked for or named; one that failed is there."""
    idle, broken = RunId("2026-11-29-11-00-00-eeee"), RunId("2026-11-29-12-00-00-ffff")
    await shelf.runs.begin_run(run_row(idle, ended_at="x", end_reason="idle"))
    await shelf.runs.begin_run(run_row(broken, ended_at="x", end_reason="failed"))
    assert await shelf.found() == [NEW, broken, MIDDLE, OLD]
    assert await shelf.found(idle=True) == [NEW, broken, idle, MIDDLE, OLD]
    assert await shelf.found(text="eeee") == [idle]
    rows = await shelf.runs.list_runs(9, telling=True)
    assert [row.run_id for row in rows] == [NEW, broken, MIDDLE, OLD]


@pytest.mark.parametrize("few", [0, 2_000])
async def test_no_filter_walks_all_turns(
    shelf: Shelf, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "10,000 runs without lag": whatever is asked, an index leads to it.

    What few turns fulfil is looked up, and what many do is asked of each run.
    """
    monkeypatch.setattr(run_list, "_FEW", few)

    def plans(db: sqlite3.Connection) -> list[str]:
        told: list[str] = []
        for asked in (
            {"outcome": "failed"},
            {"text": "7"},
            {"text": "pi_exited"},
            {"imp": "ember"},
        ):
            where, values = _where(db, RunFilter(**asked), None)  # type: ignore[arg-type]
            query = f"EXPLAIN QUERY PLAN SELECT run_id FROM runs WHERE {where} ORDER BY run_id DESC"  # noqa: S608
            told += [row[3] for row in db.execute(query, values)]
        return told

    told = await shelf.database.read(plans)
    assert not [line for line in told if line.startswith("SCAN turns")]


async def test_few_and_many_are_found_alike(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue "Logs and traces of a year": two ways to the same runs, whatever is typed."""
    texts = ("7", "8", "2026", "pi_exited", "ember", "idle", "nowhere", "999", "-")
    wanted = [RunFilter(text=text) for text in texts]
    wanted += [RunFilter(outcome=outcome) for outcome in ("failed", "replied", "silent")]
    found = []
    for few in (0, 2_000):
        monkeypatch.setattr(run_list, "_FEW", few)
        found.append([await RunList(shelf.database).page(each, 50) for each in wanted])
    assert found[0] == found[1]
    assert any(found[0])
