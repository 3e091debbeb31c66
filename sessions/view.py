"""A session as the owner sees it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from compiler.request import ChannelId, ImpName, RunId


class SessionState(StrEnum):
    """What a session is doing."""

    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    ENDING = "ending"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """One session at one moment. ``run_id`` is None before a run has begun."""

    imp: ImpName
    channel_id: ChannelId
    is_dm: bool
    state: SessionState
    run_id: RunId | None
    turns: int
    """Turns of the run so far, failed ones included."""
    queued: int
    """Messages that wait for their turn."""
    quiet_seconds: float
    """Time since the session last began or finished something."""
    has_process: bool
    """Whether its pi lives; after a crash the next message starts one that resumes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """What somebody's "stop" did in a conversation."""

    stopped: bool = False
    """Whether a turn was running, and was cut off."""
    dropped: int = 0
    kept: int = 0
    """Messages that wait on, other people's included."""
