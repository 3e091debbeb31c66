"""The run of a conversation, from its start or its return to its end; one at a time.

``ready`` gives a run with a living process: the one at hand, resumed, or a fresh one in a warm
place. Whoever has something to do while a fresh one's process comes up takes its two steps one by
one, ``begun`` and ``came_up``. A wish that cuts off the start ends it with ``Halted``; so does
``start_seconds``, counted over both, with an error. What a run leaves behind when it ends is a
row, its trace and a free place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any

import structlog
from structlog.contextvars import bind_contextvars, unbind_contextvars

from compiler.errors import SafeError
from compiler.request import ImpName, RunId, RunScope
from sessions.engine import EngineClient
from sessions.errors import SessionErrorCode, SessionStartFailed
from sessions.parts import SessionParts
from sessions.pi.errors import SessionLost
from sessions.run import EndReason, Run, exit_code_of
from sessions.run_process import RunProcesses
from sessions.slots import WarmSlots
from sessions.start import RunStarter
from sessions.store.warm import WarmRow
from sessions.trace import TraceUnwritable
from sessions.turn import Halted, HaltReason
from sessions.warm_runs import WarmRuns

_log = structlog.get_logger(__name__)


class RunHolder:
    """Holds the run of one session."""

    def __init__(
        self,
        parts: SessionParts,
        slots: WarmSlots,
        *,
        imp: ImpName,
        place: Hashable,
        on_death: Callable[[], None],
        on_ending: Callable[[], None],
    ) -> None:
        """Take the collaborators.

        Args:
            parts: what all sessions share.
            slots: the places for warm sessions.
            imp: the imp of the conversation.
            place: who takes a place among the warm ones, and is asked to leave it.
            on_death: called when the process is of no more use.
            on_ending: called when a run begins to end.
        """
        self._parts = parts
        self._slots = slots
        self._imp = imp
        self._place = place
        self._on_death = on_death
        self._on_ending = on_ending
        self._starter = RunStarter(parts)
        self._processes = RunProcesses(parts)
        self._warm = WarmRuns(parts)
        self._halted: HaltReason | None = None
        self._starting: asyncio.Timeout | None = None
        self._ended = asyncio.Event()
        self._ended.set()
        self._began_ns = 0
        """When the start of the run at hand began."""
        self._coming: EngineClient | None = None
        """The process of the run at hand that has not come up yet."""
        self.run: Run | None = None
        self.run_id: RunId | None = None
        """Of the run at hand or, after a failed start, of the one that failed."""

    def begin(self) -> None:
        """Forget an earlier halt, and an earlier run's id: something new begins."""
        self._halted = None
        if self.run is None:
            self.run_id = None
            unbind_contextvars("run_id")

    def halt(self, reason: HaltReason) -> None:
        """Cut off a start that is on its way, or the next one before ``begin``."""
        self._halted = reason
        if self._starting is not None and not self._starting.expired():
            self._starting.reschedule(asyncio.get_running_loop().time())

    def claim(self, run: Run, scope: RunScope) -> WarmRow | None:
        """Give a run's claim to be resumed by the next host."""
        return self._warm.claim(run, scope)

    async def ready(self, scope: RunScope) -> Run:
        """Give a run with a living process: the one at hand, resumed, or a fresh one.

        Raises:
            Halted: a wish came in between.
            SafeError: there is none to be had now.
        """
        run = await self.begun(scope)
        try:
            await self.came_up()
        except BaseException:
            await self.end(EndReason.FAILED)
            raise
        return run

    async def begun(self, scope: RunScope) -> Run:
        """Give a run as ``ready`` does, but a fresh one with its process still coming up.

        One that shows other tools than it should by now ends first: they are part of its prefix.

        Raises:
            Halted: a wish came in between.
            SafeError: there is none to be had now.
        """
        if self.run is not None and self._warm.shows_other_tools(self.run, scope):
            await self.end(EndReason.TOOLS)
        if self.run is not None and self.run.alive:
            return self.run
        try:
            if self.run is None:
                taking = self._slots.acquire(self._place)
                await self._within_start(taking, SessionErrorCode.ALL_BUSY)
            self._began_ns = self._parts.clock.monotonic_ns()
            await self._within_start(self._start(scope), SessionErrorCode.START_TIMEOUT)
        finally:
            if self.run is None:
                self._slots.release(self._place)
        if self.run is None:
            raise SessionStartFailed(SessionErrorCode.START_FAILED)
        return self.run

    async def came_up(self) -> None:
        """Wait until the process of a fresh run can take a prompt.

        Raises:
            Halted: a wish came in between.
            SafeError: it does not come up. The run stays at hand, to be ended.
        """
        if self.run is not None and self._coming is not None:
            coming, self._coming = self._coming, None
            starting = self._processes.start(self.run, coming)
            took_seconds = (self._parts.clock.monotonic_ns() - self._began_ns) / 1e9
            await self._within_start(starting, SessionErrorCode.START_TIMEOUT, took_seconds)

    async def has_process(self) -> bool:
        """Tell whether the run at hand, if there is one, was ever given a process.

        One that is coming up without anybody waiting for it, because the turn was not to be
        delivered, is waited for: the next turn will find it.
        """
        try:
            await self.came_up()
        except (SafeError, Halted) as error:
            code = error.code if isinstance(error, SafeError) else error.reason
            _log.warning("session.not_up", code=str(code))
        return self.run is None or self.run.client is not None

    async def drop_process(self) -> None:
        """Clear away a process that died while nothing was asked of it."""
        if self.run is not None:
            _log.warning("session.process_lost", exit_code=exit_code_of(self.run))
            await self.run.disconnect()

    async def end(self, reason: EndReason) -> None:
        """End the run and give its place back."""
        await self._close(reason)
        self._slots.release(self._place)

    async def ended(self) -> None:
        """Wait until no run is open."""
        await self._ended.wait()

    async def _within_start(
        self, step: Coroutine[Any, Any, None], late: SessionErrorCode, took_seconds: float = 0.0
    ) -> None:
        """Bound a step of the start by what is left of ``start_seconds``, or by a halt before."""
        left_seconds = max(0.0, self._parts.limits.start_seconds - took_seconds)
        try:
            async with self._parts.clock.timeout(left_seconds) as self._starting:
                if self._halted is not None:
                    self._starting.reschedule(0.0)
                await step
        except TimeoutError as error:
            if self._halted is not None:
                raise Halted(self._halted) from error
            raise SessionStartFailed(late) from error
        finally:
            self._starting = None

    async def _start(self, scope: RunScope) -> None:
        """Resume the run at hand or the one of an earlier host; else begin a fresh one."""
        if self.run is None:
            self.run = await self._warm.find(self._imp, scope)
        if self.run is not None:
            self._name(self.run.run_id)
            if await self._resumed(self.run):
                return
        run_id = await self._starter.new_run_id()
        self._name(run_id)
        self.run = await self._starter.fresh(run_id, self._imp, scope)
        try:
            self._coming = await self._processes.spawn(self.run, self._on_death)
        except BaseException:
            await self._close(EndReason.FAILED)
            raise

    async def _resumed(self, run: Run) -> bool:
        """Bring a run back to life.

        A run that cannot be resumed ends: another try would fail in the same way, and the next
        message must work. False if a fresh run may begin at once, because the process is well and
        only the old session or its trace is not.
        """
        try:
            await self._processes.resume(run, self._on_death)
        except (SessionLost, TraceUnwritable) as error:
            _log.warning("session.lost", code=str(error.code), **error.facts)
            await self._close(EndReason.FAILED)
            return False
        except SafeError:
            await self._close(EndReason.FAILED)
            raise
        return True

    async def _close(self, reason: EndReason) -> None:
        """End the run but keep the place."""
        run, self.run, self._coming = self.run, None, None
        if run is not None:
            self._on_ending()
            try:
                await self._starter.finish(run, reason)
            except SafeError as error:
                _log.warning("session.end_unrecorded", code=str(error.code))
            _log.info("session.ended", reason=reason.value)
        self._ended.set()

    def _name(self, run_id: RunId) -> None:
        self.run_id = run_id
        bind_contextvars(run_id=run_id)
        self._ended.clear()
