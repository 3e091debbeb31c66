"""What the bot did since it started and what waits, as Prometheus reads it.

Nothing here stands in a turn's way: a run that changed is a word from the feed, and its turns are
read from the tables when somebody asks for the figures. The tables stay the one source.

Labels are outcomes, codes and kinds, closed sets all of them; never an id or a name.
"""

from __future__ import annotations

import time
from collections import Counter as Counts
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bot.engine_around import EngineAround, Process
from compiler.request import RunId
from sessions.engine import Engine, EngineClient
from sessions.run_feed import Listener
from sessions.store.backlog import read_backlog
from sessions.store.database import Database
from sessions.store.runs import RunRow, RunStore, TurnRow

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
"""For the host's own work, which takes milliseconds."""
_SLOW: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""For what a model or a queue takes."""
_MICRO: Final = 1e-6
MAX_RUNS: Final = 2_000
"""Remembered, the latest to change: of an ended run may be told once more."""


class Figures:
    """The figures of one host; counts begin with it."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._registry = CollectorRegistry()
        self._counted: dict[RunId, int] = {}
        """How many turns of a run are in the figures; the last to change stands last."""
        registry = self._registry
        self._turns = Counter(
            "inglenook_turns", "Turns that ended.", ("surface", "outcome"), registry=registry
        )
        self._codes = Counter(
            "inglenook_turn_errors",
            "Turns that failed or were refused, by code.",
            ("code",),
            registry=registry,
        )
        self._refused = Counter(
            "inglenook_refusals",
            "Messages that got no turn, by code.",
            ("code",),
            registry=registry,
        )
        self._refusals_told: Counts[str] = Counts()
        self._wait = _histogram("turn_wait", "From the message to its turn.", _SLOW, registry)
        self._compile = _histogram("compile", "Compiling a turn.", _FAST, registry)
        self._trace = _histogram("trace", "Writing a turn's trace to disk.", _FAST, registry)
        self._first = _histogram("first_text", "From prompt to first text.", _SLOW, registry)
        self._whole = _histogram("turn", "A whole turn.", _SLOW, registry)
        self._tokens = Counter(
            "inglenook_tokens", "Tokens as the provider counted.", ("kind",), registry=registry
        )
        self._cost = Counter("inglenook_cost_usd", "What turns cost.", registry=registry)
        self._calls = Counter("inglenook_model_calls", "Model calls of turns.", registry=registry)
        self._starts = Counter(
            "inglenook_pi_starts", "Processes of pi started.", ("result",), registry=registry
        )
        self._start = _histogram("pi_start", "Starting a process of pi.", _SLOW, registry)
        self._alive = Gauge("inglenook_pi_processes", "Processes of pi.", registry=registry)
        self._gates = Gauge("inglenook_gates", "Gates by state.", ("state",), registry=registry)
        self._tasks = Gauge("inglenook_tasks", "Tasks by state.", ("state",), registry=registry)
        self._inbox = Gauge("inglenook_inbox", "Messages owed an answer.", registry=registry)
        self._outbox = Gauge("inglenook_outbox", "Message parts to be sent.", registry=registry)
        self._ready = Gauge(
            "inglenook_ready", "Whether each part works, 1 or 0.", ("part",), registry=registry
        )

    def watch(self, engine: Engine) -> Engine:
        """Count the processes that an engine starts."""
        return EngineAround(engine, self.started)

    def tell_ready(self, part: str, *, works: bool) -> None:
        """Note whether a part works."""
        self._ready.labels(part).set(int(works))

    async def render(
        self,
        database: Database,
        runs: RunStore,
        listener: Listener,
        *,
        since: str,
        refusals: Mapping[str, int],
    ) -> bytes:
        """Take in what changed and write all figures.

        ``since`` is when the host started: turns that an earlier one accepted are not its own.
        ``refusals`` are those since then, by code: no row tells of them.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        backlog = await read_backlog(database)
        _set(self._gates, backlog.gates)
        _set(self._tasks, backlog.tasks)
        self._inbox.set(backlog.inbox)
        self._outbox.set(backlog.outbox)
        for code, count in refusals.items():
            self._refused.labels(code).inc(count - self._refusals_told[code])
            self._refusals_told[code] = count
        for run_id in listener.take():
            await self._take_in(runs, run_id, since)
        return generate_latest(self._registry)

    async def _take_in(self, runs: RunStore, run_id: RunId, since: str) -> None:
        run = await runs.get_run(run_id)
        if run is None:
            self._counted.pop(run_id, None)
            return
        after = self._counted.get(run_id, 0)
        for turn in await runs.turns(run_id, after=after):
            if turn.outcome is None:
                break
            after = turn.seq
            if turn.accepted_at >= since:
                self._count(run, turn)
        self._counted.pop(run_id, None)
        self._counted[run_id] = after
        if len(self._counted) > MAX_RUNS:
            del self._counted[next(iter(self._counted))]

    def _count(self, run: RunRow, turn: TurnRow) -> None:
        outcome = "" if turn.outcome is None else turn.outcome.value
        self._turns.labels(run.surface, outcome).inc()
        if turn.error_code:
            self._codes.labels(turn.error_code).inc()
        for histogram, microseconds in (
            (self._wait, turn.wait_us),
            (self._compile, turn.compile_us),
            (self._trace, turn.trace_us),
            (self._first, turn.first_text_us),
            (self._whole, turn.total_us),
        ):
            if microseconds:
                histogram.observe(microseconds * _MICRO)
        usage = turn.usage
        for kind, tokens in (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cache_read", usage.cache_read_tokens),
            ("cache_write", usage.cache_write_tokens),
        ):
            self._tokens.labels(kind).inc(tokens)
        self._cost.inc(usage.cost_usd)
        self._calls.inc(usage.model_calls)

    @asynccontextmanager
    async def started(self, process: Process) -> AsyncIterator[EngineClient]:
        """Count one process from its start to its end."""
        begun = self._monotonic()
        try:
            client = await process.__aenter__()
        except BaseException:
            self._starts.labels("failed").inc()
            raise
        self._starts.labels("started").inc()
        self._start.observe(self._monotonic() - begun)
        self._alive.inc()
        async with AsyncExitStack() as ending:
            ending.callback(self._alive.dec)
            ending.push_async_exit(process.__aexit__)
            yield client


def _histogram(
    name: str, told: str, buckets: tuple[float, ...], registry: CollectorRegistry
) -> Histogram:
    return Histogram(f"inglenook_{name}_seconds", told, buckets=buckets, registry=registry)


def _set(gauge: Gauge, counts: Mapping[str, int]) -> None:
    gauge.clear()
    for state, count in counts.items():
        gauge.labels(state).set(count)
