"""What a replay is made against."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.runs.replay_settings import overrides, replay_against, replay_run
from compiler.errors import SafeError
from sessions.traces.reader import TracedEvent
from support.recorded_runs import record_run, trace_of


@pytest.fixture
async def trace(tmp_path: Path) -> tuple[TracedEvent, ...]:
    await record_run(tmp_path)
    return trace_of(tmp_path)


def test_settings_are_read_by_section() -> None:
    assert overrides(["engine.model=a=b", " context.x = 1", "engine.url=u"]) == {
        "engine": {"model": "a=b", "url": "u"},
        "context": {"x": "1"},
    }


def test_without_wishes_the_homes_own_settings_count(
    trace: tuple[TracedEvent, ...], tmp_path: Path
) -> None:
    assert replay_against(tmp_path, trace, 1, []).difference.is_empty
    assert replay_run(tmp_path, trace, None).ok


def test_the_limits_of_an_imp_count(trace: tuple[TracedEvent, ...], tmp_path: Path) -> None:
    (tmp_path / "org.toml").write_text("[imps.ember.context]\nmemory_max_chars = 100\n")
    gone = replay_against(tmp_path, trace, 1, []).difference.went_out
    assert {moved.block for moved in gone} == {"memory"}


def test_a_window_that_is_too_small_is_told(trace: tuple[TracedEvent, ...], tmp_path: Path) -> None:
    with pytest.raises(SafeError):
        replay_against(tmp_path, trace, 1, ["engine.context_window=1000", "engine.max_tokens=100"])
