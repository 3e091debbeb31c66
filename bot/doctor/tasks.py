"""Whether tasks can run: the repositories that code tasks may work on. Blocks for a moment."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bot.doctor.results import Check, ok, warn
from sessions.task_settings import TaskRights, TaskSettings
from sessions.tasks import TaskRefused
from sessions.worktrees import check_repository

_NAME: Final = "Tasks"
_WHO: Final = {
    TaskRights.NONE: "owners file them",
    TaskRights.REMINDERS: "owners file them, others reminders",
    TaskRights.TASKS: "everybody files them, code but owners alone",
}


def check_tasks(tasks: TaskSettings) -> Check:
    """Tell who files tasks and by whose clock, and which repository cannot be used."""
    unusable = [name for name, path in tasks.repositories.items() if not _is_usable(path)]
    if unusable:
        return warn(
            _NAME,
            f"code tasks cannot use {', '.join(sorted(unusable))}",
            "In [tasks.repositories] of org.toml give the whole path of a git repository that "
            "this user may read and write, and see that git is installed.",
        )
    return ok(_NAME, f"{_WHO[tasks.members]}; times are of {tasks.timezone}")


def _is_usable(path: str) -> bool:
    try:
        check_repository(Path(path))
    except TaskRefused:
        return False
    return True
