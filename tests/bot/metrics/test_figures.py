"""The figures: what is counted, from when on, and that no label names anybody."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.metrics.figures import Figures
from compiler.request import ChannelId, RunId, UserId
from sessions.clock import SystemClock
from sessions.engine import Engine, EngineClient, Launch
from sessions.inbound import OutcomeKind, Usage
from sessions.run_feed import Listener, RunFeed
from sessions.store.database import Database, open_database
from sessions.store.runs import RunRow, RunStore, TraceExtent, TurnRow
from support.run_rows import run_row, turn_row
from support.session_world import BOUND_SECONDS

SINCE = "2026-11-29T12:00:00.000Z"
RUN = RunId("2026-11-29-12-00-01-aaaa")
EXTENT = TraceExtent(events=1, head_sha256=None)
SOMEBODY = "discord:424242424242"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(
        tmp_path / "x.db", clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as opened:
        yield opened


def run() -> RunRow:
    return run_row(RUN, surface="discord", channel_id=ChannelId(SOMEBODY), started_at=SINCE)


def turn(
    seq: int,
    outcome: OutcomeKind | None = OutcomeKind.REPLIED,
    *,
    at: str = SINCE,
    code: str = "",
) -> TurnRow:
    return turn_row(
        RUN,
        seq,
        user_id=UserId(SOMEBODY),
        accepted_at=at,
        outcome=outcome,
        error_code=code,
        wait_us=2_000,
        compile_us=3_000,
        trace_us=400,
        first_text_us=700_000,
        total_us=900_000,
        usage=Usage(input_tokens=100, output_tokens=7, cache_read_tokens=80, cost_usd=0.25),
    )


def read(text: bytes) -> dict[tuple[str, ...], float]:
    """Give the samples: the name and its labels' values, with what each is."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The figures of a host over a store with one run, which it hears of."""

    figures: Figures
    database: Database
    runs: RunStore
    listener: Listener
    feed: RunFeed

    async def text(self) -> bytes:
        return await self.figures.render(
            self.database, self.runs, self.listener, since=SINCE, refusals=self.feed.refusals
        )

    async def read(self) -> dict[tuple[str, ...], float]:
        return read(await self.text())


@pytest.fixture
async def host(database: Database) -> AsyncIterator[Host]:
    feed = RunFeed()
    runs = RunStore(database, told=feed.tell)
    with feed.listen() as listener:
        await runs.begin_run(run())
        yield Host(figures=Figures(), database=database, runs=runs, listener=listener, feed=feed)


async def test_turns_are_counted_once_when_they_have_ended(host: Host) -> None:
    """A turn that runs is not counted; asked twice, it is counted once."""
    await host.runs.begin_turn(turn(1, None))
    assert ("inglenook_turns_total", "replied", "discord") not in await host.read()
    await host.runs.record_turn(turn(1), EXTENT)
    await host.runs.begin_turn(turn(2, None))
    await host.runs.record_turn(turn(2, OutcomeKind.FAILED, code="compile_failed"), EXTENT)
    await host.text()
    host.listener.tell(RUN)
    found = await host.read()
    assert found["inglenook_turns_total", "replied", "discord"] == 1
    assert found["inglenook_turns_total", "failed", "discord"] == 1
    assert found["inglenook_turn_errors_total", "compile_failed"] == 1
    assert found["inglenook_tokens_total", "cache_read"] == 160
    assert found[("inglenook_cost_usd_total",)] == pytest.approx(0.5)
    assert found[("inglenook_compile_seconds_count",)] == 2
    assert found[("inglenook_trace_seconds_sum",)] == pytest.approx(0.0008)


async def test_messages_that_got_no_turn_are_counted_by_code(host: Host) -> None:
    """Issue 8 "Metrics": refusals; no row tells of them, and asking again counts none twice."""
    host.feed.refusals["sender_full"] += 2
    assert (await host.read())["inglenook_refusals_total", "sender_full"] == 2
    host.feed.refusals.update(["sender_full", "limit_user"])
    found = await host.read()
    assert found["inglenook_refusals_total", "sender_full"] == 3
    assert found["inglenook_refusals_total", "limit_user"] == 1


async def test_turns_of_an_earlier_host_are_not_counted_again(host: Host) -> None:
    """A resumed run goes on; what it did before this start is in that start's figures."""
    before = "2026-11-29T11:59:59.999Z"
    await host.runs.begin_turn(turn(1, None, at=before))
    await host.runs.record_turn(turn(1, at=before), EXTENT)
    host.listener.take()  # an earlier host heard of that
    await host.runs.begin_turn(turn(2, None))
    await host.runs.record_turn(turn(2), EXTENT)
    assert (await host.read())["inglenook_turns_total", "replied", "discord"] == 1


async def test_what_comes_after_a_run_s_end_counts_nothing_again(host: Host) -> None:
    """An answer may be in its channel only when its session has ended, and is told of then."""
    await host.runs.begin_turn(turn(1, None))
    await host.runs.record_turn(turn(1), EXTENT)
    await host.runs.end_run(RUN, ended_at="2026-11-29T12:10:00.000Z", reason="idle")
    await host.text()
    host.listener.tell(RUN)
    assert (await host.read())["inglenook_turns_total", "replied", "discord"] == 1


async def test_no_label_names_anybody(host: Host) -> None:
    """Issue "Metrics and health": no ids of people as labels, nor of places."""
    await host.runs.begin_turn(turn(1, None))
    await host.runs.record_turn(turn(1), EXTENT)
    host.figures.tell_ready("discord", works=True)
    text = (await host.text()).decode()
    assert "424242" not in text
    assert RUN not in text
    labels = set(re.findall(r'(\w+)="', text))
    assert labels == {"surface", "outcome", "kind", "part", "le"}


class Process:
    def __init__(self, *, fails: bool) -> None:
        self._fails = fails

    version = "1"
    confinement = "none"

    @asynccontextmanager
    async def spawn(self, launch: Launch) -> AsyncIterator[EngineClient]:
        del launch
        if self._fails:
            raise OSError("no process")
        yield cast("EngineClient", object())


async def test_starts_of_pi_are_counted_and_those_alive(host: Host) -> None:
    """A start that failed is counted as such; a process that ended is not alive."""
    launch = cast("Launch", object())
    async with host.figures.watch(cast("Engine", Process(fails=False))).spawn(launch):
        alive = await host.read()
    with pytest.raises(OSError, match="no process"):
        async with host.figures.watch(cast("Engine", Process(fails=True))).spawn(launch):
            pass
    after = await host.read()
    assert alive[("inglenook_pi_processes",)] == 1
    assert after[("inglenook_pi_processes",)] == 0
    assert after["inglenook_pi_starts_total", "started"] == 1
    assert after["inglenook_pi_starts_total", "failed"] == 1


async def test_a_process_s_error_goes_on_up(host: Host) -> None:
    """What goes wrong while it runs is the caller's, and it is not alive afterwards."""
    watched = host.figures.watch(cast("Engine", Process(fails=False)))
    with pytest.raises(ValueError, match="in use"):
        async with watched.spawn(cast("Launch", object())):
            raise ValueError("in use")
    assert (await host.read())[("inglenook_pi_processes",)] == 0
