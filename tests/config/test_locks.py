"""The lock files: everything pinned by hash, and no registry's address anywhere."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "config" / "locks"
REQUIREMENT_FILES = sorted(LOCKS.glob("*.txt"))
PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)", re.MULTILINE)


def pins(file: Path) -> dict[str, str]:
    """Return name -> version of a requirements file."""
    found = PINNED.finditer(file.read_text(encoding="utf-8"))
    return {canonical(match["name"]): match["version"] for match in found}


def canonical(name: str) -> str:
    """Return a package's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def without_funding(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Leave out the one place where npm's lock names pages of people."""
    if isinstance(value, dict):
        return {k: without_funding(v) for k, v in value.items() if k != "funding"}
    return [without_funding(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("file", REQUIREMENT_FILES, ids=lambda f: f.name)
def test_each_requirement_has_hashes(file: Path) -> None:
    """Between a pin and the next there is at least one SHA-256, and nothing is left unpinned."""
    text = file.read_text(encoding="utf-8")
    for entry in re.split(r"\n(?=\S)", text.strip()):
        assert PINNED.match(entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry


@pytest.mark.parametrize(
    "file",
    [*sorted(LOCKS.glob("*.txt")), *sorted(LOCKS.glob("*.in")), LOCKS / "pi" / ".npmrc",
     LOCKS / "pi" / "package.json", ROOT / "pyproject.toml"],
    ids=lambda f: f.name,
)  # fmt: skip
def test_no_address(file: Path) -> None:
    """pip's and npm's own configuration decide where packages come from."""
    text = file.read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"(?i)index-url|find-links|\bregistry\s*=", text)


def test_no_address_in_the_lock_of_pi() -> None:
    """npm's lock keeps each integrity and no place to fetch from."""
    lock = json.loads((LOCKS / "pi" / "package-lock.json").read_bytes())
    assert "://" not in json.dumps(without_funding(lock))
    for place, package in lock["packages"].items():
        assert "resolved" not in package
        assert not place or package["integrity"].startswith("sha512-"), place


def test_no_address_in_the_installer() -> None:
    """Nor does the code that installs name one."""
    for file in [ROOT / "bot" / "bootstrap.py", *(ROOT / "bot" / "installer").glob("*.py")]:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"https?://|pypi\.org|npmjs", text), file.name


def test_checks_use_the_same_packages_as_the_bot() -> None:
    """What is tested is what runs: the lock for the checks holds the other one whole."""
    runtime = pins(LOCKS / "runtime.txt")
    checks = pins(LOCKS / "dev.txt")
    assert runtime.items() <= checks.items()


@pytest.mark.parametrize(
    "name", ["runtime", "dev", "model", "semantic", "telemetry", "libomp", "pip"]
)
def test_sources_agree_with_their_locks(name: str) -> None:
    """A version that is asked for is the one that is pinned."""
    locked = pins(LOCKS / f"{name}.txt")
    for asked, version in pins(LOCKS / f"{name}.in").items():
        assert locked[asked] == version


def test_what_telemetry_brings_is_what_the_bot_runs_with() -> None:
    """It is put into the same environment, and must change nothing there."""
    runtime, brought = pins(LOCKS / "runtime.txt"), pins(LOCKS / "telemetry.txt")
    shared = runtime.keys() & brought.keys()
    assert shared
    assert {name: brought[name] for name in shared} == {name: runtime[name] for name in shared}


def test_each_dependency_of_the_package_is_pinned() -> None:
    """`pip install .` asks for nothing that the lock does not know."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {canonical(re.split(r"[<>=;~ ]", asked)[0]) for asked in project["dependencies"]}
    assert names <= pins(LOCKS / "runtime.txt").keys()


def test_locks_are_part_of_the_package() -> None:
    """Also the file whose name begins with a dot."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = set(data["tool"]["setuptools"]["package-data"]["*"])
    assert {"*.txt", "*.json", ".npmrc"} <= patterns
