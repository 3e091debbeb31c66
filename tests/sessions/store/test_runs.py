"""Runs, turns and replies, as the owner's inspection asks for them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.request import ChannelId, ImpName, MessageId, RunId, TurnId, UserId
from sessions.inbound import OutcomeKind, Usage
from sessions.store.database import Database, open_database
from sessions.store.runs import InterruptedTurn, RunRow, RunStore, TraceExtent, TurnRow
from sessions.store.warm import WarmRow, WarmStore
from support import run_rows
from support.run_rows import remember_reply
from support.session_world import BOUND_SECONDS, ManualClock

RUN = RunId("2026-11-29-23-16-35-abcd")
NOW = "2026-11-29T23:20:00.000Z"


def run_row(run_id: str = RUN, **changes: object) -> RunRow:
    """Give a run of which everything is known."""
    known: dict[str, object] = {"system_sha256": "a" * 64, "route_key": "inglenook-pc-1"}
    extent: dict[str, object] = {"trace_events": 1, "trace_head_sha256": "b" * 64}
    return run_rows.run_row(run_id, **{"is_dm": True, **known, **extent, **changes})


def turn_row(seq: int = 1, *, run_id: str = RUN, **changes: object) -> TurnRow:
    """Give a turn that runs, and was paid for."""
    usage = Usage(
        input_tokens=6,
        output_tokens=7,
        cache_read_tokens=8,
        cache_write_tokens=9,
        cost_usd=0.25,
        model_calls=1,
    )
    known: dict[str, object] = {"outcome": None, "input_sha256": "c" * 64, "usage": usage}
    turn_id = TurnId(f"discord:message:{seq}")
    return run_rows.turn_row(run_id, seq, **{"turn_id": turn_id, **known, **changes})


@pytest.fixture
def runs(database: Database) -> RunStore:
    return RunStore(database)


async def test_a_run_reads_back_as_written(runs: RunStore) -> None:
    """Every field, types included."""
    await runs.begin_run(run_row())
    assert await runs.get_run(RUN) == run_row()
    assert await runs.get_run(RunId("2026-01-01-00-00-00-none")) is None


async def test_a_start_is_written_into_its_run(runs: RunStore) -> None:
    """The row is there before the compilation, and learns its hashes from it."""
    await runs.begin_run(run_row(system_sha256=None, route_key=None, trace_head_sha256=None))
    await runs.set_start(
        RUN,
        system_sha256="a" * 64,
        route_key="inglenook-pc-1",
        extent=TraceExtent(events=1, head_sha256="b" * 64),
    )
    assert await runs.get_run(RUN) == run_row()


async def test_a_turn_is_there_from_its_delivery_to_its_outcome(runs: RunStore) -> None:
    """The row of a running turn has no outcome; the outcome replaces it in one transaction."""
    await runs.begin_run(run_row())
    await runs.begin_turn(turn_row())
    assert await runs.turns(RUN) == (turn_row(),)
    done = turn_row(outcome=OutcomeKind.REPLIED, reply_sha256="d" * 64)
    await runs.record_turn(done, TraceExtent(events=3, head_sha256="e" * 64))
    assert await runs.turns(RUN) == (done,)
    row = await runs.get_run(RUN)
    assert row is not None
    assert (row.turns, row.trace_events, row.trace_head_sha256) == (1, 3, "e" * 64)


async def test_turns_come_in_their_order(runs: RunStore) -> None:
    """By sequence, whatever order they were written in."""
    await runs.begin_run(run_row())
    for seq in (3, 1, 2):
        await runs.begin_turn(turn_row(seq))
    assert [row.seq for row in await runs.turns(RUN)] == [1, 2, 3]


async def test_a_claim_is_kept_with_the_turn_and_dropped_with_the_run(
    runs: RunStore, database: Database
) -> None:
    """Resuming rests on the record of the last turn."""
    warm = WarmRow(
        imp=ImpName("ember"),
        channel_id=ChannelId("discord:100"),
        run_id=RUN,
        route_key="inglenook-pc-1",
        engine_sha256="f" * 64,
        last_active_at=NOW,
    )
    await runs.begin_run(run_row())
    await runs.record_turn(turn_row(), TraceExtent(events=2, head_sha256=None), warm=warm)
    store = WarmStore(database)
    assert await store.find(warm.imp, warm.channel_id) == warm
    assert await store.find(warm.imp, ChannelId("discord:200")) is None
    await runs.end_run(RUN, ended_at=NOW, reason="idle")
    assert await store.find(warm.imp, warm.channel_id) is None
    row = await runs.get_run(RUN)
    assert row is not None
    assert (row.ended_at, row.end_reason, row.trace_events) == (NOW, "idle", 2)


async def test_lists_are_filtered_bounded_and_latest_first(runs: RunStore) -> None:
    """By imp and channel; ``before`` goes on where the last list stopped."""
    ids = [f"2026-11-29-23-16-3{number}-abcd" for number in range(5)]
    for number, run_id in enumerate(ids):
        channel = ChannelId(f"discord:{number % 2}")
        await runs.begin_run(run_row(run_id, channel_id=channel))
    assert [row.run_id for row in await runs.list_runs(2)] == ids[:2:-1]
    in_one = await runs.list_runs(9, imp=ImpName("ember"), channel=ChannelId("discord:1"))
    assert [row.run_id for row in in_one] == [ids[3], ids[1]]
    assert [row.run_id for row in await runs.list_runs(9, before=RunId(ids[2]))] == ids[1::-1]
    assert await runs.list_runs(9, imp=ImpName("cinder")) == ()
    assert await runs.list_runs(-1) == ()


@pytest.mark.parametrize(
    ("prefix", "found"), [("", 2), ("2026-11", 2), ("2026-11-29-23-16-35-abcd", 1), ("2027", 0)]
)
async def test_run_ids_are_completed(runs: RunStore, prefix: str, found: int) -> None:
    """For completion while typing, the latest first."""
    await runs.begin_run(run_row())
    await runs.begin_run(run_row("2026-11-30-00-00-00-abcd"))
    rows = await runs.search_run_ids(prefix, 25)
    assert len(rows) == found
    assert [row.run_id for row in rows] == sorted((row.run_id for row in rows), reverse=True)


@pytest.mark.parametrize("prefix", ["%", "2026_11", "\ud800", "'; DROP TABLE runs; --", "2026 "])
async def test_odd_completions_find_nothing_and_harm_nothing(runs: RunStore, prefix: str) -> None:
    """What people type into the field is no pattern and no statement."""
    await runs.begin_run(run_row())
    assert await runs.search_run_ids(prefix, 25) == ()
    assert await runs.get_run(RUN) is not None


async def test_a_reply_leads_to_its_turn(runs: RunStore) -> None:
    """ "Why this answer?" opens the run of a reply; a reply in parts has several messages."""
    for message in ("discord:900", "discord:901"):
        await remember_reply(runs, MessageId(message), RUN, TurnId("discord:message:1"))
    assert await runs.turn_of_reply(MessageId("discord:901")) == (RUN, "discord:message:1")
    assert await runs.turn_of_reply(MessageId("discord:999")) is None


async def test_what_a_killed_host_left_is_settled(runs: RunStore, database: Database) -> None:
    """P06: open turns are cut off and told; a turn whose reply was sent is not told again."""
    replied, warm, stale = (f"2026-11-29-23-16-0{number}-abcd" for number in range(3))
    for run_id in (replied, warm, stale):
        await runs.begin_run(run_row(run_id))
    await runs.begin_run(run_row())
    await runs.begin_turn(turn_row())
    await runs.begin_turn(turn_row(run_id=replied))
    await remember_reply(runs, MessageId("discord:900"), RunId(replied), turn_row().turn_id)
    for channel, run_id, active in ((1, warm, "2026-11-29T23:19"), (2, stale, "2026-11-29T22")):
        claim = WarmRow(
            imp=ImpName("ember"),
            channel_id=ChannelId(f"discord:{channel}"),
            run_id=RunId(run_id),
            route_key="k",
            engine_sha256="e",
            last_active_at=active,
        )
        row = turn_row(run_id=run_id, outcome=OutcomeKind.REPLIED)
        await runs.record_turn(row, TraceExtent(events=1, head_sha256=None), warm=claim)

    found = await runs.close_interrupted(now=NOW, idle_before="2026-11-29T23:15")

    assert found.turns == (
        InterruptedTurn(
            run_id=RUN,
            turn_id=TurnId("discord:message:1"),
            imp=ImpName("ember"),
            channel_id=ChannelId("discord:100"),
            user_id=UserId("discord:7"),
        ),
    )
    assert set(found.open_runs) == {RUN, replied, warm, stale}
    reasons = {row.run_id: row.end_reason for row in await runs.list_runs(9)}
    assert reasons == {RUN: "shutdown", replied: "shutdown", warm: None, stale: "idle"}
    (cut,), (sent,) = await runs.turns(RUN), await runs.turns(RunId(replied))
    assert (cut.outcome, cut.error_code) == (OutcomeKind.CUT_OFF, "host_killed")
    assert sent.outcome is OutcomeKind.REPLIED
    again = await runs.close_interrupted(now=NOW, idle_before="2026-11-29T23:15")
    assert again.turns == ()
    assert await WarmStore(database).find(ImpName("ember"), ChannelId("discord:2")) is None


@settings(max_examples=20)
@given(usage=st.builds(Usage, cost_usd=st.floats(0, 1e6), input_tokens=st.integers(0, 2**40)))
async def test_usage_survives_exactly(
    usage: Usage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Figures of the provider are kept as reported."""
    file = tmp_path_factory.mktemp("store") / "inglenook.db"
    async with open_database(file, clock=ManualClock(), patience_seconds=BOUND_SECONDS) as opened:
        store = RunStore(opened)
        await store.begin_run(run_row())
        await store.begin_turn(turn_row(usage=usage))
        assert (await store.turns(RUN))[0].usage == usage
