"""Plan and token hashes of a corpus, equal on every machine (TR "Browser determinism suite")."""

from __future__ import annotations

import json
import sys

import pytest

from support import plan_golden
from support.pythons import find_python, run

EXPECTED = (plan_golden.PLANS / "digest.txt").read_text(encoding="ascii")
VERSIONS = ("3.11", "3.12", "3.13")


def test_the_plans_are_the_golden_ones() -> None:
    expected = (plan_golden.PLANS / "plans.jsonl").read_text(encoding="ascii").splitlines()
    built = plan_golden.build()
    for now, then in zip(built["plans.jsonl"].splitlines(), expected, strict=True):
        assert json.loads(now) == json.loads(then)
    assert built["digest.txt"] == EXPECTED


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_plans_the_same(version: str) -> None:
    found = find_python(version)
    if found is None:
        pytest.skip(f"no Python {version} here")
    python, environment = found
    answer = run(python, "-W", "error", "-m", "support.plan_golden", **environment)
    assert (answer.stdout, answer.stderr) == (EXPECTED, "")


@pytest.mark.parametrize(
    ("seed", "locale"),
    [("0", "C"), ("1", "C.UTF-8"), ("4242", "de_DE.UTF-8"), ("31", "tr_TR.ISO-8859-9")],
)
def test_every_hash_seed_and_locale_plans_the_same(seed: str, locale: str) -> None:
    answer = run(
        sys.executable,
        "-m",
        "support.plan_golden",
        PYTHONHASHSEED=seed,
        LC_ALL=locale,
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
        TZ="Pacific/Auckland",
    )
    assert answer.stdout == EXPECTED


def test_planning_needs_nothing_but_the_standard_library() -> None:
    answer = run(sys.executable, "-S", "-m", "support.plan_golden")
    assert (answer.stdout, answer.stderr) == (EXPECTED, "")


def test_the_corpus_meets_both_ends_of_the_window() -> None:
    """Cases that fit, that give something up for tokens, and that are refused."""
    lines = [
        json.loads(line)
        for line in (plan_golden.PLANS / "plans.jsonl").read_text(encoding="ascii").splitlines()
    ]
    tight = [line for line in lines if line["window"] == "tight"]
    assert sum("error" not in line and line["excluded"] > 0 for line in tight) > 50
    assert sum(line.get("error") == "tokens_too_large" for line in tight) > 20
    plans = {line["plan"] for line in lines if "plan" in line}
    twice = 2  # one case has two names in the corpus, for each window
    assert len(plans) == sum("plan" in line for line in lines) - twice


def test_the_script_prints_the_digest(capsys: pytest.CaptureFixture[str]) -> None:
    plan_golden.main([])
    assert capsys.readouterr().out == EXPECTED
