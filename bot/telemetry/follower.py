"""Follows the runs and tells of each turn that ended, once; nothing of a turn waits for it.

From the trace only the lines of model calls are read, each byte once: where the last look ended is
remembered for each open run. A turn that an earlier host took is told by nobody.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import structlog

from bot.logs import describe
from bot.telemetry.spans import SpanPlan, plan_delivery, plan_turn
from compiler.request import RunId, TurnId
from sessions.run_feed import Listener
from sessions.store.runs import RunRow, RunStore, TurnRow
from sessions.trace import TRACE_FILE
from sessions.traces.events import WireEvent, decode_event

_CALL: Final = b'"event":"wire"'
MAX_RUNS: Final = 2_000
"""Remembered, the latest to change. What an ended run is told of late must not be told again."""
_log = structlog.get_logger(__name__)


class Told(Protocol):
    """A span that went out; others can be put within it."""

    def add(self, plan: SpanPlan) -> None:
        """Send one more, within this one."""


@dataclass(slots=True)
class _Open:
    """How far a run was told. ``owed`` are turns whose delivery is not yet known."""

    after: int
    offset: int
    owed: dict[TurnId, tuple[SpanPlan, Told]]


class Follower:
    """Reads what changed, and hands the spans to ``send``."""

    def __init__(
        self,
        runs_dir: Path,
        store: RunStore,
        send: Callable[[SpanPlan], Told],
        *,
        since: str,
    ) -> None:
        """Take the store; turns that were accepted before ``since`` are left out."""
        self._runs_dir = runs_dir
        self._store = store
        self._send = send
        self._since = since
        self._open: dict[RunId, _Open] = {}

    async def follow(self, listener: Listener) -> None:
        """Tell of turns until cancelled."""
        while True:
            await listener.heard()
            await self.take_in(listener)

    async def take_in(self, listener: Listener) -> None:
        """Tell what changed since the last time."""
        for run_id in listener.take():
            try:
                await self._take_in(run_id)
            except Exception as error:  # noqa: BLE001  (the next change of the run tells it all)
                _log.warning("telemetry.unread", run_id=run_id, **describe(error))

    async def _take_in(self, run_id: RunId) -> None:
        run = await self._store.get_run(run_id)
        if run is None:
            self._open.pop(run_id, None)
            return
        state = self._known(run_id)
        ended = [
            turn
            for turn in await self._store.turns(run_id, after=state.after)
            if turn.outcome is not None
        ]
        if ended:
            calls = await asyncio.to_thread(self._calls, run_id, state)
            self._tell(run, ended, calls, state)
        if state.owed:
            await self._tell_deliveries(run_id, state)

    def _known(self, run_id: RunId) -> _Open:
        """Give how far a run was told; of those that have long been silent nothing is kept."""
        state = self._open.pop(run_id, None) or _Open(after=0, offset=0, owed={})
        self._open[run_id] = state
        if len(self._open) > MAX_RUNS:
            del self._open[next(iter(self._open))]
        return state

    def _tell(
        self,
        run: RunRow,
        turns: Sequence[TurnRow],
        calls: Mapping[str | None, Sequence[WireEvent]],
        state: _Open,
    ) -> None:
        for turn in turns:
            state.after = turn.seq
            if turn.accepted_at >= self._since:
                plan = plan_turn(run, turn, calls.get(turn.turn_id, ()))
                # Only the latest is waited for: many a turn has no message at all.
                state.owed = {turn.turn_id: (plan, self._send(plan))}

    async def _tell_deliveries(self, run_id: RunId, state: _Open) -> None:
        posted = await self._store.posted(run_id)
        for turn_id in [turn_id for turn_id in state.owed if turn_id in posted]:
            plan, told = state.owed.pop(turn_id)
            told.add(plan_delivery(plan, posted[turn_id]))

    def _calls(self, run_id: RunId, state: _Open) -> Mapping[str | None, Sequence[WireEvent]]:
        """Read the model calls in what was written since the last look, whole lines alone."""
        found: dict[str | None, list[WireEvent]] = defaultdict(list)
        with (self._runs_dir / run_id / TRACE_FILE).open("rb") as file:
            file.seek(state.offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                state.offset += len(line)
                if _CALL in line:
                    event = decode_event(line)
                    if isinstance(event, WireEvent):
                        found[event.turn_id].append(event)
        return found
