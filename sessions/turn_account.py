"""The account of one turn while it is taken: what it reads, what it is compiled to, how it ended.

Each input of a turn is one ``TurnAccount``: the first, and each that steers it. It reads the
sources, compiles them, and traces the result before anybody may send it; at the end it closes the
row.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog

from compiler.compile import UNKNOWN_MODEL, CompiledContext, compile_task, compile_turn
from compiler.errors import CompileError, SafeError, WindowFull
from compiler.request import Briefing, ContextPhase, ContextRequest, MessageId, SourceSnapshot
from compiler.startup import startup_package
from compiler.tokens import TokenAccount
from sessions.allowance import Spender
from sessions.clock import elapsed_us, timestamp
from sessions.exchange import ExchangeResult
from sessions.inbound import InboundMessage, OutcomeKind, TurnOutcome, Usage
from sessions.model_gateway import WireErrorCode
from sessions.parts import SessionParts
from sessions.pi.errors import PiError
from sessions.pictures import keep
from sessions.run import EndReason, Run, exit_code_of
from sessions.store.runs import TurnRow
from sessions.ticket import Ticket
from sessions.tools.record import Told, ToolRecord
from sessions.trace import TraceUnwritable
from sessions.traces.events import TraceMark
from sessions.traces.writing import Occasion, compiled_event, failed_event
from sessions.turn import needs_fresh_session
from sessions.turn_marks import concluded
from sessions.turn_memory import TurnMemory
from sessions.turn_tools import TurnTools
from sessions.wire.ledger import ExpectedTurn
from sessions.wire.record import WireRecord

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A turn that has its outcome, and the row to be written of it."""

    outcome: TurnOutcome
    row: TurnRow
    delivered: bool
    """Whether pi was given the prompt."""
    exit_code: int | None = None
    """Of the process, if it died in the turn."""
    ends_run: EndReason | None = None
    """Why the run cannot take another turn."""
    again: bool = False
    """Whether a fresh run can take what this one has no room for."""
    calls: tuple[WireRecord, ...] = ()
    """The model calls that went through the host."""
    tools: tuple[ToolRecord, ...] = ()
    """What the model wanted to do."""
    told: tuple[Told, ...] = ()
    """What it was told of that, as the engine says."""
    spender: Spender | None = None
    """Who asked; None if pi was asked nothing."""
    steered: tuple[Ticket, ...] = ()
    """Further messages that became a part of the turn."""
    not_steered: tuple[Ticket, ...] = ()
    """Those that were to, and wait for a turn of their own again."""


async def held_tokens(run: Run) -> int:
    """Say what the engine's session holds; asked anew only where no turn has told it."""
    if run.needs_history or run.client is None:
        return 0
    if not run.held_tokens:
        try:
            usage = (await run.client.stats()).context_usage
        except (PiError, TimeoutError) as error:
            _log.warning("session.stats_unknown", error=type(error).__name__)
        else:
            run.held_tokens = (usage.tokens or 0) if usage else 0
    return run.held_tokens


