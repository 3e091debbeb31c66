"""The benchmark runs, whatever its figures (speed itself is never a test)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from bot.bench.command import main

pytestmark = pytest.mark.timeout(900)
LIMIT_SECONDS = 600
"""Thirty times what the longest part takes on an idle machine."""


def test_the_pure_parts_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Compile, house rules and recall give figures with targets."""
    assert main(["--only", "pure", "--quick", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert {item["name"][0] for item in figures} >= {"d", "f", "g"}
    assert all(item["median"] > 0 for item in figures)


@pytest.mark.slow
def test_selection_of_notes_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Two sizes of the store, their ratio, and what the memory grew by."""
    assert main(["--only", "notes", "--quick", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert [item["unit"] for item in figures] == ["ms", "ms", "x", "MB"]
    assert all(item["median"] > 0 for item in figures[:3])


def measured(*options: str) -> list[dict[str, Any]]:
    """Run the benchmark as people do, in a process of its own."""
    command = [sys.executable, "-m", "bot.bench.command", *options, "--json"]
    ran = subprocess.run(  # noqa: S603  (our own module)
        command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    assert ran.returncode == 0, ran.stderr
    figures: list[dict[str, Any]] = json.loads(ran.stdout)["figures"]
    return figures


@pytest.mark.slow
def test_whole_turns_are_measured() -> None:
    """The real bot, pi and sockets, with the far end in a process of its own."""
    names = [item["name"] for item in measured("--only", "turns", "--turns", "3")]
    assert [name[0] for name in names] == ["a", "b"]


@pytest.mark.slow
def test_the_wire_is_measured() -> None:
    """The gateway against a direct call, and the embedded model's cache over some turns."""
    figures = {item["name"]: item for item in measured("--only", "wire", "--quick")}
    assert {name[0] for name in figures} == {"w"}
    assert figures["w  expected prefix not cached"]["high"] <= 5


@pytest.mark.slow
def test_a_judged_call_is_measured_against_one_that_nobody_judges() -> None:
    """Two real pis by turns; each call was carried out, or the benchmark breaks off."""
    free, judged, added = measured("--only", "governed", "--quick")
    assert {each["name"][0] for each in (free, judged, added)} == {"t"}
    assert added["target"] == 3.0


@pytest.mark.slow
def test_nothing_is_left_of_sessions_that_come_and_go() -> None:
    """P23: the whole bot with the real pi, which ends for the other conversation each time.

    In full, ``bench --only cycles`` does the same two hundred times.
    """
    processes, descriptors, took = measured("--only", "cycles", "--quick")
    assert processes["high"] == 0
    assert descriptors["high"] < 4, "fewer than one for each of them"
    assert took["unit"] == "ms"


@pytest.mark.slow
def test_a_year_is_measured() -> None:
    """Pages and commands over made-up rows, a real trace among them; a page that fails ends it."""
    told = measured("--only", "year", "--quick", "--year", "200")
    figures = {item["name"]: item for item in told}
    asked = [item for item in figures.values() if item["target"]]
    assert len(asked) > 15
    assert "y  page: a run with its turns" in figures
