"""Pruning a home: real traces and rows; what stays tells where each chain ended."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from compiler.request import RunId
from sessions.clock import SystemClock
from sessions.pruning import Pruned, Pruner
from sessions.retention import RetentionSettings
from sessions.store.database import open_database
from sessions.store.retention import RetentionStore
from sessions.traces.chain import ChainEnd, chain_end
from sessions.traces.events import TraceMark
from sessions.traces.proof import verify
from support.recorded_runs import BEGAN, RUN, change_line, record_run
from support.session_world import BOUND_SECONDS

LATER = RunId("2026-11-30-08-00-00-efgh")
OPEN = RunId("2026-11-29-23-40-00-open")


class At(SystemClock):
    """A clock that stands."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def utc_now(self) -> datetime:
        return self._now


@asynccontextmanager
async def pruner(home: Path, *, days: float = 31, **kept: int) -> AsyncIterator[Pruner]:
    """Prune as it would be some days after the runs began."""
    clock = At(BEGAN + timedelta(days=days))
    async with open_database(
        home / "inglenook.db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        yield Pruner(
            home=home,
            database=database,
            clock=clock,
            settings=lambda: RetentionSettings(**kept),
            ordinal_at=lambda moment: int((moment - BEGAN).total_seconds()) + 1_000_000,
        )


def execute(home: Path, *statements: str) -> list[tuple[object, ...]]:
    """Run statements, in which ``:run`` is the first run."""
    with closing(sqlite3.connect(home / "inglenook.db", isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        return [
            row
            for statement in statements
            for row in db.execute(statement, {"run": RUN}).fetchall()
        ]


def left(home: Path) -> set[str]:
    return {path.name for path in (home / "runs").iterdir()}


async def test_a_pruned_run_leaves_the_end_of_its_chain(tmp_path: Path) -> None:
    """Issue "Retention": pruning keeps the hash chain verifiable; open runs stay whole."""
    await record_run(tmp_path)
    await record_run(tmp_path, run_id=OPEN, ended=False)
    before = verify(tmp_path / "runs" / RUN / "context.jsonl")
    assert before.head is not None
    async with pruner(tmp_path, trace_days=30) as now:
        plan = await now.look()
        assert [each.run_id for each in plan.traces] == [RUN]
        assert left(tmp_path) == {RUN, OPEN}  # a look changes nothing
        done = await now.carry_out(plan)
        assert (done.traces, done.kept, done.size_bytes) == (1, (), plan.size_bytes)
        assert (await now.look()).is_empty
        assert await now.carry_out(plan) == Pruned(kept=(RUN,))  # somebody else was faster
    assert left(tmp_path) == {OPEN}
    rows = execute(
        tmp_path,
        "SELECT trace_events, trace_head_sha256, pruned_chain, substr(pruned_at, 1, 10) FROM runs"
        " WHERE run_id = :run",
        "SELECT count(*) FROM turns",
    )
    assert rows == [(before.events, before.head.sha256, "whole", "2026-12-30"), (4,)]


async def test_what_is_younger_warm_or_waited_for_stays(tmp_path: Path) -> None:
    await record_run(tmp_path)
    async with pruner(tmp_path, days=29, trace_days=30) as now:
        assert (await now.look()).is_empty
    execute(tmp_path, "INSERT INTO warm_sessions VALUES ('ember', 'c', :run, 'r', 's', 't')")
    async with pruner(tmp_path, trace_days=30, trace_mb=1) as now:
        assert (await now.look()).is_empty
    execute(
        tmp_path,
        "DELETE FROM warm_sessions",
        "INSERT INTO gates (gate_id, imp, channel_id, is_dm, requester, run_id, turn_id, tool,"
        " payload, payload_sha256, effect, intent, rationale, filed_ms, expires_ms, state,"
        " result_code) VALUES ('g','ember','c',0,'u',:run,'t','bash','','','','','',0,0,"
        "'pending','')",
    )
    async with pruner(tmp_path, trace_days=30) as now:
        assert (await now.look()).is_empty
        execute(tmp_path, "UPDATE gates SET state = 'denied'")
        assert len((await now.look()).traces) == 1


@pytest.mark.parametrize("damage", ["changed", "cut"])
async def test_a_trace_that_does_not_verify_is_never_thrown_away(
    tmp_path: Path, damage: str
) -> None:
    """It may be the proof of what happened to it; the owner is told instead."""
    await record_run(tmp_path)
    trace = tmp_path / "runs" / RUN / "context.jsonl"
    if damage == "changed":
        change_line(tmp_path, RUN, 2, "CANARY", "CANARI")
    else:
        trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:-1]))
    async with pruner(tmp_path, trace_days=30) as now:
        assert await now.carry_out(await now.look()) == Pruned(kept=(RUN,))
    assert left(tmp_path) == {RUN}


