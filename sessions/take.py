"""One turn of a run, from the message to its outcome and its record.

The order is the promise: what a turn is (a row), what it says (a durable trace) and only then the
prompt. A first turn is compiled while its process comes up; the prompt waits for both. The outcome
is handed out as soon as pi has settled; the record of it, a line in the trace and a row, is written
after that by the same worker, before the next turn is compiled. So the answer never waits for a
disk, and a failed delivery changes nothing in the records. A host killed between the two finds the
turn without an outcome at its next start, and says that it was cut off.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

import structlog

from compiler.compile import CompiledContext
from compiler.errors import SafeError
from sessions.draft import Draft
from sessions.errors import StoreUnavailable
from sessions.exchange import TurnExchange
from sessions.inbound import InboundMessage
from sessions.outcomes import cut_off, failure
from sessions.parts import SessionParts
from sessions.pi.errors import PiError
from sessions.pi.protocol import ContextUsage
from sessions.run import Run
from sessions.steering import Steering
from sessions.store.warm import WarmRow
from sessions.ticket import Ticket
from sessions.tools.record import told_events
from sessions.trace import TraceUnwritable
from sessions.traces.events import TraceEvent
from sessions.traces.writing import outcome_event
from sessions.turn import Halted, HaltReason
from sessions.turn_account import Taken, TurnAccount
from sessions.wire.record import wire_event

_log = structlog.get_logger(__name__)
Ready: TypeAlias = Callable[[], Awaitable[None]]


class TurnTaker:
    """Takes the turns of one conversation, one at a time."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._exchange: TurnExchange | None = None
        self._halted: HaltReason | None = None
        self._nudged = False

    def halt(self, reason: HaltReason) -> None:
        """Cut off the turn at hand, wherever it is."""
        self._halted = self._halted or reason
        if self._exchange is not None:
            self._exchange.halt(reason)

    def nudge(self) -> None:
        """Say that a message waits that is to steer the turn at hand."""
        self._nudged = True
        if self._exchange is not None:
            self._exchange.nudge()

    def _wanted(self) -> HaltReason | None:
        return self._halted

    async def take(
        self,
        run: Run,
        inbound: InboundMessage,
        *,
        ready: Ready | None = None,
        steers: Callable[[], Ticket | None] | None = None,
        draft: Draft | None = None,
    ) -> Taken:
        """Compile, trace and deliver one message, and follow it to its outcome.

        What fails on the way becomes the outcome; nothing is delivered after a failure. ``ready``
        gives the run its process where it has none yet, or waits for the one that comes up; what it
        is to do first is compiled by then. ``steers`` takes the next message that is to steer the
        turn out of those that wait. ``draft`` is told of the answer as it is written.

        Raises:
            Exception: a fault of our own; the run should not go on.
        """
        self._halted = None
        run.turns += 1
        turn = TurnAccount(self._parts, run, inbound)
        try:
            # Who edits a message looks for the runs that may have read it: by their turns.
            await self._parts.runs.begin_turn(turn.row, joined=turn.joined)
            snapshot = replace(await turn.snapshot(), house_rules=inbound.house_rules)
            compiled = await turn.compile(snapshot)
            if ready is not None:
                await ready()
            while turn.memory.is_outdated:
                # Nothing of a note that was forgotten meanwhile is sent.
                snapshot = replace(await turn.snapshot(), house_rules=inbound.house_rules)
                compiled = await turn.compile(snapshot)
        except SafeError as error:
            _log.warning("turn.not_delivered", code=str(error.code), **error.facts)
            return turn.not_delivered(failure(inbound, run.run_id, error), error)
        except Halted as halted:
            return turn.not_delivered(cut_off(inbound, run.run_id, halted.reason))
        if (wanted := self._wanted()) is not None:
            return turn.not_delivered(cut_off(inbound, run.run_id, wanted))
        return await self._deliver(turn, compiled, steers or _nothing, draft)

    async def _deliver(
        self,
        turn: TurnAccount,
        compiled: CompiledContext,
        steers: Callable[[], Ticket | None],
        draft: Draft | None,
    ) -> Taken:
        run, parts = turn.run, self._parts
        if run.client is None or compiled.input_prompt is None:
            raise RuntimeError("a turn needs a process and an input")
        steering = Steering(
            turn.inbound.turn_id,
            run.client,
            inbox=parts.inbox,
            wire=run.wire,
            pull=steers,
            compile_input=turn.further_input,
        )
        self._exchange = TurnExchange(
            run.client,
            parts.limits,
            run_id=run.run_id,
            turn_id=turn.inbound.turn_id,
            monotonic_ns=parts.clock.monotonic_ns,
            on_nudge=steering.send,
            on_told=turn.tools.heard,
            draft=draft,
            on_first_text=turn.speaks,
        )
        if self._nudged:  # somebody went on while this was compiled
            self._exchange.nudge()
        turn.open_wire(compiled.input_prompt)
        try:
            async with turn.tools.desk(run.client):
                result = await self._exchange.run(compiled.input_prompt, turn.inbound.pictures)
        finally:
            self._exchange, self._nudged = None, False
            parts.feed.falls_silent(turn.inbound.turn_id)
        not_steered = await steering.settle()
        calls = await run.wire.end_turn() if run.wire else ()
        return replace(
            turn.delivered(result, calls),
            steered=steering.taken,
            not_steered=not_steered,
            tools=tuple(turn.tools.records),
            told=result.told,
        )

    async def record(self, run: Run, taken: Taken, warm: WarmRow | None) -> None:
        """Write down how a turn ended: a line in the trace, then its row and the run's claim.

        A failure here is logged and changes nothing: the answer is out.
        """
        try:
            await run.trace.append_all(self._account_of(run, taken))
        except TraceUnwritable as error:
            _log.error("turn.outcome_untraced", **error.facts)
        row = taken.row
        await self._count(run, taken)
        _log.info(
            "turn.ended",
            outcome=taken.outcome.kind.value,
            error_code=row.error_code,
            total_us=row.total_us,
            output_tokens=row.usage.output_tokens,
        )
        try:
            await self._parts.runs.record_turn(row, run.extent, warm=warm)
        except StoreUnavailable as error:
            _log.error("turn.unrecorded", **error.facts)

    def _account_of(self, run: Run, taken: Taken) -> list[TraceEvent]:
        """Say what became of a turn: the model calls, what tools told it, how it ended."""
        now = self._parts.clock.utc_now()
        events: list[TraceEvent] = [wire_event(run.run_id, call) for call in taken.calls]
        events += told_events(
            taken.tools,
            taken.told,
            run_id=run.run_id,
            turn_id=taken.outcome.turn_id,
            at=now,
        )
        if taken.delivered:
            outcome = outcome_event(
                run.run_id,
                taken.outcome,
                at=now,
                exit_code=taken.exit_code,
                steered=[each.inbound for each in taken.steered],
            )
            events.append(outcome)
        return events

    async def _count(self, run: Run, taken: Taken) -> None:
        """Count what the gateway cannot: all of a call it did not see, a price that pi knows."""
        allowance, usage = self._parts.allowance, taken.row.usage
        if allowance is None or taken.spender is None or (run.wire and run.settings.url):
            return
        tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        rows = allowance.spend(
            taken.spender,
            tokens=0 if run.wire is not None else tokens + usage.output_tokens,
            micro_usd=round(usage.cost_usd * 1_000_000),
            calls=0 if run.wire is not None else usage.model_calls,
            input_tokens=0 if run.wire is not None else tokens,
            cached_tokens=0 if run.wire is not None else usage.cache_read_tokens,
        )
        await allowance.keep(rows)

    async def is_full(self, run: Run) -> bool:
        """Tell whether the context fills more of the window than ``rollover_percent``."""
        if run.client is None or not run.client.alive:
            return False
        try:
            usage = (await run.client.stats()).context_usage
        except (PiError, TimeoutError) as error:
            _log.warning("session.stats_unknown", error=type(error).__name__)
            return False
        run.held_tokens = (usage.tokens or 0) if usage else 0
        return usage is not None and filled_percent(usage) > self._parts.limits.rollover_percent


def filled_percent(usage: ContextUsage) -> float:
    """Say how full the window is; 0 when it is not known."""
    if usage.percent is not None:
        return usage.percent
    if not usage.tokens or not usage.context_window:
        return 0.0
    return 100 * usage.tokens / usage.context_window


def _nothing() -> None:
    """Nobody steers."""
