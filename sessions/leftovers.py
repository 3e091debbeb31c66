"""What a killed host left behind, settled before a new one takes messages."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import structlog

from sessions.clock import timestamp
from sessions.engine import PID_FILE
from sessions.parts import SessionParts
from sessions.pi.family import end_leftover
from sessions.run_files import run_dir
from sessions.store.runs import InterruptedTurn

_log = structlog.get_logger(__name__)


async def settle_leftovers(parts: SessionParts) -> tuple[InterruptedTurn, ...]:
    """Close interrupted turns and runs, and end processes that outlived their host.

    Returns:
        The turns that were cut off; those who asked are still waiting for a word.

    Raises:
        StoreUnavailable: the tables cannot be read.
    """
    now = parts.clock.utc_now()
    found = await parts.runs.close_interrupted(
        now=timestamp(now),
        idle_before=timestamp(now - timedelta(seconds=parts.limits.idle_seconds)),
    )
    files = [run_dir(parts.home, run_id) / PID_FILE for run_id in found.open_runs]
    ended = await asyncio.to_thread(_end_all, files, parts.limits.shutdown_seconds)
    if found.turns or ended:
        _log.warning("registry.leftovers", turns=len(found.turns), processes=ended)
    return found.turns


def _end_all(files: list[Path], patience_seconds: float) -> int:
    return sum(
        end_leftover(file, patience_seconds=patience_seconds) for file in files if file.exists()
    )