async def test_what_a_killed_host_left_half_done_is_finished(tmp_path: Path) -> None:
    """The row is written before the files go, and again after; a kill in between loses nothing."""
    await record_run(tmp_path)
    trace = tmp_path / "runs" / RUN / "context.jsonl"
    async with pruner(tmp_path, trace_days=30) as now:
        plan = await now.look()
        async with open_database(
            tmp_path / "inglenook.db", clock=SystemClock(), patience_seconds=BOUND_SECONDS
        ) as database:
            assert await RetentionStore(database).doom(RUN, chain_end(trace))
        trace.unlink()
        assert (await now.carry_out(plan)).traces == 1
    assert execute(tmp_path, "SELECT pruned_chain FROM runs") == [("whole",)]
    assert left(tmp_path) == set()


async def test_a_trace_that_is_gone_already_is_told_as_missing(tmp_path: Path) -> None:
    await record_run(tmp_path)
    (tmp_path / "runs" / RUN / "context.jsonl").unlink()
    async with pruner(tmp_path, trace_days=30) as now:
        assert (await now.carry_out(await now.look())).traces == 1
    assert execute(tmp_path, "SELECT pruned_chain FROM runs") == [("missing",)]


async def test_turns_go_after_their_traces_and_messages_by_their_time(tmp_path: Path) -> None:
    """Issue "Retention": runs and history, too; the figures of days are not touched."""
    await record_run(tmp_path)
    execute(
        tmp_path,
        "INSERT INTO replies VALUES ('discord:1', :run, 'discord:message:9001', NULL)",
        "INSERT INTO usage_days VALUES ('2026-11-29', 'user', 'discord:1', 1, 2, 3, 4, 5)",
        "INSERT INTO history VALUES ('discord:7', 'c', NULL, 1000001, 'u', 'Bo', 'x', 0, 0),"
        " ('discord:8', 'c', NULL, 1000002, 'u', 'Bo', '', 0, 1),"
        " ('discord:9', 'c', NULL, 9000000, 'u', 'Bo', 'x', 0, 0)",
    )
    async with pruner(tmp_path, trace_days=30, run_days=30, history_days=30) as now:
        plan = await now.look()
        assert (plan.records, plan.messages) == ((), 2)
        assert (await now.carry_out(plan)).messages == 2
        plan = await now.look()
        assert (plan.records, plan.messages) == ((RUN,), 0)
        assert (await now.carry_out(plan)).turns == 2
    counts = (
        "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM turns),"
        " (SELECT count(*) FROM replies), (SELECT count(*) FROM history)"
    )
    assert execute(tmp_path, counts) == [(1, 0, 0, 1)]
    assert execute(tmp_path, "SELECT tokens FROM usage_days") == [(1,)]


async def test_size_alone_lets_the_oldest_go(tmp_path: Path) -> None:
    await record_run(tmp_path)
    await record_run(tmp_path, run_id=LATER)
    for run_id in (RUN, LATER):
        (tmp_path / "runs" / run_id / "picture").write_bytes(os.urandom(700 * 1024))
    later = "UPDATE runs SET ended_at = '2026-11-30T09:00:00.000Z' WHERE run_id != :run"
    execute(tmp_path, later)
    async with pruner(tmp_path, days=2, trace_mb=1) as now:
        assert (await now.carry_out(await now.look())).traces == 1
    assert left(tmp_path) == {LATER}


async def test_the_end_of_a_chain_is_the_one_that_verify_finds(tmp_path: Path) -> None:
    await record_run(tmp_path)
    trace = tmp_path / "runs" / RUN / "context.jsonl"
    report = verify(trace)
    assert report.head is not None
    whole = ChainEnd(events=report.events, head_sha256=report.head.sha256, is_whole=True)
    assert chain_end(trace) == chain_end(trace, head=report.head) == whole
    other = TraceMark(seq=0, sha256="0" * 64)
    assert chain_end(trace, head=other) == replace(whole, is_whole=False)
    with trace.open("ab") as file:
        file.write(b'{"torn')
    assert chain_end(trace) == whole
    with trace.open("ab") as file:
        file.write(b"}\n")
    broken = chain_end(trace)
    assert broken is not None
    assert not broken.is_whole
