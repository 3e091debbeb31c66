"""The Pythons of this machine, for what must be the same under each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 120


def run(python: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a Python with nothing of this one's environment but where to find programs."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "PYENV_ROOT") if key in os.environ}
    return subprocess.run(  # noqa: S603 - a Python found by name, fixed arguments
        [python, "-B", *arguments],
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_SECONDS,
        cwd=ROOT,
        env={**kept, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", **environment},
    )


@cache
def find_python(version: str) -> tuple[str, dict[str, str]] | None:
    """Find a Python by its name, also one that pyenv has but does not activate."""
    name = shutil.which(f"python{version}")
    if name is None:
        return None
    wanted = f"import sys; print('%d.%d' % sys.version_info[:2] == '{version}')"
    for environment in ({}, *({"PYENV_VERSION": each} for each in _pyenv_versions(version))):
        answer = run(name, "-c", wanted, **environment)
        if answer.returncode == 0 and answer.stdout == "True\n":
            return name, environment
    return None


def _pyenv_versions(version: str) -> list[str]:
    pyenv = shutil.which("pyenv")
    if pyenv is None:
        return []
    answer = subprocess.run(  # noqa: S603 - as above
        [pyenv, "whence", f"python{version}"],
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_SECONDS,
    )
    return answer.stdout.split()
