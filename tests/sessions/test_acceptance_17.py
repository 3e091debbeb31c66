"""CC acceptance test 17 with the embedded model, a real provider with a real cache."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest

from bot.bootstrap import find_model, libgomp_dir
from bot.playground.embedded_model import EmbeddedModel
from sessions.inbound import OutcomeKind
from sessions.review.cache_report import report_cache
from sessions.traces.reader import read_trace
from support.real_world import message, real_world

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # it computes all the while
TURNS = 4
LEAST_SHARE = 0.95


async def test_17_a_repeated_prefix_reports_its_cached_tokens(tmp_path: Path) -> None:
    """At least 95 % of what was expected, in each turn from the second; the trace records it."""
    library = await asyncio.to_thread(libgomp_dir)
    async with (
        EmbeddedModel(find_model(), library_dir=library) as model,
        real_world(
            tmp_path, url=model.url, model=model.name, context_window=8192, max_tokens=1
        ) as world,
    ):
        async with world.registry(start_seconds=120, turn_seconds=600) as registry:
            outcomes = [
                await registry.submit(message(number, f"Tell me of ember {number}.")).outcome()
                for number in range(1, TURNS + 1)
            ]
        assert {each.kind for each in outcomes} <= {OutcomeKind.REPLIED, OutcomeKind.SILENT}
        (run_id,) = {each.run_id for each in outcomes}
        assert run_id is not None
        trace = read_trace(world.run_dir(run_id) / "context.jsonl")
    calls = [each.event for each in trace if each.event.event == "wire"]
    assert [call.problems for call in calls] == [()] * TURNS
    assert [call.extends_former for call in calls] == [None] + [True] * (TURNS - 1)
    usages = [call.usage for call in calls if call.usage and not call.usage.is_estimate]
    assert len(usages) == TURNS
    for former, latter in itertools.pairwise(usages):
        assert latter.cached_tokens >= LEAST_SHARE * former.input_tokens
        assert latter.input_tokens > former.input_tokens
    report = report_cache([trace])
    figures = report.sessions[0].figures
    assert figures.cached_tokens >= LEAST_SHARE * figures.expected_tokens > 0
    assert report.breaks == ()
