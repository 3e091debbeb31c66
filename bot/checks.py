"""`python3 -m bot test`: every check of the project, and a table of how each ended.

A check that passes takes one line; one that fails shows its output. pytest writes as it goes,
and its closing line stands in the table. ``plan`` decides what runs, ``main`` runs it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.help_texts import TEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent

MAX_WORKERS = 4
"""More test processes than this disturb each other's timing without saving time. Up to it there is
one more than cores, since tests wait as often as they compute."""

QUICK_MARKS = "not slow and not browser"
NO_TESTS = "The tests are in the checkout only: git clone it, and run python3 -m bot test there."
LEAKS = re.compile(r"^(?:INGLENOOK_|DISCORD_|PYTEST_|[A-Z0-9_]+_API_KEY$)")
"""Variables of the person's own bot: a test must never see a real token or home."""
UNCOMPILED = "PYTHONDONTWRITEBYTECODE"
"""With it every test that starts a Python would have it compile the whole bot anew."""

CLOSING_LINE = re.compile(r"^=*\s*(\d+ \w+.*? in [\d.]+s.*?)\s*=*$")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One program to run from the root of the checkout."""

    name: str
    command: tuple[str, ...]
    streams: bool = False
    """Its output is shown as it comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a check ended."""

    name: str
    exit_code: int
    seconds: float
    note: str = ""


def main(argv: Sequence[str]) -> int:
    """Run the checks; return 0 only when each of them passed."""
    if not (ROOT / "tests").is_dir():
        sys.stderr.write(f"{NO_TESTS}\n")
        return 2
    results = [_run(check) for check in plan(argv, cores=os.cpu_count() or 1)]
    sys.stdout.write(table(results))
    return 1 if any(result.exit_code for result in results) else 0


def plan(argv: Sequence[str], *, cores: int) -> tuple[Check, ...]:
    """Return the checks of one call.

    Naming tests means just these, without the other checks and in one process.
    """
    options = _parse(argv)
    python = sys.executable
    named = any(argument.startswith("tests") for argument in options.pytest)
    marks = ("-m", QUICK_MARKS) if options.quick else ()
    workers = () if named else ("-n", str(min(cores + 1, MAX_WORKERS)), "--dist", "worksteal")
    colour = ("--color=yes",) if sys.stdout.isatty() else ()
    pytest = Check(
        name="pytest",
        command=(python, "-m", "pytest", *workers, *marks, *colour, *options.pytest),
        streams=True,
    )
    if named:
        return (pytest,)
    scripts = Path(python).parent
    return (
        Check(name="ruff check", command=(python, "-m", "ruff", "check", ".")),
        Check(name="ruff format", command=(python, "-m", "ruff", "format", "--check", ".")),
        Check(name="import contracts", command=(str(scripts / "lint-imports"), "--no-cache")),
        Check(name="mypy", command=(python, "-m", "mypy")),
        pytest,
    )


def closing_line(output: str) -> str:
    """Return pytest's closing line without its frame, or an empty string."""
    for line in reversed(COLOUR.sub("", output).splitlines()):
        found = CLOSING_LINE.match(line.strip())
        if found:
            return found[1]
    return ""


def table(results: Sequence[Result]) -> str:
    """Render one line a check."""
    width = max(len(result.name) for result in results)
    lines = [
        f"  {result.name:<{width}}  {'FAILED' if result.exit_code else 'passed'}"
        f"  {result.seconds:7.1f} s  {result.note}".rstrip()
        for result in results
    ]
    failed = sum(1 for result in results if result.exit_code)
    verdict = f"{failed} of {len(results)} checks failed." if failed else "All checks passed."
    return "\n".join(["", *lines, "", verdict, ""])


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what belongs to the person's own bot or slows tests down."""
    return {
        name: value
        for name, value in environ.items()
        if not LEAKS.match(name) and name != UNCOMPILED
    }


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m bot test",
        description=TEST,
        epilog="Everything else goes to pytest, such as tests/compiler or -- -k name.",
        allow_abbrev=False,
    )
    parser.add_argument("--quick", action="store_true", help="leave out slow and browser tests")
    options, rest = parser.parse_known_args([a for a in argv if a != "--"])
    options.pytest = tuple(rest)
    return options


def _run(check: Check) -> Result:
    began = time.monotonic()
    sys.stdout.write(f"{check.name} ...{chr(10) if check.streams else ' '}")
    sys.stdout.flush()
    code, output = _call(check)
    seconds = time.monotonic() - began
    if not check.streams:
        sys.stdout.write(f"{'FAILED' if code else 'passed'} ({seconds:.1f} s)\n")
        sys.stdout.write(output if code else "")
    sys.stdout.flush()
    note = closing_line(output) if check.streams else ""
    return Result(name=check.name, exit_code=code, seconds=seconds, note=note)


def _call(check: Check) -> tuple[int, str]:
    lines = []
    with subprocess.Popen(  # noqa: S603 - commands are ours
        check.command,
        cwd=ROOT,
        env=clean_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            lines.append(line)
            if check.streams:
                sys.stdout.write(line)
                sys.stdout.flush()
    return process.returncode, "".join(lines)
