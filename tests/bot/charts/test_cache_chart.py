"""Hit share over turns as a picture: the latest of them, session by session."""

from __future__ import annotations

from bot.charts.cache_chart import MAX_TURNS, cache_chart
from sessions.review.cache_report import CacheFigures, CacheReport, SessionCache, TurnCache

HALF = CacheFigures(calls=1, input_tokens=100, cached_tokens=50, expected_tokens=75)


def session(number: int, turns: int) -> SessionCache:
    return SessionCache(
        run_id=f"run-{number}",
        imp="ember",
        channel_id=None,
        began_at="",
        figures=HALF,
        unmeasured=0,
        observed=True,
        breaks=(),
        turns=tuple(TurnCache(turn_id=f"t{place}", figures=HALF) for place in range(turns)),
    )


def test_the_description_says_the_shares() -> None:
    chart = cache_chart(CacheReport(sessions=(session(1, 2), session(2, 1)), imps=()))
    assert chart is not None
    assert chart.png.startswith(b"\x89PNG")
    assert "over 3 turns in 2 sessions: 50.0%, expected 75.0%." in chart.description


def test_of_many_turns_the_latest_are_drawn() -> None:
    chart = cache_chart(CacheReport(sessions=(session(1, 9), session(2, MAX_TURNS)), imps=()))
    assert chart is not None
    assert f"over {MAX_TURNS} turns in 1 session:" in chart.description


def test_without_a_measured_call_there_is_nothing_to_draw() -> None:
    assert cache_chart(CacheReport(sessions=(session(1, 0),), imps=())) is None
