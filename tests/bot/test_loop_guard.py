"""Bots are answered so often and no more (P10)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.loop_guard import MAX_CHANNELS, LoopGuard


def admits(guard: LoopGuard, now: float, *, channel: int = 1) -> bool:
    return guard.admits(channel, now=now, turns=2, window_seconds=10.0)


def test_turns_are_counted_in_a_window_of_each_channel() -> None:
    """Two in ten seconds; another channel has its own."""
    guard = LoopGuard()
    assert [admits(guard, now) for now in (0.0, 1.0, 2.0, 9.9)] == [True, True, False, False]
    assert admits(guard, 3.0, channel=2)
    assert [admits(guard, now) for now in (10.0, 10.5, 11.0)] == [True, False, True]


def test_none_means_none() -> None:
    """turns = 0 answers no bot at all."""
    assert not LoopGuard().admits(1, now=0.0, turns=0, window_seconds=10.0)


def test_memory_is_bounded() -> None:
    """The channel that was quiet for longest is forgotten."""
    guard = LoopGuard()
    for channel in range(MAX_CHANNELS + 1):
        admits(guard, 0.0, channel=channel)
    assert len(guard._turns) == MAX_CHANNELS


@given(st.lists(st.floats(min_value=0, max_value=100), max_size=40).map(sorted))
def test_no_window_holds_more_than_the_limit(times: list[float]) -> None:
    """Whatever the rhythm."""
    guard = LoopGuard()
    taken = [now for now in times if admits(guard, now)]
    assert all(later - first >= 10.0 for first, later in zip(taken, taken[2:], strict=False))
