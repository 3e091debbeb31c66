"""Which box is tried, and that no other stands in for it."""

from __future__ import annotations

from pathlib import Path

import pytest

import sessions.boxes.docker
from sessions.boxes.choice import find_box
from sessions.boxes.settings import BoxKind, BoxMode, BoxSettings


def test_off_is_said_and_no_box_is_made(tmp_path: Path) -> None:
    """Issue "Box": unboxed only by the owner's own word."""
    report, box = find_box(BoxSettings(mode=BoxMode.OFF), None, tmp_path)
    assert (report.works, box) == (False, None)
    assert report.tools_allowed
    assert report.name == "off"


def test_one_kind_never_stands_in_for_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner asked for one; without it there is none, and no tools."""
    monkeypatch.setattr(sessions.boxes.docker, "SYSTEM_PATH", str(tmp_path))
    docker = BoxSettings(kind=BoxKind.DOCKER, image="hearth:1")
    report, box = find_box(docker, Path("/usr/bin/bwrap"), tmp_path)
    assert (box, report.tools_allowed, report.fault) == (None, False, "Docker is not installed")
    report, box = find_box(BoxSettings(), None, tmp_path)
    assert (box, report.tools_allowed, report.kind) == (None, False, BoxKind.BUBBLEWRAP)
