"""What ``doctor`` says of tasks."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bot.doctor.results import Verdict
from bot.doctor.tasks import check_tasks
from sessions.task_settings import TaskRights, TaskSettings


def test_a_repository_that_cannot_be_used_is_named_before_a_task_fails(tmp_path: Path) -> None:
    """Its name, not its path; and the settings that hold where all is well."""
    orchard = tmp_path / "orchard"
    orchard.mkdir()
    subprocess.run(("git", "init", "--quiet"), cwd=orchard, check=True)  # noqa: S607
    fine = check_tasks(TaskSettings(repositories={"orchard": str(orchard)}))
    assert (fine.verdict, fine.summary) == (Verdict.OK, "owners file them; times are of UTC")
    gone = {"orchard": str(orchard), "cellar": str(tmp_path / "cellar")}
    found = check_tasks(TaskSettings(repositories=gone, members=TaskRights.TASKS))
    assert found.verdict is Verdict.WARN
    assert "cellar" in found.summary
    assert str(tmp_path) not in found.summary + found.advice
