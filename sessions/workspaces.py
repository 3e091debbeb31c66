"""Where approved calls are carried out: in the workspace that their conversation has by then.

A gate may be approved long after the session that asked has ended. Then the call is carried out
in that session's workspace, as it was left, and the conversation's next session is given that
workspace as its own: it is told of the outcome and finds what was done. One that ends before it
answered anything leaves it to the next. Of all other sessions nothing is handed on (CC "State and
mount isolation").
"""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from compiler.request import ChannelId, ImpName, RunId
from sessions.boxes.plan import uid_of
from sessions.clock import Clock, parse_timestamp
from sessions.engine import WORKSPACE_DIR
from sessions.gates import Gate
from sessions.store.warm import WarmStore

HANDOVER_DIR: Final = "handover"
_RUN: Final = re.compile(r"[A-Za-z0-9-]{1,64}")


class Workspaces:
    """Finds them, and hands one on."""

    def __init__(
        self, home: Path, runs: Path, warm: WarmStore, *, clock: Clock, idle_seconds: float
    ) -> None:
        """Take the home, where its runs lie, the claims of warm sessions, how long one is idle."""
        self._home = home
        self._runs = runs
        self._warm = warm
        self._clock = clock
        self._idle = timedelta(seconds=idle_seconds)

    async def run_of(self, gate: Gate) -> Path:
        """Give the directory of the run in whose workspace a gate's call is carried out.

        Raises:
            StoreUnavailable: it cannot be found out.
            OSError: the workspace cannot be made or handed on.
        """
        origin = gate.origin
        if origin.channel_id is None or gate.of_shell:  # the task that hears of it inherits it
            return await asyncio.to_thread(self._made, origin.run_id)
        row = await self._warm.find(origin.imp, origin.channel_id)
        run_id = origin.run_id if row is None else row.run_id
        lives = (
            row is not None
            and self._clock.utc_now() - parse_timestamp(row.last_active_at) <= self._idle
        )
        run_dir = await asyncio.to_thread(self._made, run_id)
        if not lives:
            await asyncio.to_thread(self._set_aside, run_id, origin.imp, origin.channel_id)
        return run_dir

    def _made(self, run_id: RunId) -> Path:
        run_dir = self._runs / run_id
        (run_dir / WORKSPACE_DIR).mkdir(mode=0o700, parents=True, exist_ok=True)
        return run_dir

    def _set_aside(self, run_id: RunId, imp: ImpName, channel_id: ChannelId) -> None:
        marker = _marker(self._home, imp, channel_id)
        marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        marker.write_text(run_id, encoding="ascii")


def adopt(home: Path, imp: ImpName, channel_id: ChannelId, run_dir: Path) -> bool:
    """Give a fresh run the workspace that was set aside for its conversation, if one was; blocks.

    Raises:
        OSError: it is there and cannot be handed over.
    """
    marker = _marker(home, imp, channel_id)
    try:
        former = marker.read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    marker.unlink()
    return inherit(run_dir.with_name(former), run_dir) if _RUN.fullmatch(former) else False


def leave(home: Path, imp: ImpName, channel_id: ChannelId, run_dir: Path) -> None:
    """Set a workspace aside again that was of no use to a run; blocks.

    Where a call was carried out elsewhere meanwhile, that workspace is the newer one.

    Raises:
        OSError: it cannot be set aside.
    """
    if (run_dir / WORKSPACE_DIR).is_dir():
        with suppress(FileExistsError), _marker(home, imp, channel_id).open("x") as marker:
            marker.write(run_dir.name)


def inherit(former: Path, run_dir: Path) -> bool:
    """Give a fresh run the workspace of another that is over, if it is there still; blocks.

    Raises:
        OSError: it cannot be handed over.
    """
    workspace = former / WORKSPACE_DIR
    if not workspace.is_dir() or workspace.is_symlink():
        return False
    workspace.rename(run_dir / WORKSPACE_DIR)
    if os.geteuid() == 0:
        _change_hands(run_dir / WORKSPACE_DIR, uid_of(run_dir.name))
    return True


def _marker(home: Path, imp: ImpName, channel_id: ChannelId) -> Path:
    return home / HANDOVER_DIR / imp / channel_id.rpartition(":")[2]


def _change_hands(folder: Path, uid: int) -> None:
    """Let another run's user have the files; links are changed themselves and not followed.

    An approved command may still run in the folder and move things about, so each directory is
    gone through as it was opened and no path is looked up a second time.
    """
    for _, folders, names, place in os.fwalk(folder):
        os.chown(place, uid, uid)
        for name in (*folders, *names):
            os.chown(name, uid, uid, dir_fd=place, follow_symlinks=False)
