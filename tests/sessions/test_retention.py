"""What has to go, as a value: by age, by size, oldest first, and never more than that."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.request import RunId
from sessions.retention import (
    MB,
    DiskFact,
    RetentionSettings,
    TraceFact,
    Why,
    cutoff,
    disk_warning,
    doomed_traces,
)

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def fact(number: int, *, days: float, mb: int = 1) -> TraceFact:
    return TraceFact(
        run_id=RunId(f"run-{number:03}"),
        ended_at=NOW - timedelta(days=days),
        size_bytes=mb * MB,
    )


def test_nothing_goes_unless_the_owner_said_so() -> None:
    """Issue "Retention": by settings; the defaults keep all, and warn of a full disk alone."""
    traces = [fact(1, days=9_999, mb=9_999)]
    assert doomed_traces(traces, RetentionSettings(), now=NOW) == ()
    assert cutoff(0, NOW) is None


def test_the_old_go_and_then_the_oldest_until_there_is_room() -> None:
    """Issue "Retention": by age and size; what may not go counts and stays."""
    traces = [fact(number, days=number, mb=2) for number in (4, 1, 3, 2, 5)]
    kept = RetentionSettings(trace_days=4, trace_mb=7)
    found = doomed_traces(traces, kept, now=NOW, held_bytes=2 * MB)
    assert [(each.run_id, each.why) for each in found] == [
        ("run-005", Why.AGE),
        ("run-004", Why.SIZE),
        ("run-003", Why.SIZE),
    ]
    assert len(doomed_traces(traces, RetentionSettings(trace_days=4), now=NOW)) == 1


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=12),
    st.integers(0, 40),
    st.integers(0, 30),
)
def test_what_goes_is_as_little_as_will_do(
    given_traces: list[tuple[int, int]], days: int, limit_mb: int
) -> None:
    traces = [fact(n, days=age, mb=mb) for n, (age, mb) in enumerate(given_traces)]
    kept = RetentionSettings(trace_days=days, trace_mb=limit_mb)
    found = doomed_traces(traces, kept, now=NOW)
    gone = {each.run_id for each in found}
    assert len(gone) == len(found)
    stay = [each for each in traces if each.run_id not in gone]
    rest_bytes = sum(each.size_bytes for each in stay)
    if days:
        assert all(each.ended_at >= NOW - timedelta(days=days) for each in stay)
    if limit_mb:
        assert rest_bytes <= limit_mb * MB
    by_size = [each for each in found if each.why is Why.SIZE]
    if by_size:  # without the last of them there was too much
        assert rest_bytes + by_size[-1].size_bytes > limit_mb * MB
        newest = max(each.ended_at for each in traces if each.run_id in gone)
        assert all(each.ended_at >= newest for each in stay)


@pytest.mark.parametrize(
    ("home_mb", "free_mb", "told"),
    [(10, 900, ""), (10, 400, "400 MB left"), (90, 900, "90 MB of the 100 MB")],
)
def test_the_owner_is_warned_before_there_is_no_room(home_mb: int, free_mb: int, told: str) -> None:
    """Issue "Retention": disk budget with warning."""
    disk = DiskFact(home_bytes=home_mb * MB, free_bytes=free_mb * MB)
    warning = disk_warning(disk, RetentionSettings(home_mb=100))
    assert told in warning
    assert bool(told) == bool(warning)
    assert not disk_warning(disk, RetentionSettings(home_mb=0, free_mb=0))
