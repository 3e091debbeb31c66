"""The last turn of an idle conversation: the model sums it up before its run ends.

It is a turn like any other, but nobody waits for it and nothing is said: what becomes of the answer
is for ``sessions.summaries``. Whatever goes wrong is logged, and the run ends without it.
"""

from __future__ import annotations

import structlog
from structlog.contextvars import bind_contextvars, unbind_contextvars

from compiler.errors import SafeError
from compiler.request import RunScope
from sessions.faults import fault_facts
from sessions.inbound import OutcomeKind
from sessions.outcomes import over_limit
from sessions.parts import SessionParts
from sessions.run import Run
from sessions.summaries import SummaryDesk, worth_summing_up
from sessions.take import TurnTaker

_log = structlog.get_logger(__name__)


class SummingUp:
    """Sums up the conversation of one session; ``taker`` takes its turns."""

    def __init__(self, parts: SessionParts, taker: TurnTaker) -> None:
        self._parts = parts
        self._taker = taker

    @property
    def wanted(self) -> bool:
        """Whether the owner wants summaries."""
        return self._parts.limits.summaries and self._parts.summaries is not None

    async def sum_up(self, run: Run, scope: RunScope) -> None:
        """Have a run with a living process summed up, if that is worth a turn and affordable."""
        desk = self._parts.summaries
        if desk is None:
            return
        try:
            await self._take(run, scope, desk)
        except SafeError as error:
            _log.warning("session.not_summed_up", code=str(error.code), **error.facts)
        except Exception as error:  # noqa: BLE001 - the run ends whatever became of it
            _log.error("session.not_summed_up", **fault_facts(error))
        unbind_contextvars("turn_id")

    async def _take(self, run: Run, scope: RunScope, desk: SummaryDesk) -> None:
        sources = await desk.sources(run, scope)
        inbound = desk.request(run, scope)
        if not worth_summing_up(run, sources):
            return
        if over_limit(self._parts.allowance, inbound) is not None:
            return
        bind_contextvars(turn_id=inbound.turn_id)
        taken = await self._taker.take(run, inbound)
        await self._taker.record(run, taken, None)
        if taken.outcome.kind is OutcomeKind.REPLIED:
            await desk.keep(run, scope, taken.outcome.text, sources)
