"""Same sources, same bytes: under every Python, hash seed and locale (CC "Determinism")."""

from __future__ import annotations

import sys

import pytest

from compiler.templates import SCHEMA_VERSION
from support.compiler_golden import FOLDER
from support.pythons import find_python, run

EXPECTED = (FOLDER / f"v{SCHEMA_VERSION}" / "digest.txt").read_text(encoding="ascii")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_compiles_the_same_bytes(version: str) -> None:
    found = find_python(version)
    if found is None:
        pytest.skip(f"no Python {version} here")
    python, environment = found
    answer = run(python, "-W", "error", "-m", "support.compiler_golden", **environment)
    assert (answer.stdout, answer.stderr) == (EXPECTED, "")


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_every_hash_seed_compiles_the_same_bytes(seed: str) -> None:
    answer = run(sys.executable, "-m", "support.compiler_golden", PYTHONHASHSEED=seed)
    assert answer.stdout == EXPECTED


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "de_DE.UTF-8", "tr_TR.ISO-8859-9"])
@pytest.mark.parametrize("utf8", ["0", "1"])
def test_every_locale_compiles_the_same_bytes(locale: str, utf8: str) -> None:
    """Also with the interpreter's own UTF-8 mode off."""
    answer = run(
        sys.executable,
        "-m",
        "support.compiler_golden",
        LC_ALL=locale,
        LANG=locale,
        PYTHONUTF8=utf8,
        PYTHONCOERCECLOCALE="0",
        TZ="Pacific/Auckland",
    )
    assert answer.stdout == EXPECTED


def test_the_compiler_needs_nothing_but_the_standard_library() -> None:
    """Isolated from every installed package, it still compiles."""
    answer = run(sys.executable, "-S", "-m", "support.compiler_golden")
    assert (answer.stdout, answer.stderr) == (EXPECTED, "")
