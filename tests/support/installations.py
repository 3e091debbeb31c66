"""Installations made of empty files, and a runner that only notes what it was asked to run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from bot.installer.layout import Layout
from bot.installer.runner import Finished, Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FINE = Finished(exit_code=0, output="")


class NotingRunner(Runner):
    """Runs nothing: notes each command, calls ``act`` and returns what it says."""

    def __init__(self, act: Callable[[Sequence[str], Path | None], Finished | None]) -> None:
        super().__init__(on_line=lambda _: None)
        self._act = act
        self.commands: list[str] = []
        self.environments: list[Mapping[str, str]] = []

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        self.commands.append(" ".join(command))
        self.environments.append(env or {})
        return self._act(command, cwd) or FINE

    def ran(self, part: str) -> bool:
        """Tell whether some command held ``part``."""
        return any(part in command for command in self.commands)


def write(file: Path, text: str = "") -> Path:
    """Write a file and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def make_checkout(root: Path) -> Layout:
    """Make a checkout with locks and no environment."""
    write(root / "pyproject.toml")
    locks = root / "config" / "locks"
    for name in (
        "runtime.txt",
        "dev.txt",
        "model.txt",
        "semantic.txt",
        "telemetry.txt",
        "libomp.txt",
    ):
        write(locks / name, f"{name}\n")
    write(locks / "pip.txt", f"pip==26.3 \\\n    --hash=sha256:{'a' * 64}\n")
    write(locks / "pi" / ".npmrc", "ignore-scripts=true\n")
    write(locks / "pi" / "package.json", "{}")
    lock = {"packages": {"": {}, "node_modules/@scope/one": {"integrity": "sha512-x"}}}
    write(locks / "pi" / "package-lock.json", json.dumps(lock))
    return Layout(checkout=root, prefix=root / ".venv", locks=locks)


def fill_environment(layout: Layout) -> Path:
    """Make what venv would make; return the site-packages folder."""
    site = layout.prefix / "lib" / "python3.11" / "site-packages"
    write(layout.prefix / "pyvenv.cfg")
    write(layout.python)
    write(site / "pip" / "__main__.py")
    return site


def fill_pi(folder: Path, *, integrity: str = "sha512-x") -> None:
    """Make what npm would make of the lock of ``make_checkout``."""
    place = "node_modules/@scope/one"
    write(folder / place / "package.json", "{}")
    done = {"packages": {place: {"integrity": integrity}}}
    write(folder / "node_modules" / ".package-lock.json", json.dumps(done))
    cli = Path("node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js")
    write(folder / cli)


def add_package(site: Path, name: str, *, files: Mapping[str, str]) -> Path:
    """Add a package with a true RECORD; return its ``.dist-info`` folder."""
    info = site / f"{name}-1.0.dist-info"
    rows = [f"{file},sha256=x,{len(text.encode())}" for file, text in files.items()]
    for file, text in files.items():
        write(site / file, text)
    write(info / "METADATA", "Name: x\n")
    write(info / "RECORD", "\n".join([*rows, f"{info.name}/RECORD,,"]))
    return info
