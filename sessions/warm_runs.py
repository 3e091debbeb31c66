"""Runs that outlive their host: claimed while they are warm, found again by the next one.

A claim counts as long as the run was not idle for too long, its engine and its tools are still
those that a session starting now would have, and its trace can be taken up.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import structlog

from compiler.errors import SafeError
from compiler.request import ImpName, RunScope
from sessions.clock import parse_timestamp, timestamp
from sessions.engine import fingerprint
from sessions.parts import SessionParts
from sessions.run import EndReason, Run
from sessions.run_files import run_dir
from sessions.store.warm import WarmRow
from sessions.trace import TRACE_FILE, TraceWriter
from sessions.traces.proof import rebuild_system

_log = structlog.get_logger(__name__)


class WarmRuns:
    """Claims runs for the next host, and takes up those of the last one."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts

    async def find(self, imp: ImpName, scope: RunScope) -> Run | None:
        """Find the run that an earlier host kept warm for a conversation, if it still counts.

        It does not if it was idle for too long, if the engine is another by now, or if its trace
        cannot be taken up; then its claim ends here, and the conversation starts afresh.
        """
        if scope.channel_id is None:
            return None
        row = await self._parts.warm.find(imp, scope.channel_id)
        if row is None:
            return None
        reason = self._stale(row, scope)
        if reason is None:
            try:
                return await self._reopened(row, scope)
            except SafeError as error:
                _log.warning("session.not_resumable", run_id=row.run_id, code=str(error.code))
                reason = EndReason.FAILED
        await self._parts.runs.end_run(
            row.run_id, ended_at=timestamp(self._parts.clock.utc_now()), reason=reason
        )
        return None

    def claim(self, run: Run, scope: RunScope) -> WarmRow | None:
        """Write down that a run may be resumed by a later host."""
        if scope.channel_id is None or not run.answered:
            return None
        return WarmRow(
            imp=run.imp,
            channel_id=scope.channel_id,
            run_id=run.run_id,
            route_key=run.system.cache.route_key,
            engine_sha256=fingerprint(
                run.settings, run.engine, confinement=self._parts.engine.confinement
            ),
            last_active_at=timestamp(self._parts.clock.utc_now()),
        )

    def shows_other_tools(self, run: Run, scope: RunScope) -> bool:
        """Tell whether a run's list of tools is no longer the one that a session would show."""
        now = self._parts.tools(run.imp, scope, run.settings)
        return run.engine.tools != now.fingerprints

    def _stale(self, row: WarmRow, scope: RunScope) -> EndReason | None:
        # Across two hosts there is only the wall clock. One that was set back makes the session
        # younger, and to go on with it is the harmless error.
        idle = self._parts.clock.utc_now() - parse_timestamp(row.last_active_at)
        if idle > timedelta(seconds=self._parts.limits.idle_seconds):
            return EndReason.IDLE
        settings = self._parts.engine_settings(row.imp)
        identity = self._parts.identity(row.imp, scope, settings)
        wanted = fingerprint(settings, identity, confinement=self._parts.engine.confinement)
        return None if row.engine_sha256 == wanted else EndReason.ROLLOVER

    async def _reopened(self, row: WarmRow, scope: RunScope) -> Run:
        parts = self._parts
        directory = run_dir(parts.home, row.run_id)
        settings = parts.engine_settings(row.imp)
        kept = await parts.runs.get_run(row.run_id)
        trace = await TraceWriter.reopen(directory, row.run_id, at=parts.clock.utc_now())
        try:
            system = await asyncio.to_thread(rebuild_system, directory / TRACE_FILE)
        except BaseException:
            trace.close()
            raise
        return Run(
            run_id=row.run_id,
            imp=row.imp,
            directory=directory,
            trace=trace,
            system=system,
            settings=settings,
            engine=parts.identity(row.imp, scope, settings),
            budgets=parts.budgets(row.imp),
            turns=kept.turns if kept else 0,
            answered=1,
            channel_files=parts.channel_files(scope),
        )
