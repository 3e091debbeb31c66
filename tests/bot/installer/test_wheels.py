"""Damaged packages are found by their own RECORD and forgotten, so that pip brings them back."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.installer import wheels
from support.installations import add_package, write


def test_whole_package_stays(tmp_path: Path) -> None:
    """A package with all of its files is left alone."""
    info = add_package(tmp_path, "fine", files={"fine/__init__.py": "x = 1\n"})
    assert wheels.forget_damaged(tmp_path) == ()
    assert info.is_dir()


@pytest.mark.parametrize("damage", ["missing", "truncated", "no record", "no metadata", "garbage"])
def test_damaged_package_is_forgotten(tmp_path: Path, damage: str) -> None:
    """Half a package must not pass for an installed one."""
    info = add_package(tmp_path, "hurt", files={"hurt/__init__.py": "x = 1\n"})
    match damage:
        case "missing":
            (tmp_path / "hurt" / "__init__.py").unlink()
        case "truncated":
            (tmp_path / "hurt" / "__init__.py").write_text("x", encoding="utf-8")
        case "no record":
            (info / "RECORD").unlink()
        case "no metadata":
            (info / "METADATA").unlink()
        case _:
            (info / "RECORD").write_bytes(b"\xff\xfe\x00,,x")
    assert wheels.forget_damaged(tmp_path) == ("hurt",)
    assert not info.exists()


def test_missing_bytecode_is_no_damage(tmp_path: Path) -> None:
    """Bytecode is made again by itself."""
    add_package(tmp_path, "fine", files={"fine/__pycache__/x.pyc": "code"})
    (tmp_path / "fine" / "__pycache__" / "x.pyc").unlink()
    assert wheels.forget_damaged(tmp_path) == ()


def test_what_pip_moved_aside_is_removed(tmp_path: Path) -> None:
    """An interrupted pip leaves folders that it would warn about for ever."""
    write(tmp_path / "~iscord" / "x.py")
    wheels.forget_damaged(tmp_path)
    assert not (tmp_path / "~iscord").exists()
