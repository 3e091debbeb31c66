"""How long things are kept, and what of them has to go by now (pure).

Three kinds, from the exact to the general: a *trace* with its run's other files, the *record* of a
run's turns, and the *messages* of conversations. A run's own row always stays: it holds how many
lines its trace had and the hash of the last one, so that what was pruned can still be told from
what was taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from compiler.request import RunId

MB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """How long and how much is kept (``org.toml [retention]``); 0 sets no limit."""

    trace_days: int = 0
    """Traces and the other files of runs, from the end of the run on."""
    trace_mb: int = 0
    """All of them together; the oldest go first."""
    run_days: int = 0
    """Turns of runs: who asked when, how it went, what it cost."""
    history_days: int = 0
    """Messages of conversations."""
    home_mb: int = 0
    """The whole home; the owner is warned when nine tenths of it are used."""
    free_mb: int = 500
    """Room on the home's disk; the owner is warned when there is less."""


class Why(StrEnum):
    """Why a trace has to go."""

    AGE = "age"
    SIZE = "size"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFact:
    """One trace that may go: its run has ended, and nothing waits for it."""

    run_id: RunId
    ended_at: datetime
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """One trace that has to go."""

    run_id: RunId
    size_bytes: int
    why: Why


def doomed_traces(
    traces: Sequence[TraceFact], settings: RetentionSettings, *, now: datetime, held_bytes: int = 0
) -> tuple[Doomed, ...]:
    """Choose what has to go: all that is too old, then the oldest until the rest has room.

    ``held_bytes`` is the size of traces that may not go; they count and stay.
    """
    oldest_first = sorted(traces, key=lambda each: (each.ended_at, each.run_id))
    bound = cutoff(settings.trace_days, now)
    old = [each for each in oldest_first if bound is not None and each.ended_at < bound]
    young = oldest_first[len(old) :]
    over_bytes = held_bytes + sum(each.size_bytes for each in young) - settings.trace_mb * MB
    too_much: list[TraceFact] = []
    for each in young if settings.trace_mb else ():
        if over_bytes <= 0:
            break
        over_bytes -= each.size_bytes
        too_much.append(each)
    return (
        *(_doomed(each, Why.AGE) for each in old),
        *(_doomed(each, Why.SIZE) for each in too_much),
    )


def cutoff(days: int, now: datetime) -> datetime | None:
    """Give the moment before which things are too old; None where they are kept for ever."""
    return now - timedelta(days=days) if days else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFact:
    """What a home takes of its disk, and what is left there."""

    home_bytes: int
    free_bytes: int


def disk_warning(disk: DiskFact, settings: RetentionSettings) -> str:
    """Say what the owner must hear of the disk; empty while there is room."""
    if settings.free_mb and disk.free_bytes < settings.free_mb * MB:
        return (
            f"The disk of my home has {_mb(disk.free_bytes)} left, and `[retention] free_mb` warns "
            f"below {settings.free_mb:,} MB. When it is full I answer nobody."
        )
    if settings.home_mb and disk.home_bytes * 10 >= settings.home_mb * MB * 9:
        return (
            f"My home takes {_mb(disk.home_bytes)} of the {settings.home_mb:,} MB that "
            "`[retention] home_mb` gives it. `trace_days`, `trace_mb` and `history_days` there say "
            "what may go."
        )
    return ""


def _doomed(trace: TraceFact, why: Why) -> Doomed:
    return Doomed(run_id=trace.run_id, size_bytes=trace.size_bytes, why=why)


def _mb(size_bytes: int) -> str:
    return f"{size_bytes // MB:,} MB"
