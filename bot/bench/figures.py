"""Figures of a measurement and how they are shown."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

_PERCENTILE = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured quantity. ``target`` bounds the median, ``target_p95`` the percentile."""

    name: str
    unit: str
    count: int
    median: float
    p95: float
    low: float
    high: float
    target: float | None = None
    target_p95: float | None = None

    @property
    def met(self) -> bool:
        """Whether the figure is within its targets; True where there are none."""
        return (self.target is None or self.median <= self.target) and (
            self.target_p95 is None or self.p95 <= self.target_p95
        )


def figure(
    name: str,
    values: Sequence[float],
    *,
    unit: str = "ms",
    target: float | None = None,
    target_p95: float | None = None,
) -> Figure:
    """Summarize measured values; at least one is needed."""
    ordered = sorted(values)
    index = min(len(ordered) - 1, len(ordered) * _PERCENTILE // 100)
    return Figure(
        name=name,
        unit=unit,
        count=len(ordered),
        median=round(statistics.median(ordered), 3),
        p95=round(ordered[index], 3),
        low=round(ordered[0], 3),
        high=round(ordered[-1], 3),
        target=target,
        target_p95=target_p95,
    )


def milliseconds(nanoseconds: int) -> float:
    """Convert, for people."""
    return nanoseconds / 1e6


def machine() -> str:
    """Name the machine as far as figures depend on it."""
    cores = len(os.sched_getaffinity(0))
    return f"{platform.system()} {platform.machine()}, {cores} cores, {platform.python_version()}"


def as_json(figures: Sequence[Figure]) -> str:
    """Give the figures for programs."""
    rows = [{**asdict(item), "met": item.met} for item in figures]
    return json.dumps({"machine": machine(), "figures": rows}, indent=2)


def show(figures: Sequence[Figure]) -> None:
    """Print the figures for people."""
    table = Table(title=f"Inglenook on {machine()}", title_justify="left")
    table.add_column("what")
    for heading in ("n", "median", "p95", "low", "high", "target", ""):
        table.add_column(heading, justify="right")
    for item in figures:
        table.add_row(
            item.name,
            str(item.count),
            f"{item.median:g} {item.unit}",
            f"{item.p95:g}",
            f"{item.low:g}",
            f"{item.high:g}",
            _targets(item),
            "ok" if item.met else "over",
        )
    Console().print(table)


def _targets(item: Figure) -> str:
    bounds = [f"{bound:g}" for bound in (item.target, item.target_p95) if bound is not None]
    return " / ".join(bounds)
