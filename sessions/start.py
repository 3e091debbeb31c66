"""The start of a run, and its end.

A start is read, compiled and durably traced before any process exists; a failure of each step
leaves no process behind, a trace that says so as far as one could be written, and a run row.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from compiler.budget import ContextBudgets
from compiler.compile import UNKNOWN_MODEL, CompiledContext, CompiledSystem, compile_start
from compiler.errors import CompileError
from compiler.request import (
    ChannelId,
    ContextPhase,
    ContextRequest,
    ImpName,
    RunId,
    RunScope,
    RunSurface,
    SourceSnapshot,
)
from sessions.clock import elapsed_us, timestamp
from sessions.errors import SessionErrorCode, SessionStartFailed, StoreUnavailable
from sessions.limits import EngineSettings
from sessions.parts import SessionParts
from sessions.run import EndReason, Run, extent_of
from sessions.run_files import make_run_dir, run_dir, write_prompts
from sessions.run_process import trace_late_calls
from sessions.store.runs import RunRow
from sessions.trace import TraceUnwritable, TraceWriter
from sessions.traces.writing import Occasion, compiled_event, ended_event, failed_event
from sessions.workspaces import adopt, leave

_log = structlog.get_logger(__name__)
_ID_ATTEMPTS: Final = 20


class RunStarter:
    """Makes runs and ends them."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts

    async def new_run_id(self) -> RunId:
        """Claim an id by making its directory, owner-only.

        Raises:
            SessionStartFailed: the directory cannot be made.
        """
        for _ in range(_ID_ATTEMPTS):
            run_id = self._parts.ids.fresh()
            try:
                await asyncio.to_thread(make_run_dir, self._dir_of(run_id))
            except FileExistsError:
                continue
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise SessionStartFailed(SessionErrorCode.START_FAILED, reason=reason) from error
            return run_id
        raise SessionStartFailed(SessionErrorCode.START_FAILED, reason="no free run id")

    async def fresh(self, run_id: RunId, imp: ImpName, scope: RunScope) -> Run:
        """Read, compile and trace the start of a new run; it has no process yet.

        Raises:
            SafeError: whatever failed, after it was traced and recorded as far as possible.
        """
        parts = self._parts
        request = start_request(run_id, imp, scope)
        await parts.runs.begin_run(self._row(request))
        trace: TraceWriter | None = None
        try:
            trace = await TraceWriter.create(self._dir_of(run_id), run_id)
            return await self._begun(request, trace)
        except BaseException:
            await self._record_failure(run_id, trace)
            raise

    async def _begun(self, request: ContextRequest, trace: TraceWriter) -> Run:
        parts, directory = self._parts, self._dir_of(request.run_id)
        settings = parts.engine_settings(request.imp)
        engine = parts.identity(request.imp, request.scope, settings)
        budgets = parts.budgets(request.imp)
        snapshot = await parts.sources.read_start(request.imp, request.scope, engine)
        system = await self._compiled(request, snapshot, budgets, settings, trace)
        run = Run(
            run_id=request.run_id,
            imp=request.imp,
            directory=directory,
            trace=trace,
            system=system,
            settings=settings,
            engine=engine,
            budgets=budgets,
            channel_files=parts.channel_files(request.scope),
        )
        await self.prepare(run)
        await self._adopt(run, request.scope.channel_id)
        return run

    async def _adopt(self, run: Run, channel_id: ChannelId | None) -> None:
        """Take over the workspace in which an approved call was carried out meanwhile.

        Last of all: a run that does not get so far takes nothing away.
        """
        if channel_id is None:
            return
        try:
            if await asyncio.to_thread(adopt, self._parts.home, run.imp, channel_id, run.directory):
                run.heir_in = channel_id
        except OSError as error:
            _log.warning("session.workspace_lost", error=type(error).__name__)

    async def _leave(self, run: Run) -> None:
        """Leave to the next session what this one was given and gave no answer from."""
        if run.heir_in is None or run.answered:
            return
        try:
            await asyncio.to_thread(leave, self._parts.home, run.imp, run.heir_in, run.directory)
        except OSError as error:
            _log.warning("session.workspace_lost", error=type(error).__name__)

    async def blank(self, request: ContextRequest) -> Run:
        """Record a run of one input, before anything is read for it; ``prepare`` it once compiled.

        Raises:
            SafeError: it cannot be recorded or traced.
        """
        parts, trace = self._parts, None
        await parts.runs.begin_run(self._row(request))
        try:
            trace = await TraceWriter.create(self._dir_of(request.run_id), request.run_id)
            settings = parts.engine_settings(request.imp)
            return Run(
                run_id=request.run_id,
                imp=request.imp,
                directory=self._dir_of(request.run_id),
                trace=trace,
                system=None,
                settings=settings,
                engine=parts.identity(request.imp, request.scope, settings),
                budgets=parts.budgets(request.imp),
                channel_files=parts.channel_files(request.scope),
            )
        except BaseException:
            await self._record_failure(request.run_id, trace)
            raise

    async def prepare(self, run: Run) -> None:
        """Write down what a run was compiled to, and put it where its process reads it.

        Raises:
            SafeError: it cannot be written.
        """
        noted = self._parts.runs.set_start(
            run.run_id,
            system_sha256=run.system.sha256,
            route_key=run.system.cache.route_key,
            extent=run.extent,
        )
        written = asyncio.to_thread(write_prompts, run.directory, run.system, run.settings)
        await asyncio.gather(noted, written)

    async def _compiled(
        self,
        request: ContextRequest,
        snapshot: SourceSnapshot,
        budgets: ContextBudgets,
        settings: EngineSettings,
        trace: TraceWriter,
    ) -> CompiledSystem:
        clock = self._parts.clock
        began_ns = clock.monotonic_ns()
        try:
            compiled = await self._compile(request, snapshot, budgets, settings)
        except CompileError as error:
            occasion = Occasion(at=clock.utc_now(), compile_us=elapsed_us(clock, began_ns))
            await trace.append(failed_event(request, error, occasion))
            raise
        occasion = Occasion(at=clock.utc_now(), compile_us=elapsed_us(clock, began_ns))
        await trace.append(compiled_event(compiled, occasion))
        return compiled.system

    async def _compile(
        self,
        request: ContextRequest,
        snapshot: SourceSnapshot,
        budgets: ContextBudgets,
        settings: EngineSettings,
    ) -> CompiledContext:
        tokens = self._parts.tokens
        model = UNKNOWN_MODEL if tokens is None else await tokens.model(settings)
        compiling = partial(compile_start, request, snapshot, budgets, model)
        if tokens is not None and tokens.asks_elsewhere(settings):
            return await asyncio.to_thread(compiling)
        return compiling()

    async def _record_failure(self, run_id: RunId, trace: TraceWriter | None) -> None:
        """Close the row of a run that never came to life; the failure itself is told elsewhere."""
        try:
            await self._parts.runs.end_run(
                run_id,
                ended_at=timestamp(self._parts.clock.utc_now()),
                reason=EndReason.FAILED,
                extent=extent_of(trace) if trace else None,
            )
        except StoreUnavailable as error:
            _log.warning("session.end_unrecorded", **error.facts)
        finally:
            if trace is not None:
                trace.close()

    async def finish(self, run: Run, reason: EndReason) -> None:
        """End a run: its process, its trace, its row.

        At a shutdown a run that pi has answered turns of stays open and keeps its claim.

        Raises:
            StoreUnavailable: the end is not in the table; the process has ended all the same.
        """
        try:
            await run.disconnect()
            await trace_late_calls(run)
            await self._leave(run)
            if reason is EndReason.SHUTDOWN and run.answered:
                await self._parts.runs.set_extent(run.run_id, run.extent)
                return
            now = self._parts.clock.utc_now()
            with contextlib.suppress(TraceUnwritable):
                await run.trace.append(ended_event(run.run_id, at=now, reason=reason))
            await self._parts.runs.end_run(
                run.run_id, ended_at=timestamp(now), reason=reason, extent=run.extent
            )
            if self._parts.memory is not None:
                await self._parts.memory.run_ended(run.run_id)
        finally:
            run.trace.close()

    def _dir_of(self, run_id: RunId) -> Path:
        return run_dir(self._parts.home, run_id)

    def _row(self, request: ContextRequest) -> RunRow:
        return RunRow(
            run_id=request.run_id,
            surface=request.surface,
            imp=request.imp,
            channel_id=request.scope.channel_id,
            is_dm=request.scope.is_dm,
            started_at=timestamp(self._parts.clock.utc_now()),
            ended_at=None,
            end_reason=None,
            system_sha256=None,
            route_key=None,
            turns=0,
            trace_events=0,
            trace_head_sha256=None,
        )


def start_request(run_id: RunId, imp: ImpName, scope: RunScope) -> ContextRequest:
    """Ask for the start of a session: it belongs to the place, not to the message that woke it."""
    place = replace(scope, message_id=None, user_id=scope.user_id if scope.is_dm else None)
    return ContextRequest(
        run_id=run_id,
        phase=ContextPhase.START,
        surface=RunSurface.DISCORD_SESSION,
        imp=imp,
        scope=place,
    )
