"""What runs still hold of a forgotten text: their sessions end, and the engine's files go.

A run's trace stays until its retention ends. A run that a session has is waited for; one that no
process serves any more is ended here, so that no later host takes it up again.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from compiler.request import ChannelId, RunId
from sessions.clock import Clock, timestamp
from sessions.engine import SESSION_DIR
from sessions.run_files import run_dir
from sessions.store.burials import ConcernedRun, Pending
from sessions.store.erasure import ErasureStore
from sessions.store.runs import RunStore
from sessions.view import SessionView


class SessionEnder(Protocol):
    """What forgetting needs of the registry."""

    async def reset(self, channel_id: ChannelId) -> bool:
        """End the sessions of a conversation, a busy one after its turn."""

    def views(self) -> Sequence[SessionView]:
        """Describe the sessions there are."""


class RunCleaner:
    """Clears runs of what was forgotten."""

    def __init__(self, *, home: Path, runs: RunStore, erasure: ErasureStore, clock: Clock) -> None:
        self._home = home
        self._runs = runs
        self._erasure = erasure
        self._clock = clock
        self._sessions: SessionEnder | None = None

    def attach(self, sessions: SessionEnder) -> None:
        """Say who ends sessions; they are made after memory is."""
        self._sessions = sessions

    async def end_sessions(self, pending: Pending) -> int:
        """End the sessions that may hold the text, a busy one after its turn; count them."""
        if self._sessions is None:
            return 0
        ended = 0
        for channel_id in pending.channel_ids:
            ended += await self._sessions.reset(ChannelId(channel_id))
        return ended

    async def clean(self, pending: Pending) -> tuple[tuple[str, ...], int]:
        """Delete the engine's files of the runs that may hold the text: of its places, and named.

        Returns:
            The runs that a session still has, and of how many others files remain.
        """
        waiting: list[str] = []
        remain = 0
        for run in await self._erasure.concerned_runs(pending.channel_ids, pending.run_ids):
            if run.is_open and self._is_served(run):
                waiting.append(run.run_id)
                continue
            if run.is_open:
                await self.close(run.run_id)
            remain += not await self._remove_files(run.run_id)
        return tuple(waiting), remain

    def _is_served(self, run: ConcernedRun) -> bool:
        """Whether a session has the run, or may be about to: one that starts names none yet."""
        views = () if self._sessions is None else self._sessions.views()
        return any(
            view.run_id == run.run_id or (view.run_id is None and view.channel_id == run.channel_id)
            for view in views
        )

    async def close(self, run_id: RunId) -> None:
        """End a run that no process serves and that a later host would have taken up again."""
        now = timestamp(self._clock.utc_now())
        await self._runs.end_run(run_id, ended_at=now, reason="forgotten")
        await self._remove_files(run_id)

    async def _remove_files(self, run_id: RunId) -> bool:
        """Delete the engine's own files of a run that ended; its trace stays."""
        return await asyncio.to_thread(_remove, run_dir(self._home, run_id) / SESSION_DIR)


def _remove(directory: Path) -> bool:
    """Delete a directory; True when nothing is left of it."""
    if not directory.exists():
        return True
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()
