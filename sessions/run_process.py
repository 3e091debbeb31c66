"""The process of a run: given to it, and given again after a loss.

It comes up with its way to the provider, and both end together. A process that is not the right
one, or does not hold the run's session, is not left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace

import structlog

from sessions.allowance import Spender
from sessions.engine import SESSION_DIR, EngineClient, GatewayAccess, Launch
from sessions.errors import SessionErrorCode, SessionStartFailed
from sessions.parts import SessionParts
from sessions.pi.errors import SessionLost
from sessions.pi.session_file import repair_session
from sessions.run import Run
from sessions.run_files import write_prompts
from sessions.tools.table import BUILTIN_NAMES
from sessions.trace import TraceUnwritable
from sessions.traces.writing import resumed_event
from sessions.wire.record import unobserved_event, wire_event

_log = structlog.get_logger(__name__)


class RunProcesses:
    """Gives runs their processes."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts

    async def connect(
        self, run: Run, on_death: Callable[[], None], *, expected_messages: int = 0
    ) -> None:
        """Give a run a living process, whose death is told by ``on_death``.

        Raises:
            SafeError: no process, or not the right one; none is left behind.
            SessionLost: the process does not hold the run's session.
        """
        client = await self.spawn(run, on_death)
        await self.start(run, client, expected_messages=expected_messages)

    async def spawn(self, run: Run, on_death: Callable[[], None]) -> EngineClient:
        """Give a run a process that comes up by itself; ``start`` waits for it.

        Raises:
            SafeError: there is none.
        """
        shown = dict(run.engine.tools)
        launch = Launch(
            run_dir=run.directory,
            route_key=run.system.cache.route_key,
            settings=run.settings,
            resume=run.spawned,
            channel_files=run.channel_files,
            tools=self._parts.specs(shown),
            builtin_tools=tuple(name for name in BUILTIN_NAMES if name in shown),
            tool_seconds=self._parts.tool_seconds,
        )
        run.spawned = True
        try:
            launch = replace(launch, gateway=await self._open_wire(run))
            client = await run.process.enter_async_context(self._parts.engine.spawn(launch))
            watchers = await run.process.enter_async_context(asyncio.TaskGroup())
            watcher = watchers.create_task(_tell(client, on_death), name=f"watch:{run.run_id}")
            run.process.callback(watcher.cancel)
        except BaseException:
            await run.disconnect()
            raise
        return client

    async def start(self, run: Run, client: EngineClient, *, expected_messages: int = 0) -> None:
        """Wait until a process can take a prompt.

        Raises:
            SafeError: it does not come up, or is not the right one; it is not left behind.
            SessionLost: it does not hold the run's session.
        """
        try:
            state = await client.start(expected_messages=expected_messages)
        except BaseException:
            await run.disconnect()
            raise
        run.client = client
        _log.info("session.connected", run_id=run.run_id, messages=state.message_count)

    async def resume(self, run: Run, on_death: Callable[[], None]) -> None:
        """Give a run that lost its process a new one with the same system prompt.

        The end of a turn that was cut off by the loss is taken out of pi's session first, so that
        no message is ever repeated in its context.

        Raises:
            SafeError: as ``connect``; the run stays as it was, and may be resumed later.
        """
        await run.disconnect()
        await trace_late_calls(run)
        route_key = run.system.cache.route_key
        expected = await asyncio.to_thread(repair_session, run.directory / SESSION_DIR, route_key)
        if run.answered and not expected:
            raise SessionLost(expected_messages=2 * run.answered, found_messages=0)
        await asyncio.to_thread(write_prompts, run.directory, run.system, run.settings)
        await self.connect(run, on_death, expected_messages=expected)
        run.needs_history = expected == 0
        start = run.trace.start
        if start is None:
            raise SessionStartFailed(SessionErrorCode.START_FAILED, reason="trace without a start")
        try:
            await run.trace.append(
                resumed_event(
                    run.run_id,
                    at=self._parts.clock.utc_now(),
                    extends=start,
                    system_sha256=run.system.sha256,
                    kept_answers=expected // 2,
                )
            )
        except BaseException:
            await run.disconnect()
            raise

    async def _open_wire(self, run: Run) -> GatewayAccess | None:
        """Open the process's way to its provider; it closes after the process has ended."""
        parts, run.wire = self._parts, None
        if parts.gateway is None:
            return None
        run.wire = await run.process.enter_async_context(
            parts.gateway.open(
                run.settings,
                run_id=run.run_id,
                system_prompt=run.system.prompt,
                spender=Spender(imp=run.imp, user_id=None, channel_id=None),
                inputs=run.trace.inputs,
            )
        )
        if run.wire is None:
            now = parts.clock.utc_now()
            await run.trace.append(
                unobserved_event(run.run_id, at=now, provider=run.settings.provider)
            )
            return None
        return GatewayAccess(address=parts.gateway.address_of(run.wire), secret=run.wire.secret)


async def trace_late_calls(run: Run) -> None:
    """Write down model calls that no turn took: pi made them when nobody asked."""
    records = run.wire.take_records() if run.wire else ()
    with contextlib.suppress(TraceUnwritable):
        for record in records:
            await run.trace.append(wire_event(run.run_id, record))


async def _tell(client: EngineClient, on_death: Callable[[], None]) -> None:
    await client.ended()
    on_death()
