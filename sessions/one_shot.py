"""A run of one input: recorded, compiled whole, traced, asked once, and over.

Direct runs and tasks come through here; what a conversation's turn promises holds for them too,
because the same steps take them (``sessions.take``): no trace, no delivery, and no second way to a
prompt. The order is CC's: the run's record, its compilation, and only then a process::

    record -> sources -> compile -> trace -> process -> prompt -> outcome -> record -> end

Spec: CC "One-shot runs", "Failure behavior".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog
from structlog.contextvars import bound_contextvars

from compiler.errors import SafeError
from compiler.request import (
    ContextPhase,
    ContextRequest,
    HouseRules,
    ImpName,
    MessageInput,
    RunId,
    RunScope,
    RunSurface,
    TaskInput,
    TurnId,
)
from sessions.errors import SessionErrorCode, SessionStartFailed
from sessions.inbound import WELL_ENDED, InboundMessage, TurnOutcome
from sessions.outcomes import failure, over_limit
from sessions.parts import SessionParts
from sessions.run import EndReason, Run
from sessions.run_process import RunProcesses
from sessions.start import RunStarter
from sessions.take import TurnTaker
from sessions.turn import HaltReason

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What one run is to do. Its scope is the host's own record, never a word of the text."""

    imp: ImpName
    scope: RunScope
    surface: RunSurface
    task: TaskInput
    turn_id: TurnId
    workspace_stays: bool = True
    """Whether its workspace is still there when the run is over; a worktree is not."""


class OneShot:
    """Makes one run of one order."""

    def __init__(self, parts: SessionParts, *, most_calls: int = 0) -> None:
        """Take what all sessions share; ``parts.limits`` bound this run.

        ``most_calls`` bounds its model calls, where they go through the host; 0 sets no limit.
        """
        self._parts = parts
        self._most_calls = most_calls
        self._starter = RunStarter(parts)
        self._processes = RunProcesses(parts)
        self._taker = TurnTaker(parts)

    async def new_run_id(self) -> RunId:
        """Claim an id.

        Raises:
            SessionStartFailed: no directory can be made for it.
        """
        return await self._starter.new_run_id()

    def halt(self, reason: HaltReason) -> None:
        """Have the run end soon; its outcome says why."""
        self._taker.halt(reason)

    async def run(self, order: Order, run_id: RunId) -> TurnOutcome:
        """See an order through; whatever fails becomes its outcome, and is recorded.

        Raises:
            SafeError: the run could not even be recorded.
        """
        with bound_contextvars(run_id=run_id, turn_id=order.turn_id):
            request = ContextRequest(
                run_id=run_id,
                phase=ContextPhase.TURN,
                surface=order.surface,
                imp=order.imp,
                scope=order.scope,
                task=order.task,
            )
            run = await self._starter.blank(request)
            outcome: TurnOutcome | None = None
            try:
                outcome = await self._taken(run, order)
            finally:
                well = outcome is not None and outcome.kind in WELL_ENDED
                await self._finish(run, EndReason.DONE if well else EndReason.FAILED)
            return outcome

    async def _taken(self, run: Run, order: Order) -> TurnOutcome:
        inbound = self._inbound(order)
        try:
            inbound = replace(inbound, house_rules=await self._rules(order.scope))
        except SafeError as error:
            return failure(inbound, run.run_id, error)
        if (refused := over_limit(self._parts.allowance, inbound)) is not None:
            return replace(refused, run_id=run.run_id)
        taken = await self._taker.take(run, inbound, ready=lambda: self._connect(run))
        await self._taker.record(run, taken, None)
        return taken.outcome

    async def _connect(self, run: Run) -> None:
        """Give the run its process.

        Raises:
            SafeError: there is none, or not in time.
        """
        await self._starter.prepare(run)
        try:
            async with self._parts.clock.timeout(self._parts.limits.start_seconds):
                await self._processes.connect(run, _nobody_waits)
        except TimeoutError as error:
            raise SessionStartFailed(SessionErrorCode.START_TIMEOUT) from error
        if run.wire is not None:
            run.wire.most_calls = self._most_calls

    async def _rules(self, scope: RunScope) -> HouseRules:
        if scope.channel_id is None:
            return HouseRules()
        return (await self._parts.rules.rules(scope)).in_prompt

    def _inbound(self, order: Order) -> InboundMessage:
        scope = order.scope
        return InboundMessage(
            imp=order.imp,
            scope=scope,
            message=MessageInput(
                provider=scope.provider, author_label="", role=scope.role, text=order.task.text
            ),
            turn_id=order.turn_id,
            received_ns=self._parts.clock.monotonic_ns(),
            task=order.task,
            surface=order.surface,
            workspace_stays=order.workspace_stays,
        )

    async def _finish(self, run: Run, reason: EndReason) -> None:
        try:
            await self._starter.finish(run, reason)
        except SafeError as error:
            _log.warning("one_shot.end_unrecorded", code=str(error.code))


def _nobody_waits() -> None:
    """A process that dies in its only turn is noticed by the turn."""
