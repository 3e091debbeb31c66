"""The tool calls of one turn: each judged, written down, carried out and answered, in that order.

    judge -> line of the call -> do it, or let the engine -> line of the answer -> answer

Both lines are durable before what follows them, so that a host killed in the middle of a turn
leaves behind every call that may have done something, and everything that it told the model. What
a tool of the engine's gave is written as soon as the engine says so. A call that cannot be written
down is not carried out (CC "Failure behavior": no trace, no delivery). Calls that nobody looked at,
because they were too many, have one line together when the turn is over.

Whatever goes wrong with a call is an answer too: the turn goes on, and nothing was done.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, TypeVar

import structlog

from compiler.errors import SafeError
from sessions.clock import elapsed_us
from sessions.engine import EngineClient
from sessions.faults import fault_facts
from sessions.gateway import Gateway, Ruling
from sessions.grants import Call, Verdict
from sessions.hands import Arguments
from sessions.inbound import InboundMessage
from sessions.parts import SessionParts
from sessions.run import Run
from sessions.tools.call import FAILED, ToolAnswer, ToolCall, ToolTurn
from sessions.tools.desk import ToolDesk
from sessions.tools.record import (
    Told,
    ToolRecord,
    told_by_host,
    told_event,
    tool_event,
    unlisted_event,
)
from sessions.trace import TraceUnwritable
from sessions.turn_marks import TurnMarks
from sessions.turn_memory import TurnMemory

_log = structlog.get_logger(__name__)
ENOUGH: Final = "You have called as many tools as one turn may. Nothing was done; answer now."
MOST_CALLS: Final = 1_000
"""Of one turn; a model that calls more has lost its way."""
_NOT_JUDGED: Final = Ruling(verdict=Verdict.DENY)
_GOES_ON: Final = ToolAnswer(ok=True, text="")
_T = TypeVar("_T")
_Handler = Callable[[ToolCall], Awaitable[ToolAnswer]]


class TurnTools:
    """What the model may do in one turn of one run."""

    def __init__(
        self, parts: SessionParts, run: Run, inbound: InboundMessage, memory: TurnMemory
    ) -> None:
        self._parts = parts
        self._run = run
        self._memory = memory
        self._turn = ToolTurn(
            imp=inbound.imp,
            scope=inbound.scope,
            run_id=run.run_id,
            turn_id=inbound.turn_id,
            offered=frozenset(name for name, _ in run.engine.tools),
            surface=inbound.surface,
            workspace_stays=inbound.workspace_stays,
        )
        self._gateway = Gateway(
            rules=lambda: parts.hands.rules,
            trusted=parts.hands.trusted,
            prohibited=parts.rules.prohibited_tools,
            filer=parts.hands.filer,
            prepare=self._prepare,
        )
        self._handlers: Mapping[str, _Handler] = {}
        self._calls = 0
        self._listed = 0
        """Calls with a line of their own."""
        self.records: list[ToolRecord] = []

    @property
    def marks(self) -> TurnMarks:
        """What tools left for the turn's end."""
        return self._turn.marks

    @asynccontextmanager
    async def desk(self, client: EngineClient) -> AsyncIterator[None]:
        """Answer the model's calls while the turn runs; none if it was shown no tools."""
        if not self._run.engine.tools:
            yield
            return
        self._handlers = {**self._others(), **self._memory.handlers()}
        desk = ToolDesk(client, self.answer, tool_seconds=self._parts.tool_seconds)
        try:
            async with desk:
                yield
        finally:
            await self._trace_unlisted(desk.asked - self._listed)

    def _others(self) -> dict[str, _Handler]:
        def bound(answer: Callable[[ToolTurn, ToolCall], Awaitable[ToolAnswer]]) -> _Handler:
            return lambda call: answer(self._turn, call)

        return {tool.spec.name: bound(tool.answer) for tool in self._parts.hands.tools}

    async def _prepare(self, turn: ToolTurn, call: Call) -> Arguments | str:
        """Let a tool say what a person is asked about; the call's own arguments otherwise."""
        for tool in self._parts.hands.tools:
            if tool.spec.name == call.tool and tool.prepare is not None:
                return await tool.prepare(turn, call.arguments)
        return call.arguments

    async def answer(self, call: ToolCall) -> ToolAnswer:
        """Judge a call, and carry it out where it is the host's to do so."""
        self._calls += 1
        if self._calls > MOST_CALLS:
            return ToolAnswer(ok=False, text=ENOUGH)
        ruling, judged_us, answer = await self._judged(call)
        try:
            record = await self._traced(call, ruling, judged_us)
            if answer is None:
                answer = await self._guarded(call, lambda: self._carry_out(call, ruling))
            await self._trace_answer(call, record, answer)
        except TraceUnwritable as error:
            _log.error("tool.untraced", tool=self._known(call), **error.facts)
            return ToolAnswer(ok=False, text=error.safe_message)
        return answer

    async def _judged(self, call: ToolCall) -> tuple[Ruling, int, ToolAnswer | None]:
        """Give the host's word and how long it took; with an answer where it could not judge."""
        clock, ruling = self._parts.clock, _NOT_JUDGED
        began_ns = clock.monotonic_ns()

        async def judge() -> None:
            nonlocal ruling
            ruling = await self._gateway.judge(self._turn, call)

        answer = await self._guarded(call, judge)
        judged_us = elapsed_us(clock, began_ns)
        _log.info(
            "tool.judged",
            tool=self._known(call),
            verdict=ruling.verdict.value,
            rule=ruling.rule,
            gate_id=ruling.gate_id,
        )
        return ruling, judged_us, answer

    async def _traced(self, call: ToolCall, ruling: Ruling, judged_us: int) -> ToolRecord:
        """Write the line of a call, before anything is done about it.

        Raises:
            TraceUnwritable: it is not durable, so the call must not be carried out.
        """
        event = tool_event(
            call,
            ruling,
            run_id=self._turn.run_id,
            turn_id=self._turn.turn_id,
            judged_us=judged_us,
            at=self._parts.clock.utc_now(),
        )
        self._listed += 1  # a write that is cut off is still made
        try:
            mark = await self._run.trace.append(event)
        except TraceUnwritable:
            self._listed -= 1
            raise
        self.records.append(ToolRecord(call_id=call.call_id, mark=mark))
        return self.records[-1]

    async def _trace_answer(self, call: ToolCall, record: ToolRecord, answer: ToolAnswer) -> None:
        """Write the line of what the host says to a call, before the engine has it.

        Raises:
            TraceUnwritable: it is not durable, so it must not be said.
        """
        told = told_by_host(call, answer)
        if told is not None:
            await self._trace_told(record, told)

    async def heard(self, told: Told) -> None:
        """Write what the engine says that the model was told of a call, if no line says so yet.

        What it says of the same call later is written when the turn has ended (``told_events``).
        """
        for record in self.records:
            if told.call_id and record.call_id == told.call_id and record.told is None:
                try:
                    await self._trace_told(record, told)
                except TraceUnwritable as error:
                    _log.error("tool.untraced", tool=None, **error.facts)
                return

    async def _trace_told(self, record: ToolRecord, told: Told) -> None:
        turn, at = self._turn, self._parts.clock.utc_now()
        await self._run.trace.append(
            told_event(record.mark, told, run_id=turn.run_id, turn_id=turn.turn_id, at=at)
        )
        self.records[self.records.index(record)] = replace(record, told=told)

    async def _trace_unlisted(self, calls: int) -> None:
        """Write how many calls of the turn were refused or cut off without a line."""
        if not calls:
            return
        turn, at = self._turn, self._parts.clock.utc_now()
        event = unlisted_event(calls, run_id=turn.run_id, turn_id=turn.turn_id, at=at)
        _log.warning("tool.unlisted", calls=calls)
        try:
            await self._run.trace.append(event)
        except TraceUnwritable as error:
            _log.error("tool.untraced", tool=None, **error.facts)

    async def _guarded(self, call: ToolCall, work: Callable[[], Awaitable[_T]]) -> _T | ToolAnswer:
        """Do a step of a call; what goes wrong is its answer."""
        try:
            return await work()
        except SafeError as error:
            _log.warning("tool.failed", tool=self._known(call), code=str(error.code), **error.facts)
            return ToolAnswer(ok=False, text=error.safe_message)
        except Exception as error:  # noqa: BLE001 - the boundary of one call
            _log.error("tool.broken", tool=self._known(call), **fault_facts(error))
            return ToolAnswer(ok=False, text=FAILED)

    def _known(self, call: ToolCall) -> str | None:
        """Give a name fit for a log: what the engine calls a tool may be anything."""
        return call.name if call.name in self._turn.offered else None

    async def _carry_out(self, call: ToolCall, ruling: Ruling) -> ToolAnswer:
        if ruling.verdict is not Verdict.ALLOW:
            return ToolAnswer(ok=False, text=ruling.text)
        if call.builtin:
            return _GOES_ON
        handler = self._handlers.get(call.name)
        return ToolAnswer(ok=False, text=FAILED) if handler is None else await handler(call)