class TurnAccount:
    """The account of one turn while it is taken."""

    def __init__(
        self,
        parts: SessionParts,
        run: Run,
        inbound: InboundMessage,
        *,
        steers: TraceMark | None = None,
        held_tokens: int | None = None,
    ) -> None:
        self._parts = parts
        self._held_tokens = held_tokens
        """What pi's session holds in the middle of the turn; None: ask, between turns."""
        self._steers = steers
        """The line of the input that this one follows in the same turn."""
        self._is_first = run.needs_history and steers is None
        """Whether pi's session is empty."""
        self._mark: TraceMark | None = None
        self._account: TokenAccount | None = None
        self._further: TokenAccount | None = None
        """Of the last input that steered the turn, all before it included."""
        self._replaced_plan = ""
        """Hash of the plan that was traced last; compiling anew takes its place."""
        self._start: SourceSnapshot | None = None
        """What the system prompt is made of, where it is compiled with this input."""
        self._began_ns = parts.clock.monotonic_ns()
        self.run = run
        self.inbound = inbound
        self.memory = TurnMemory(parts, run, inbound)
        self.tools = TurnTools(parts, run, inbound, self.memory)
        self.row = TurnRow(
            run_id=run.run_id,
            turn_id=inbound.turn_id,
            seq=run.turns,
            user_id=inbound.scope.user_id,
            accepted_at=timestamp(parts.clock.utc_now()),
            outcome=None,
            error_code="",
            input_sha256=None,
            reply_sha256=None,
            wait_us=max(0, self._began_ns - inbound.received_ns) // 1_000,
            compile_us=0,
            trace_us=0,
            first_text_us=0,
            total_us=0,
            usage=Usage(),
        )

    @property
    def joined(self) -> tuple[MessageId, ...]:
        """The messages of this turn, the oldest first, where there are several."""
        found = (each.message_id for each in self.inbound.joined)
        return tuple(each for each in found if each is not None)

    async def snapshot(self) -> SourceSnapshot:
        """Read the sources of this turn; the history only while pi's session is empty."""
        run, parts = self.run, self._parts
        # A warm selection reads no store, so the two have nothing to overlap.
        notes = await self.memory.select()
        briefing = await self._briefing()
        if self.inbound.task is not None:
            if self._start is None:
                scope = self.inbound.scope
                self._start = await parts.sources.read_start(run.imp, scope, run.engine)
            return replace(self._start, memory=notes, briefing=briefing)
        if not self._is_first or self.inbound.scope.channel_id is None:
            return parts.sources.turn(run.engine, memory=notes, briefing=briefing)
        if run.woken_by is None:  # the first message of a burst: history ends before it
            run.woken_by = (*self.joined, self.inbound.message.message_id)[0]
        await self.memory.before_history()
        history = await parts.history.recent(
            self.inbound.scope.channel_id, run.budgets.history_max_messages, before=run.woken_by
        )
        # Who was overtaken is not history yet: the words are still to be a turn's input.
        history = tuple(each for each in history if each.message_id not in self.inbound.passed)
        given = await self.memory.stand_in(notes, history)
        return parts.sources.turn(
            run.engine, memory=given.memory, history=given.history, briefing=briefing
        )

    async def _briefing(self) -> Briefing:
        """Give what is to be known of gates: of this conversation, and of the turn's own cause."""
        gates, continuation = self._parts.gates, self.inbound.continuation
        if gates is None:
            return Briefing(continuation=continuation)
        return await gates.briefing(self.inbound.scope.channel_id, continuation)

    async def compile(self, snapshot: SourceSnapshot) -> CompiledContext:
        """Compile the input and trace it, durably.

        Raises:
            CompileError: traced as failed.
            TraceUnwritable: nothing may be delivered.
        """
        request, clock = self._request(), self._parts.clock
        began_ns = clock.monotonic_ns()
        snapshot = replace(snapshot, replaced_plan=self._replaced_plan)
        try:
            compiled = await self._compiled(request, snapshot)
        except CompileError as error:
            self._note(compile_us=elapsed_us(clock, began_ns))
            await self.run.trace.append(failed_event(request, error, self._occasion()))
            raise
        self._note(compile_us=elapsed_us(clock, began_ns), input_sha256=compiled.input_sha256)
        began_ns = clock.monotonic_ns()
        occasion = self._occasion()
        if self._is_first and request.task is None:
            consent = await self.memory.consent_codes()
            occasion = replace(occasion, startup=startup_package(compiled, snapshot, consent))
        await self._keep_pictures()
        self._mark = await self.run.trace.append(compiled_event(compiled, occasion))
        self._replaced_plan = compiled.plan.canonical_plan_hash
        self._parts.feed.tell(self.run.run_id)
        self._note(trace_us=elapsed_us(clock, began_ns))
        return compiled

    async def _keep_pictures(self) -> None:
        """Put what is shown beside the trace, before the line that names it."""
        try:
            await keep(self.run.directory, self.inbound.pictures)
        except OSError as error:
            raise TraceUnwritable(type(error).__name__, number=error.errno) from error

    async def _compiled(self, request: ContextRequest, snapshot: SourceSnapshot) -> CompiledContext:
        run, tokens = self.run, self._parts.tokens
        model = UNKNOWN_MODEL
        if tokens is not None:
            shown = sum(each.tokens for each in self.inbound.pictures)
            held = await held_tokens(run) if self._held_tokens is None else self._held_tokens
            model = await tokens.model(run.settings, held_tokens=held + shown)
        compiling: Callable[[], CompiledContext]
        if request.task is not None:
            compiling = partial(compile_task, request, snapshot, run.budgets, model)
        else:
            compiling = partial(compile_turn, request, snapshot, run.budgets, run.system, model)
        if tokens is not None and tokens.asks_elsewhere(run.settings):
            compiled = await asyncio.to_thread(compiling)
        else:
            compiled = compiling()
        if request.task is not None:
            run.take_system(compiled.system)
        self._account = compiled.tokens
        return compiled

    async def further_input(self, inbound: InboundMessage) -> ExpectedTurn:
        """Compile and trace a further input of this turn.

        Raises:
            SafeError: it is none; nothing may be delivered.
        """
        same_turn = replace(inbound, turn_id=self.inbound.turn_id)
        account = self._further or self._account
        held = None if account is None else account.used_tokens
        further = TurnAccount(self._parts, self.run, same_turn, steers=self._mark, held_tokens=held)
        while True:
            snapshot = replace(await further.snapshot(), house_rules=inbound.house_rules)
            compiled = await further.compile(snapshot)
            if not further.memory.is_outdated:
                self._further = further.account
                return further.expected(compiled.input_prompt or "")

    def expected(self, text: str) -> ExpectedTurn:
        """Say what the model may be given now."""
        if self._mark is None:
            raise RuntimeError("nothing was traced")
        return ExpectedTurn(
            turn_id=self.inbound.turn_id,
            mark=self._mark,
            text=text,
            pictures=tuple(each.sha256 for each in self.inbound.pictures),
        )

    @property
    def account(self) -> TokenAccount | None:
        """What the input takes of the window; None where nobody counts."""
        return self._account

    def _measure(self, outcome: TurnOutcome) -> None:
        """Learn what stands around our texts from the first call of an empty session."""
        account, usage = self._account, outcome.usage
        if self._parts.tokens is None or account is None or account.held_tokens:
            return
        if self.run.needs_history and usage.model_calls == 1 and self._further is None:
            self._parts.tokens.measured(
                self.run.settings,
                own_tokens=account.used_tokens - account.wrapper_tokens,
                prompt_tokens=usage.input_tokens
                + usage.cache_read_tokens
                + usage.cache_write_tokens,
            )

    def not_delivered(self, outcome: TurnOutcome, error: SafeError | None = None) -> Taken:
        """Close the account of a turn that pi never saw."""
        broken = isinstance(error, TraceUnwritable)
        return Taken(
            outcome=outcome,
            row=self._closed(outcome),
            delivered=False,
            ends_run=EndReason.FAILED if broken else None,
            again=isinstance(error, WindowFull) and self.run.answered > 0,
        )

    def open_wire(self, text: str) -> None:
        """Have the gateway expect this turn's model calls."""
        wire, inbound = self.run.wire, self.inbound
        if wire is None or self._mark is None:
            return
        wire.begin_turn(
            self.expected(text),
            Spender.of(inbound.imp, inbound.scope),
        )

    def delivered(self, result: ExchangeResult, calls: tuple[WireRecord, ...] = ()) -> Taken:
        """Close the account of a turn that pi was given."""
        run, outcome = self.run, concluded(result.outcome, self.tools.marks)
        stopped = run.wire.stopped if run.wire else None
        if stopped is not None and outcome.kind is OutcomeKind.FAILED:
            # The refusal was ours, whatever pi made of it.
            outcome = replace(outcome, error_code=stopped.code, safe_message=stopped.safe_message)
        ends_run = EndReason.ROLLOVER if needs_fresh_session(outcome) else None
        if stopped is not None and stopped.code == WireErrorCode.MISMATCH:
            ends_run = EndReason.FAILED
        self._measure(outcome)
        run.needs_history = False
        if outcome.kind in (OutcomeKind.REPLIED, OutcomeKind.SILENT):
            run.answered += 1
        if result.first_text_ns is not None:
            self._note(first_text_us=self._since_received_us(result.first_text_ns))
        return Taken(
            outcome=outcome,
            row=self._closed(outcome),
            delivered=True,
            exit_code=exit_code_of(run),
            ends_run=ends_run,
            calls=calls,
            spender=Spender.of(self.inbound.imp, self.inbound.scope),
        )

    def speaks(self, first_text_ns: int) -> None:
        """Let whoever looks on know that the answer has begun."""
        first_text_us = self._since_received_us(first_text_ns)
        self._parts.feed.speaks(self.run.run_id, self.inbound.turn_id, first_text_us)

    def _since_received_us(self, monotonic_ns: int) -> int:
        return max(0, monotonic_ns - self.inbound.received_ns) // 1_000

    def _closed(self, outcome: TurnOutcome) -> TurnRow:
        reply = outcome.text.encode("utf-8", "surrogatepass")
        self._note(
            outcome=outcome.kind,
            error_code=outcome.error_code,
            reply_sha256=hashlib.sha256(reply).hexdigest() if reply else None,
            total_us=elapsed_us(self._parts.clock, self.inbound.received_ns),
            usage=outcome.usage,
        )
        return self.row

    def _note(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of a TurnRow
        self.row = replace(self.row, **changes)

    def _occasion(self) -> Occasion:
        return Occasion(
            at=self._parts.clock.utc_now(),
            turn_id=self.inbound.turn_id,
            extends=self.run.trace.start,
            compile_us=self.row.compile_us,
            waited_us=self.row.wait_us,
            revisions_sha256=self.inbound.revisions_sha256,
            pictures=self.inbound.pictures,
            joined=self.inbound.joined,
            passed=self.inbound.passed,
            steers=self._steers,
        )

    def _request(self) -> ContextRequest:
        inbound = self.inbound
        return ContextRequest(
            run_id=self.run.run_id,
            phase=ContextPhase.TURN,
            surface=inbound.surface,
            imp=inbound.imp,
            scope=inbound.scope,
            task=inbound.task,
            message=inbound.message if inbound.task is None else None,
        )
