"""Worktrees of code tasks: what is kept of them, and what cannot be done with them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sessions.tasks import TaskErrorCode, TaskId, TaskRefused
from sessions.worktrees import (
    keep_changes,
    make_worktree,
    remove_leftovers,
    remove_worktree,
)


def git(repository: Path, *words: str) -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    done = subprocess.run(  # noqa: S603
        ("git", *who, *words),  # noqa: S607
        cwd=repository,
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "orchard"
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch", "main")
    (place / "apples.txt").write_text("twelve\n")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "Count")
    return place


def everything(repository: Path) -> tuple[str, str, str]:
    return (
        git(repository, "status", "--porcelain"),
        git(repository, "rev-parse", "main"),
        git(repository, "worktree", "list"),
    )


def test_changes_become_one_commit_on_a_branch_of_the_task(
    repository: Path, tmp_path: Path
) -> None:
    """The owner's branch, index and files stay as they are; afterwards nothing is left of it."""
    before = everything(repository)
    worktree = make_worktree(repository, tmp_path / "run" / "workspace", TaskId("t-abc"))
    assert (worktree.folder / "apples.txt").read_text() == "twelve\n"
    assert not (worktree.folder / ".git").exists(), "nothing in the box leads to the repository"
    (worktree.folder / "apples.txt").write_text("thirteen\n")
    (worktree.folder / "pears.txt").write_text("two\n")
    assert keep_changes(worktree, title="Changes of task t-abc") == "inglenook/t-abc"
    remove_worktree(worktree)
    assert everything(repository) == before
    assert not worktree.folder.exists()
    assert git(repository, "show", "inglenook/t-abc:apples.txt") == "thirteen\n"
    log = git(repository, "log", "--format=%s", "main..inglenook/t-abc")
    assert log == "Changes of task t-abc\n"


def test_a_repository_with_work_in_it_is_left_as_it_is(repository: Path, tmp_path: Path) -> None:
    """Issue "Tasks": what the owner has staged, changed or not added yet is his, also in files that
    the task changes; the task begins with what is committed."""
    (repository / "apples.txt").write_text("fourteen\n")
    (repository / "staged.txt").write_text("one\n")
    git(repository, "add", "staged.txt")
    (repository / "new.txt").write_text("two\n")
    before = (*everything(repository), git(repository, "diff"), git(repository, "diff", "--cached"))
    worktree = make_worktree(repository, tmp_path / "workspace", TaskId("t-abc"))
    assert [each.name for each in worktree.folder.iterdir()] == ["apples.txt"]
    assert (worktree.folder / "apples.txt").read_text() == "twelve\n"
    (worktree.folder / "apples.txt").write_text("thirteen\n")
    (worktree.folder / "new.txt").write_text("three\n")
    assert keep_changes(worktree, title="x") == "inglenook/t-abc"
    remove_worktree(worktree)
    after = (*everything(repository), git(repository, "diff"), git(repository, "diff", "--cached"))
    assert after == before
    assert (repository / "new.txt").read_text() == "two\n"


def test_a_further_run_leaves_the_branch_of_the_one_before(
    repository: Path, tmp_path: Path
) -> None:
    """A task that comes again, or is tried again, takes nothing of what it made before.

    Also where the owner looks at it: the branch that is checked out stays as it is.
    """

    def run(number: int) -> str:
        worktree = make_worktree(repository, tmp_path / str(number), TaskId("t-abc"))
        (worktree.folder / "apples.txt").write_text(f"{number}\n")
        try:
            return keep_changes(worktree, title=f"run {number}")
        finally:
            remove_worktree(worktree)

    first = run(1)
    git(repository, "checkout", "--quiet", first)
    git(repository, "branch", "--quiet", "inglenook/t-abc-3", "main")
    names = [first, run(2), run(3)]
    assert names == ["inglenook/t-abc", "inglenook/t-abc-2", "inglenook/t-abc-4"]
    assert [git(repository, "show", f"{name}:apples.txt") for name in names] == [
        "1\n",
        "2\n",
        "3\n",
    ]
    assert git(repository, "status", "--porcelain") == ""


