"""A repository's worktree for one code task: made before its run, kept as a branch, cleaned away.

The run's workspace is the worktree. What stands in it may be anything by the time the run is over,
so git is never asked there by itself: the repository's own administrative directory is named each
time, the worktree's pointer to it is taken away before the box opens, hooks and helpers are off,
repositories made inside are dissolved, and no link is followed. What changed becomes one commit on
a branch of its own, ``inglenook/<task>``, and for a further run ``inglenook/<task>-2``; the owner's
branches, those of earlier runs, index and files are not touched.

Everything here blocks; a host calls it in a thread.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sessions.tasks import TaskErrorCode, TaskId, TaskRefused

BRANCHES: Final = "inglenook/"
LOCKED: Final = "a task of Inglenook's"
"""Why git may not forget a worktree that it cannot see any more."""
_SECONDS: Final = 120.0
_SAFE: Final = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.symlinks=true",
    "-c", "commit.gpgSign=false",
    "-c", "gc.auto=0",
)  # fmt: skip
_WHO: Final = ("-c", "user.name=Inglenook", "-c", "user.email=inglenook@localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """One worktree: ``folder`` holds the files, ``git_dir`` is its place in the repository."""

    repository: Path
    folder: Path
    git_dir: Path
    branch: str
    """Where the changes of the task's first run are kept."""


def make_worktree(repository: Path, folder: Path, task_id: TaskId) -> Worktree:
    """Check out what the repository's HEAD is into a new folder.

    Raises:
        TaskRefused: it is no repository, or git cannot do it.
    """
    repository = check_repository(repository)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    add = ("worktree", "add", "--detach", "--quiet", "--lock", "--reason", LOCKED)
    _git(repository, *add, str(folder), "HEAD")
    pointer = folder / ".git"
    git_dir = Path(pointer.read_text(encoding="utf-8").removeprefix("gitdir:").strip())
    pointer.unlink()
    return Worktree(
        repository=repository, folder=folder, git_dir=git_dir, branch=f"{BRANCHES}{task_id}"
    )


def check_repository(repository: Path) -> Path:
    """See that it is one, and give its whole path.

    Raises:
        TaskRefused: it is none, or git is not there.
    """
    whole = repository.expanduser()
    _git(whole, "rev-parse", "--git-dir")
    return whole


def hand_over(worktree: Worktree, uid: int) -> None:
    """Give the files to the user of a box."""
    for root, folders, names in os.walk(worktree.folder):
        for name in (".", *folders, *names):
            os.chown(Path(root, name), uid, uid, follow_symlinks=False)


def keep_changes(worktree: Worktree, *, title: str) -> str:
    """Commit what changed to a new branch, and give its name; empty if nothing did.

    Raises:
        TaskRefused: git cannot do it.
    """
    _drop_repositories(worktree.folder)
    _inside(worktree, "add", "--all")
    if not _inside(worktree, "diff", "--cached", "--name-only", "--ignore-submodules=all").strip():
        return ""
    _inside(worktree, *_WHO, "commit", "--no-verify", "--quiet", "--message", title)
    commit = _inside(worktree, "rev-parse", "HEAD").strip()
    branch = _free_branch(worktree)
    # The empty word: only where there is none of that name yet.
    _git(worktree.repository, "update-ref", f"refs/heads/{branch}", commit, "")
    return branch


def _free_branch(worktree: Worktree) -> str:
    """Name a branch that no earlier run of the task has: its commit would be lost."""
    listing = ("for-each-ref", "--format=%(refname:lstrip=2)", f"refs/heads/{BRANCHES}")
    taken = set(_git(worktree.repository, *listing).split())
    further = (f"{worktree.branch}-{number}" for number in itertools.count(2))
    names = itertools.chain((worktree.branch,), further)
    return next(name for name in names if name not in taken)


def _drop_repositories(folder: Path) -> None:
    """Take away repositories made inside: git would read their settings, which may name programs.

    Their files stay, as files.
    """
    for root, folders, names in os.walk(folder):
        for name in [each for each in (*folders, *names) if each.lower() == ".git"]:
            place = Path(root, name)
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
                folders.remove(name)
            else:
                place.unlink()


def remove_worktree(worktree: Worktree) -> None:
    """Take the files and the repository's note of them away; the branch stays."""
    shutil.rmtree(worktree.folder, ignore_errors=True)
    shutil.rmtree(worktree.git_dir, ignore_errors=True)


def remove_leftovers(repository: Path, below: Path) -> None:
    """Take away the worktrees of runs below a folder that a killed host left; none may be running.

    Raises:
        TaskRefused: it is no repository.
    """
    repository = repository.expanduser()
    common = Path(_git(repository, "rev-parse", "--git-common-dir").strip())
    for git_dir in (repository / common / "worktrees").glob("*"):
        try:
            pointer = Path((git_dir / "gitdir").read_text(encoding="utf-8").strip())
            locked = (git_dir / "locked").read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if locked == LOCKED and pointer.is_relative_to(below):
            shutil.rmtree(pointer.parent, ignore_errors=True)
            shutil.rmtree(git_dir, ignore_errors=True)


def _inside(worktree: Worktree, *words: str) -> str:
    options = (f"--git-dir={worktree.git_dir}", f"--work-tree={worktree.folder}")
    return _run((*options, *_SAFE, *words), cwd=worktree.folder)


def _git(repository: Path, *words: str) -> str:
    return _run((*_SAFE, *words), cwd=repository)


def _run(words: tuple[str, ...], *, cwd: Path) -> str:
    kept = ("PATH", "HOME", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(  # noqa: S603  (our own words)
            ("git", *words),  # noqa: S607  (the owner's git)
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise TaskRefused(
            TaskErrorCode.REPOSITORY,
            "The repository of this task could not be used. The owner has to look.",
        ) from error
    return done.stdout.decode("utf-8", "replace")
