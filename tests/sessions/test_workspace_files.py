"""Files of a workspace are read whole or refused; no link leads the host elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.workspace_files import (
    MAX_NAME_CHARS,
    FileFault,
    FileRefused,
    read_files,
    safe_name,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with the usual and the sly in it, and a secret outside."""
    made = tmp_path / "workspace"
    (made / "out").mkdir(parents=True)
    (made / "out" / "plan.md").write_bytes(b"the plan")
    (made / "empty").touch()
    (tmp_path / "secret").write_bytes(b"secret")
    (made / "link").symlink_to(tmp_path / "secret")
    (made / "folder").symlink_to(tmp_path)
    (made / "inner").symlink_to("out")
    os.mkfifo(made / "pipe")
    return made


def read(workspace: Path, *paths: str, max_bytes: int = 100) -> list[tuple[str, bytes]]:
    files = read_files(workspace, paths, max_files=2, max_bytes=max_bytes)
    return [(each.name, each.content) for each in files]


def test_files_are_read_by_the_path_that_the_model_knows(workspace: Path) -> None:
    plan = ("plan.md", b"the plan")
    assert read(workspace, "/workspace/out/plan.md", "out/./plan.md") == [plan, plan]


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/etc/passwd", FileFault.OUTSIDE),
        ("../secret", FileFault.OUTSIDE),
        ("/workspace/../secret", FileFault.OUTSIDE),
        ("out/../../secret", FileFault.OUTSIDE),
        ("", FileFault.OUTSIDE),
        ("/workspace", FileFault.OUTSIDE),
        ("link", FileFault.MISSING),
        ("folder/secret", FileFault.MISSING),
        ("inner/plan.md", FileFault.MISSING),
        ("none", FileFault.MISSING),
        ("out/plan.md/x", FileFault.MISSING),
        ("nul\0", FileFault.MISSING),
        ("pipe", FileFault.NO_FILE),
        ("out", FileFault.NO_FILE),
        ("empty", FileFault.EMPTY),
    ],
)
def test_what_is_no_file_of_its_own_is_refused(
    workspace: Path, path: str, fault: FileFault
) -> None:
    """Issue "Box": symbolic links at any part of the path, pipes, ways out."""
    with pytest.raises(FileRefused) as refused:
        read(workspace, path)
    assert refused.value.fault is fault


def test_counts_and_sizes_are_bounded(workspace: Path) -> None:
    """The size counts for all files of a message together, and none is cut to fit."""
    plan = "out/plan.md"
    assert len(read(workspace, plan, plan, max_bytes=16)) == 2
    for paths, room, fault in (
        ((plan, plan), 15, FileFault.TOO_LARGE),
        ((plan,), 7, FileFault.TOO_LARGE),
        ((plan, plan, plan), 100, FileFault.TOO_MANY),
    ):
        with pytest.raises(FileRefused) as refused:
            read(workspace, *paths, max_bytes=room)
        assert refused.value.fault is fault


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/workspace/out/plan.md", "plan.md"),
        ("out/plan/", "plan"),
        (".bashrc", "_bashrc"),
        ("..md", "_md"),
        ("a\u202eb<c>.md", "a_b_c_.md"),
        ("x" * 100 + ".md", "x" * 77 + ".md"),
        ("x" * 77 + ".md", "x" * 77 + ".md"),
        ("x" * 81, "x" * 80),
        ("x." + "y" * 78, "x." + "y" * 78),
        ("x." + "y" * 79, "_" + "y" * 79),
        ("x." + "y" * 90, "y" * 80),
        ("", "file"),
        ("///", "file"),
    ],
)
def test_a_name_is_cut_before_its_ending(path: str, name: str) -> None:
    """The ending tells what a file is; whatever is cut, no name begins with a dot."""
    assert safe_name(path) == name
    assert len(name) <= MAX_NAME_CHARS == 80


@given(st.text(max_size=200))
def test_names_are_harmless(path: str) -> None:
    """No way, no hidden file, nothing that turns text around; never too long, never empty."""
    name = safe_name(path)
    assert 0 < len(name) <= MAX_NAME_CHARS
    assert not name.startswith(".")
    assert not set(name) & set("/\\\0\n\r\"'`<>\u202e")
