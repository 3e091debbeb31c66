"""Pruning: look what is too old or too much, then let it go, run by run.

``look`` changes nothing and gives the plan; ``carry_out`` does some of it at a time, so that turns
pass in between. A trace whose chain does not hold is never thrown away: it may be the proof of what
happened to it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from compiler.request import RunId
from sessions.clock import Clock, parse_timestamp, timestamp
from sessions.retention import (
    DiskFact,
    Doomed,
    RetentionSettings,
    TraceFact,
    cutoff,
    doomed_traces,
)
from sessions.run_files import RUNS_DIR
from sessions.store.database import Database
from sessions.store.retention import PAGE, RetentionStore, TraceRow, run_prefix
from sessions.trace import TRACE_FILE
from sessions.traces.chain import chain_end
from sessions.traces.events import TraceMark

MANY: Final = 1_000_000_000
_TURN_RUNS: Final = 50
"""Runs whose turns go in one transaction."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePlan:
    """What has to go."""

    traces: tuple[Doomed, ...] = ()
    records: tuple[RunId, ...] = ()
    """Runs whose turns go. Those among ``traces`` follow in the next look."""
    messages: int = 0
    messages_before: int = 0
    """Their place in time."""

    @property
    def size_bytes(self) -> int:
        """What the disk gets back by the traces."""
        return sum(each.size_bytes for each in self.traces)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has to go."""
        return not (self.traces or self.records or self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What went."""

    traces: int = 0
    size_bytes: int = 0
    turns: int = 0
    messages: int = 0
    kept: tuple[RunId, ...] = ()
    """Runs whose trace had to go and does not verify, or could not be deleted."""


class Pruner:
    """Looks and prunes, by the settings of the moment.

    Args:
        home: where ``runs/`` lies.
        database: the open database.
        clock: tells how old things are.
        settings: what is kept.
        ordinal_at: the place in time of a message that is written at a moment.
    """

    def __init__(
        self,
        *,
        home: Path,
        database: Database,
        clock: Clock,
        settings: Callable[[], RetentionSettings],
        ordinal_at: Callable[[datetime], int],
    ) -> None:
        self._home = home
        self._runs = home / RUNS_DIR
        self._store = RetentionStore(database)
        self._clock = clock
        self._settings = settings
        self._ordinal_at = ordinal_at

    async def look(self, limit: int = MANY) -> PrunePlan:
        """Plan what has to go now, at most ``limit`` runs of each kind.

        Raises:
            StoreUnavailable: the rows cannot be read.
        """
        settings, now = self._settings(), self._clock.utc_now()
        traces = await self._doomed(settings, now)
        records: tuple[RunId, ...] = ()
        if (runs_before := cutoff(settings.run_days, now)) is not None:
            records = await self._store.recorded(timestamp(runs_before), limit)
        messages = before = 0
        if (history_before := cutoff(settings.history_days, now)) is not None:
            before = self._ordinal_at(history_before)
            messages = await self._store.count_messages(before)
        return PrunePlan(
            traces=traces[:limit], records=records, messages=messages, messages_before=before
        )

    async def carry_out(self, plan: PrunePlan) -> Pruned:
        """Let a plan's things go; what may not go any more stays.

        Raises:
            StoreUnavailable: the rows cannot be written; what went so far is written down.
        """
        done = Pruned()
        for each in plan.traces:
            if await self._let_go(each.run_id):
                done = replace(
                    done, traces=done.traces + 1, size_bytes=done.size_bytes + each.size_bytes
                )
            else:
                done = replace(done, kept=(*done.kept, each.run_id))
        for start in range(0, len(plan.records), _TURN_RUNS):
            chosen = plan.records[start : start + _TURN_RUNS]
            done = replace(done, turns=done.turns + await self._store.drop_turns(chosen))
        while plan.messages and (count := await self._store.drop_messages(plan.messages_before)):
            done = replace(done, messages=done.messages + count)
        return done

    async def disk(self) -> DiskFact:
        """Measure the home and its disk.

        Raises:
            OSError: it cannot be looked at.
        """
        measured = bool(self._settings().home_mb)
        free_bytes = await asyncio.to_thread(lambda: shutil.disk_usage(self._home).free)
        home_bytes = await asyncio.to_thread(size_of, self._home) if measured else 0
        return DiskFact(home_bytes=home_bytes, free_bytes=free_bytes)

    async def _doomed(self, settings: RetentionSettings, now: datetime) -> tuple[Doomed, ...]:
        if not settings.trace_days and not settings.trace_mb:
            return ()
        before = "\x7f"
        bound = cutoff(settings.trace_days, now)
        if bound is not None and not settings.trace_mb:
            before = run_prefix(timestamp(bound))  # what began later did not end earlier
        facts: list[TraceFact] = []
        held_bytes = 0
        after = ""
        while page := await self._store.traces(after=after, before=before):
            sizes = await asyncio.to_thread(self._sizes, page)
            for row, size_bytes in zip(page, sizes, strict=True):
                if row.ended_at is None:
                    held_bytes += size_bytes
                else:
                    facts.append(
                        TraceFact(
                            run_id=row.run_id,
                            ended_at=parse_timestamp(row.ended_at),
                            size_bytes=size_bytes,
                        )
                    )
            after = page[-1].run_id
            if len(page) < PAGE:
                break
        return doomed_traces(facts, settings, now=now, held_bytes=held_bytes)

    def _sizes(self, rows: Sequence[TraceRow]) -> list[int]:
        return [size_of(self._runs / row.run_id) for row in rows]

    async def _let_go(self, run_id: RunId) -> bool:
        folder = self._runs / run_id
        row = await self._store.trace(run_id)
        if row is None or row.ended_at is None:
            return False  # pruned by another, or taken up again
        head = None
        if row.events and row.head_sha256 is not None:
            head = TraceMark(seq=row.events - 1, sha256=row.head_sha256)
        try:
            end = await asyncio.to_thread(chain_end, folder / TRACE_FILE, head=head)
            if end is not None and not end.is_whole:
                _log.error("prune.kept", run_id=run_id, reason="chain")
                return False
            if not await self._store.doom(run_id, end):
                return False
            await asyncio.to_thread(_remove, folder)
        except OSError as error:
            _log.error("prune.kept", run_id=run_id, reason=type(error).__name__)
            return False
        await self._store.gone(run_id, at=timestamp(self._clock.utc_now()))
        return True


def size_of(folder: Path) -> int:
    """Sum up what the files below a folder take of the disk, in bytes; links are not followed."""
    total = 0
    for root, folders, names in os.walk(folder):
        for name in (*folders, *names):
            try:
                total += os.lstat(Path(root, name)).st_blocks * 512
            except OSError:  # it went while we looked
                continue
    return total


def _remove(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
