"""Figures are what they say."""

from __future__ import annotations

import json

import pytest

from bot.bench.figures import as_json, figure, milliseconds, show


def test_a_figure_sums_up_its_values() -> None:
    """Median, 95th percentile and range of what was measured."""
    found = figure("x", [float(value) for value in range(1, 101)])
    assert (found.count, found.median, found.p95, found.low, found.high) == (100, 50.5, 96, 1, 100)


@pytest.mark.parametrize(
    ("target", "target_p95", "met"),
    [
        (None, None, True),
        (2.0, None, True),
        (1.9, None, False),
        (2.0, 2.9, False),
        (2.0, 3.0, True),
    ],
)
def test_targets_bound_median_and_percentile(
    target: float | None, target_p95: float | None, *, met: bool
) -> None:
    """Both bounds hold or the figure is over."""
    assert figure("x", [1.0, 2.0, 3.0], target=target, target_p95=target_p95).met is met


def test_one_value_is_its_own_figure() -> None:
    """A single measurement has no spread."""
    found = figure("memory", [76.4], unit="MB")
    assert found.low == found.median == found.p95 == found.high == 76.4


def test_json_names_the_machine_and_every_figure() -> None:
    """Programs read the same figures as people."""
    told = json.loads(as_json([figure("a", [milliseconds(1_500_000)], target=1.0)]))
    assert told["machine"]
    assert told["figures"][0] | {"name": "a", "median": 1.5, "met": False} == told["figures"][0]


def test_the_table_shows_targets(capsys: pytest.CaptureFixture[str]) -> None:
    """What is over its target is marked."""
    show([figure("a", [9.0], target=1.0), figure("b", [1.0])])
    shown = capsys.readouterr().out
    assert "over" in shown
    assert "ok" in shown
