"""A stamp says that a step was finished, and notices what changed since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.installer import stamps
from support.installations import write


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment with two packages and one big file."""
    write(tmp_path / "site" / "one" / "__init__.py")
    write(tmp_path / "site" / "two.py")
    write(tmp_path / "weights", "heavy")
    return tmp_path


def take(prefix: Path) -> stamps.Stamp:
    return stamps.take(prefix, lock="abc", folders=[prefix / "site"], files=[prefix / "weights"])


def test_finished_step_stands(prefix: Path) -> None:
    """What was written is read back, and stands while nothing changes."""
    file = prefix / "stamps" / "x.json"
    stamps.write(file, take(prefix))
    assert stamps.read(file) == take(prefix)
    assert stamps.stands(prefix, stamps.read(file), lock="abc")
    assert [left.name for left in file.parent.iterdir()] == ["x.json"]


def test_other_lock(prefix: Path) -> None:
    """A changed lock file means the step is to be done again."""
    assert not stamps.stands(prefix, take(prefix), lock="other")


def test_no_stamp(prefix: Path) -> None:
    """A step without a stamp was never finished."""
    assert not stamps.stands(prefix, stamps.read(prefix / "none.json"), lock="abc")


def test_deleted_name_is_noticed(prefix: Path) -> None:
    """A package that was deleted by hand is missed."""
    stamp = take(prefix)
    (prefix / "site" / "two.py").unlink()
    assert not stamps.stands(prefix, stamp, lock="abc")


def test_deleted_folder_is_noticed(prefix: Path) -> None:
    """A missing folder is no error, just a step that no longer stands."""
    stamp = take(prefix)
    (prefix / "site").rename(prefix / "elsewhere")
    assert not stamps.stands(prefix, stamp, lock="abc")


@pytest.mark.parametrize("change", ["shorter", "touched", "gone"])
def test_changed_file_is_noticed(prefix: Path, change: str) -> None:
    """A watched file keeps its size and time."""
    stamp = take(prefix)
    weights = prefix / "weights"
    if change == "shorter":
        facts = weights.stat()
        weights.write_text("h", encoding="utf-8")
        os.utime(weights, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    elif change == "touched":
        os.utime(weights, ns=(1, 1))
    else:
        weights.unlink()
    assert not stamps.stands(prefix, stamp, lock="abc")


def test_more_names_and_passing_names_are_no_fault(prefix: Path) -> None:
    """Bytecode comes and goes, and the person may install more."""
    write(prefix / "site" / "__pycache__" / "two.pyc")
    stamp = take(prefix)
    (prefix / "site" / "__pycache__" / "two.pyc").unlink()
    (prefix / "site" / "__pycache__").rmdir()
    write(prefix / "site" / "three.py")
    assert stamps.stands(prefix, stamp, lock="abc")


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "null", '{"form": 0}', '{"form": 1, "lock": "abc"}', "\x00\xff"],
)
def test_damaged_stamp_counts_as_none(tmp_path: Path, body: str) -> None:
    """Whatever stands in the file, reading it never raises."""
    assert stamps.read(write(tmp_path / "x.json", body)) is None


def test_broken_off_write_leaves_the_old_stamp(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stamp appears in one piece or not at all."""
    file = prefix / "x.json"
    stamps.write(file, take(prefix))
    before = file.read_bytes()

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        stamps.write(file, take(prefix))
    assert file.read_bytes() == before


def test_hash_covers_names_and_borders(tmp_path: Path) -> None:
    """Moving bytes from one lock to the next changes the hash."""
    one, two = write(tmp_path / "a", "xy"), write(tmp_path / "b", "z")
    before = stamps.hash_files([one, two])
    one.write_text("x", encoding="utf-8")
    two.write_text("yz", encoding="utf-8")
    assert stamps.hash_files([one, two]) != before
