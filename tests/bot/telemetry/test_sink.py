"""Spans of recorded runs, through the SDK into its memory: each turn once, and no content."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs

from bot.telemetry.follower import Follower
from bot.telemetry.sink import open_telemetry
from bot.telemetry.spans import SpanPlan
from compiler.request import MessageId, RunId, TurnId
from config.homedir import DATABASE_FILE
from config.settings import TelemetrySettings
from sessions.clock import SystemClock
from sessions.run_feed import Listener, RunFeed
from sessions.store.database import open_database
from sessions.store.runs import RunStore
from support.recorded_runs import CANARY, RUN, Said, record_run
from support.run_rows import remember_reply
from support.session_world import BOUND_SECONDS, ManualClock

ON = TelemetrySettings(enabled=True)
LATER = RunId("2026-11-29-23-20-00-efgh")


def named(spans: Sequence[ReadableSpan], name: str) -> list[ReadableSpan]:
    return [span for span in spans if span.name == name]


async def test_each_turn_is_told_once_with_its_steps_and_delivery(tmp_path: Path) -> None:
    """Issue: OpenTelemetry traces through its SDK, content never."""
    exporter, feed = InMemorySpanExporter(), RunFeed()
    async with open_database(
        tmp_path / DATABASE_FILE, clock=ManualClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        async with open_telemetry(
            ON,
            runs_dir=tmp_path / "runs",
            database=database,
            feed=feed,
            clock=ManualClock(),  # it stands where the recorded turns begin
            exporter=exporter,
        ) as sends:
            assert sends
            await record_run(tmp_path)
            feed.tell(RUN)
            await record_run(tmp_path, (Said(text="late", number=1),), run_id=LATER)
            turn = TurnId("discord:message:9001")
            await remember_reply(RunStore(database), MessageId("discord:77"), LATER, turn)
            posted = "UPDATE replies SET at = '2026-11-29T23:16:59.000Z' WHERE message_id = ?"
            await database.write(lambda db: db.execute(posted, ("discord:77",)))
            feed.tell(LATER)
            feed.tell(RUN)
        spans = exporter.get_finished_spans()
    turns = named(spans, "turn")
    told = [(dict(span.attributes or {})) for span in turns]
    assert sorted((each["inglenook.run_id"], each["inglenook.turn"]) for each in told) == [
        (RUN, 1),
        (RUN, 2),
        (LATER, 1),
    ]
    parents = {span.context.span_id for span in turns if span.context is not None}
    for name in ("wait", "compile", "trace", "pi"):
        steps = named(spans, name)
        assert len(steps) == 3
        assert {step.parent.span_id for step in steps if step.parent is not None} == parents
    (delivery,) = named(spans, "delivery")
    assert delivery.parent is not None
    assert delivery.parent.span_id in parents
    assert CANARY not in "".join(span.to_json() for span in spans)
    assert "discord:" not in "".join(span.to_json() for span in spans)
    assert feed.listening == 0


async def test_without_the_packages_the_log_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    feed = RunFeed()
    async with open_database(
        tmp_path / DATABASE_FILE, clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        with capture_logs() as logs:
            async with open_telemetry(
                ON, runs_dir=tmp_path, database=database, feed=feed, clock=SystemClock()
            ) as sends:
                assert not sends
                assert feed.listening == 0
    assert [line["event"] for line in logs] == ["telemetry.missing"]


class _Refuses:
    """A sink that fails once."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self._fails = True

    def send(self, plan: SpanPlan) -> _Refuses:
        if self._fails:
            self._fails = False
            raise ValueError(CANARY)
        self.sent.append(plan.name)
        return self

    def add(self, plan: SpanPlan) -> None:
        self.sent.append(plan.name)


async def test_a_failure_is_logged_and_ends_nothing(tmp_path: Path) -> None:
    """The bot runs on; the log has the kind and the place, and no text."""
    await record_run(tmp_path)
    async with open_database(
        tmp_path / DATABASE_FILE, clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        sink, listener = _Refuses(), Listener()
        follower = Follower(tmp_path / "runs", RunStore(database), sink.send, since="2026")
        with capture_logs() as logs:
            for _ in range(3):
                listener.tell(RUN)
                await follower.take_in(listener)
    assert [line["event"] for line in logs] == ["telemetry.unread"]
    assert CANARY not in str(logs)
    assert sink.sent == ["turn"], "the second turn; the first was on its way when it failed"