def test_a_repository_without_a_commit_has_nothing_to_begin_with(tmp_path: Path) -> None:
    """It is told, and nothing is left of the attempt."""
    place = tmp_path / "orchard"
    place.mkdir()
    git(place, "init", "--quiet")
    with pytest.raises(TaskRefused) as caught:
        make_worktree(place, tmp_path / "workspace", TaskId("t-abc"))
    assert caught.value.code == TaskErrorCode.REPOSITORY
    assert not (tmp_path / "workspace").exists()


def test_no_change_makes_no_branch(repository: Path, tmp_path: Path) -> None:
    """Nor does it matter that somebody tidies the repository up meanwhile."""
    worktree = make_worktree(repository, tmp_path / "workspace", TaskId("t-abc"))
    git(repository, "worktree", "prune")
    assert keep_changes(worktree, title="x") == ""
    assert git(repository, "branch", "--list", "inglenook/*") == ""


def test_what_a_killed_host_left_is_taken_away_and_nothing_else(
    repository: Path, tmp_path: Path
) -> None:
    """The owner's own worktrees, and those of other homes, are none of its business."""
    before = everything(repository)
    runs = tmp_path / "home" / "runs"
    left = make_worktree(repository, runs / "r1" / "workspace", TaskId("t-abc"))
    elsewhere = make_worktree(repository, tmp_path / "other" / "workspace", TaskId("t-xyz"))
    git(repository, "worktree", "add", "--quiet", str(runs / "mine"), "-b", "mine")
    remove_leftovers(repository, runs)
    assert not left.folder.exists()
    assert not left.git_dir.exists()
    assert elsewhere.folder.exists()
    assert (runs / "mine" / "apples.txt").exists()
    git(repository, "worktree", "remove", str(runs / "mine"))
    remove_worktree(elsewhere)
    assert everything(repository) == before


def test_what_a_box_leaves_behind_runs_nothing_on_the_host(
    repository: Path, tmp_path: Path
) -> None:
    """A repository made inside, hooks, a pointer to elsewhere, links: git follows none of them."""
    worktree = make_worktree(repository, tmp_path / "workspace", TaskId("t-abc"))
    folder, mark = worktree.folder, tmp_path / "escaped"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\n")
    trap.chmod(0o755)
    inner = folder / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet", ".")
    (inner / "seed.txt").write_text("apple\n")
    git(inner, "add", "--all")
    git(inner, "commit", "--quiet", "--message", "x")
    for key in ("core.fsmonitor", "core.sshCommand", "diff.external", "core.hooksPath"):
        git(inner, "config", key, str(trap))
    (folder / ".git").write_text(f"gitdir: {inner}/.git\n")
    (folder / ".gitattributes").write_text("* diff=x filter=x\n")
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "out").symlink_to(tmp_path)
    assert keep_changes(worktree, title="x") == "inglenook/t-abc"
    assert not mark.exists()
    assert git(repository, "show", "inglenook/t-abc:inner/seed.txt") == "apple\n"
    assert git(repository, "show", "inglenook/t-abc:link") == str(tmp_path / "secret")
    names = git(repository, "ls-tree", "-r", "--name-only", "inglenook/t-abc").split()
    assert names == [".gitattributes", "apples.txt", "inner/seed.txt", "link", "out"]
    remove_worktree(worktree)
    assert (tmp_path / "secret").read_text() == "secret"


def test_what_is_no_repository_is_told(tmp_path: Path) -> None:
    """The owner's path is wrong: one safe sentence, and no folder."""
    with pytest.raises(TaskRefused) as caught:
        make_worktree(tmp_path, tmp_path / "workspace", TaskId("t-abc"))
    assert caught.value.code == TaskErrorCode.REPOSITORY
    assert str(tmp_path) not in caught.value.safe_message
    assert not (tmp_path / "workspace").exists()
