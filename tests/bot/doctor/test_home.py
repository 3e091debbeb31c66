"""The home's permissions, settings, imps and database."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.doctor.home import (
    check_database,
    check_imps,
    check_keys,
    check_meaning,
    check_permissions,
    check_telemetry,
    judge_settings,
)
from bot.doctor.results import Verdict
from bot.telemetry import sink
from config.homedir import ensure_home
from config.problems import Problem
from config.settings import ChannelOverlay, Settings, TelemetrySettings
from sessions.limits import MemorySettings
from sessions.memory import semantic
from sessions.store.key_fault import KEYS_FILE
from support.memory_world import by_hand, dm, memory_in
from support.recorded_runs import RUN, record_run
from support.session_world import BOUND_SECONDS


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    ensure_home(path)
    return path


def test_a_fresh_home_is_private(home: Path) -> None:
    assert check_permissions(home).verdict is Verdict.OK


def test_a_home_that_is_not_there_is_a_remark(tmp_path: Path) -> None:
    check = check_permissions(tmp_path / "none")
    assert check.verdict is Verdict.WARN
    assert "python3 -m bot run" in check.advice


def test_an_open_home_fails_and_says_how_to_close_it(home: Path) -> None:
    home.chmod(0o755)
    check = check_permissions(home)
    assert check.verdict is Verdict.FAIL
    assert "mode 0755" in check.summary
    assert check.advice == f"Close it: chmod -R go= {home}"


async def test_open_files_inside_are_a_remark(home: Path) -> None:
    await record_run(home)
    assert check_permissions(home).verdict is Verdict.OK
    trace = home / "runs" / RUN / "context.jsonl"
    trace.chmod(0o644)
    check = check_permissions(home)
    assert check.verdict is Verdict.WARN
    assert f"runs/{RUN}/context.jsonl" in check.summary


def test_settings_in_order() -> None:
    assert judge_settings(()).verdict is Verdict.OK


def test_all_problems_of_the_settings_are_told() -> None:
    problems = tuple(
        Problem(file="org.toml", line=line, key="k", message="is wrong") for line in range(12)
    )
    check = judge_settings(problems)
    assert check.verdict is Verdict.FAIL
    assert check.summary.startswith("12 problems\n• org.toml, line 0: k is wrong.")
    assert check.summary.endswith("• and 2 more")


def test_each_imp_that_answers_somewhere_is_looked_at(home: Path) -> None:
    (home / "imps" / "coal").mkdir()
    (home / "imps" / "coal" / "charter.md").write_text("# Coal\n")
    settings = Settings.model_validate({"channels": {"5": {"imp": "coal"}}})
    checks = check_imps(home, settings, [ChannelOverlay(imp="ash")])
    assert {check.name: check.verdict for check in checks} == {
        "Imp ash": Verdict.FAIL,
        "Imp coal": Verdict.OK,
        "Imp ember": Verdict.OK,
    }


def test_an_identity_that_is_no_text(home: Path) -> None:
    (home / "imps/ember/identity.md").write_bytes(b"\xff\xfe")
    [check] = check_imps(home, Settings())
    assert check.verdict is Verdict.FAIL
    assert "cannot be read" in check.summary


def test_an_identity_without_a_word(home: Path) -> None:
    """An imp that is nobody is no imp: the next start would refuse it."""
    (home / "imps/ember/identity.md").write_text(" \n")
    [check] = check_imps(home, Settings())
    assert check.verdict is Verdict.FAIL
    assert "is empty" in check.summary


def test_no_imps_before_there_is_a_home(tmp_path: Path) -> None:
    assert check_imps(tmp_path / "none", Settings()) == ()


async def test_a_missing_database_is_well(home: Path) -> None:
    assert (await check_database(home, patience_seconds=BOUND_SECONDS)).verdict is Verdict.OK


async def test_a_sound_database(home: Path) -> None:
    await record_run(home)
    assert (await check_database(home, patience_seconds=BOUND_SECONDS)).summary == "sound"


async def test_a_broken_database_has_a_plain_remedy(home: Path) -> None:
    """P24: a broken file is named with a remedy."""
    (home / "inglenook.db").write_bytes(b"no database" * 500)
    check = await check_database(home, patience_seconds=BOUND_SECONDS)
    assert check.verdict is Verdict.FAIL
    assert "restore" in check.advice


async def test_an_emptied_database_is_a_broken_one(home: Path) -> None:
    """P24: where runs were, an empty file is what a full disk or a broken copy left; where none
    was, a first start was broken off, and the next one fills it."""
    (home / "inglenook.db").touch()
    assert (await check_database(home, patience_seconds=BOUND_SECONDS)).verdict is Verdict.OK
    (home / "runs" / "2026-11-29-10-00-00-abcd").mkdir(parents=True)
    check = await check_database(home, patience_seconds=BOUND_SECONDS)
    assert check.verdict is Verdict.FAIL
    assert "restore" in check.advice


async def test_lost_keys_of_notes_are_told(home: Path) -> None:
    """A locked memory is a fault of the home; a home without notes has none to open."""
    assert await check_keys(home, patience_seconds=BOUND_SECONDS) == ()
    async with memory_in(home) as memory:
        await memory.service.remember(by_hand(dm()), "Bo likes tea", explicit=True)
        assert await check_keys(home, patience_seconds=BOUND_SECONDS) == ()
    (home / KEYS_FILE).rename(home / "moved")
    (check,) = await check_keys(home, patience_seconds=BOUND_SECONDS)
    assert check.verdict is Verdict.FAIL
    assert "missing" in check.summary
    assert "Bring it back" in check.advice
    assert "/memory forget note:lost" in check.advice


def test_a_missing_model_of_meaning_is_told_where_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """[memory] semantic = "local" without its package: a warning that says what to run."""
    monkeypatch.setattr(semantic, "PACKAGE", "no_such_package_here")
    assert check_meaning(MemorySettings()) == ()
    (check,) = check_meaning(MemorySettings(semantic="local"))
    assert check.verdict is Verdict.WARN
    assert "setup --semantic" in check.advice
    monkeypatch.setattr(semantic, "PACKAGE", "json")
    assert check_meaning(MemorySettings(semantic="local")) == ()


def test_a_missing_sdk_is_told_where_spans_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """[telemetry] enabled without its SDK: a warning that says what to run, and no silence."""
    monkeypatch.setattr(sink, "EXPORTER", "no_such_package_here.exporter")
    assert check_telemetry(TelemetrySettings()) == ()
    (check,) = check_telemetry(TelemetrySettings(enabled=True))
    assert check.verdict is Verdict.WARN
    assert "setup --telemetry" in check.advice
    monkeypatch.setattr(sink, "EXPORTER", "json.decoder")
    assert check_telemetry(TelemetrySettings(enabled=True)) == ()
