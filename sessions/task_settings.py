"""What the owner may say about tasks, validated by ``config`` straight into this class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sessions.tasks import TaskKind


class TaskRights(StrEnum):
    """What people who are not owners may file, each in their own conversations."""

    NONE = "none"
    REMINDERS = "reminders"
    TASKS = "tasks"
    """Reminders and prompts of every kind but code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """Tasks and their limits (``org.toml [tasks]``); ``*_seconds`` and ``*_calls`` bound a run."""

    members: TaskRights = TaskRights.NONE
    timezone: str = "UTC"
    """Whose clock times are read and told by: a name such as "Europe/Paris"."""
    max_running: int = 2
    """Runs at a time; direct questions from the shell have as many places of their own."""
    max_open: int = 500
    per_person: int = 20
    """Open tasks of one person."""
    least_minutes: int = 5
    """The least distance between two times of one task."""
    attempts: int = 2
    """How often a run is made that restarts interrupt, where its kind allows another."""
    keep_days: int = 30
    """How long a task that ended is kept."""
    direct_seconds: float = 300.0
    prompt_seconds: float = 300.0
    heartbeat_seconds: float = 300.0
    research_seconds: float = 900.0
    code_seconds: float = 1_800.0
    direct_calls: int = 25
    """Most model calls of one run of a kind: one for each step with tools, and the answer."""
    prompt_calls: int = 25
    heartbeat_calls: int = 25
    research_calls: int = 100
    code_calls: int = 200
    repositories: Mapping[str, str] = field(default_factory=dict)
    """Name to path of the git repositories that code tasks may work on."""

    def seconds(self, kind: TaskKind) -> float:
        """Give the longest run of a kind."""
        return float(getattr(self, f"{_ceiling(kind)}_seconds"))

    def calls(self, kind: TaskKind) -> int:
        """Give the most model calls of a run of a kind."""
        return int(getattr(self, f"{_ceiling(kind)}_calls"))


def _ceiling(kind: TaskKind) -> str:
    """Name the ceiling of a kind; a reminder has no run, and a continuation is a prompt's."""
    own = kind not in (TaskKind.REMINDER, TaskKind.CONTINUATION)
    return kind.value if own else TaskKind.PROMPT.value
