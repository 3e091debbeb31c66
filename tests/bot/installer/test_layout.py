"""Where an installation is: beside the checkout, or in the user's data folder."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bot.installer import layout as layouts
from support.installations import fill_environment, make_checkout


def test_checkout_has_its_environment_beside_it(tmp_path: Path) -> None:
    """A checkout keeps everything in its own .venv."""
    make_checkout(tmp_path)
    found = layouts.find_layout(tmp_path)
    assert found.checkout == tmp_path
    assert found.prefix == tmp_path / ".venv"
    assert found.locks == tmp_path / "config" / "locks"


def test_installed_package_uses_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a checkout pi and the model go to XDG_DATA_HOME, by version."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(layouts, "version", lambda: "9.8.7")
    found = layouts.find_layout(tmp_path / "site-packages")
    assert found.checkout is None
    assert found.prefix == tmp_path / "data" / "inglenook" / "9.8.7"


def test_relative_data_home_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The XDG specification has relative paths ignored."""
    monkeypatch.setenv("XDG_DATA_HOME", "somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert layouts.data_folder() == tmp_path / ".local" / "share" / "inglenook"


def test_lock_file_lies_outside_the_prefix(tmp_path: Path) -> None:
    """A cleared environment must not take the lock of the running set-up with it."""
    layout = make_checkout(tmp_path)
    assert layout.lock_file == tmp_path / ".venv.lock"


def test_site_packages_follow_the_python_that_is_there(tmp_path: Path) -> None:
    """No environment, no folder."""
    layout = make_checkout(tmp_path)
    assert layout.site_packages() is None
    assert fill_environment(layout) == layout.site_packages()


def test_running_inside(tmp_path: Path) -> None:
    """A process is inside when its own prefix is the environment's."""
    layout = make_checkout(tmp_path)
    assert not layout.is_running()
    assert replace(layout, prefix=Path(sys.prefix)).is_running()
