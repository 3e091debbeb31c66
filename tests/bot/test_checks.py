"""The `test` command: what it runs, what it shows, how it ends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from bot import checks
from bot.checks import Check, Result

if TYPE_CHECKING:
    from pathlib import Path


def pytest_command(*argv: str, cores: int = 2) -> tuple[str, ...]:
    return checks.plan(argv, cores=cores)[-1].command


def test_every_check_runs() -> None:
    """Without arguments nothing is left out."""
    names = [check.name for check in checks.plan([], cores=2)]
    assert names == ["ruff check", "ruff format", "import contracts", "mypy", "pytest"]


@pytest.mark.parametrize(("cores", "workers"), [(1, "2"), (2, "3"), (3, "4"), (64, "4")])
def test_workers_follow_the_cores(cores: int, workers: str) -> None:
    """At least two, so that waiting tests do not hold up the rest; at most four."""
    command = pytest_command(cores=cores)
    assert command[command.index("-n") + 1] == workers


def test_quick_leaves_out_what_is_slow() -> None:
    """--quick is ours; pytest never sees the word."""
    command = pytest_command("--quick")
    assert checks.QUICK_MARKS in command
    assert "--quick" not in command


def test_named_tests_run_alone() -> None:
    """Naming a test means this test: one process, no other checks."""
    (check,) = checks.plan(["tests/bot/test_checks.py", "-x"], cores=2)
    assert check.command[-2:] == ("tests/bot/test_checks.py", "-x")
    assert "-n" not in check.command


def test_arguments_after_the_dashes_go_to_pytest() -> None:
    """Also those that look like options of ours would."""
    assert pytest_command("--", "-k", "name")[-2:] == ("-k", "name")
    assert len(checks.plan(["--", "-k", "name"], cores=2)) > 1


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "=== 8 passed, 2 skipped in 81.40s (0:01:21) ===",
            "8 passed, 2 skipped in 81.40s (0:01:21)",
        ),
        ("\x1b[31m== \x1b[31m1 failed\x1b[0m, 3 passed in 2.00s ==", "1 failed, 3 passed in 2.00s"),
        ("5 passed in 0.10s", "5 passed in 0.10s"),
        ("nothing of the kind", ""),
    ],
)
def test_closing_line(line: str, found: str) -> None:
    """pytest's own last line stands in the table, without frame and colour."""
    assert checks.closing_line(f"tests ...\n{line}\n") == found


def test_table_names_each_check() -> None:
    """One line a check, and a verdict that counts."""
    shown = checks.table(
        [
            Result(name="ruff check", exit_code=0, seconds=0.41),
            Result(name="pytest", exit_code=1, seconds=181.4, note="1 failed in 181.40s"),
        ]
    )
    assert shown.splitlines()[1:] == [
        "  ruff check  passed      0.4 s",
        "  pytest      FAILED    181.4 s  1 failed in 181.40s",
        "",
        "1 of 2 checks failed.",
    ]


def test_environment_of_the_persons_bot_stays_outside() -> None:
    """No test ever sees a real token, key or home."""
    clean = checks.clean_environment(
        {
            "DISCORD_TOKEN": "x",
            "INGLENOOK_HOME": "x",
            "OPENAI_API_KEY": "x",
            "PYTEST_ADDOPTS": "x",
            "PATH": "/bin",
            "CI": "true",
        }
    )
    assert clean == {"PATH": "/bin", "CI": "true"}


def test_what_was_compiled_is_kept() -> None:
    """Else each Python that a test starts compiles the whole bot, a second every time."""
    assert checks.clean_environment({"PYTHONDONTWRITEBYTECODE": "1", "HOME": "/"}) == {"HOME": "/"}


def test_checks_run_in_the_clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The check's own process does not have the token."""
    code = "import os; raise SystemExit('DISCORD_TOKEN' in os.environ)"
    (tmp_path / "tests").mkdir()
    monkeypatch.setenv("DISCORD_TOKEN", "x")
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    planned = (Check(name="look", command=(sys.executable, "-c", code)),)
    monkeypatch.setattr(checks, "plan", lambda _argv, **_: planned)
    assert checks.main([]) == 0


def run_main(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *codes: int) -> int:
    program = "print('{} in 1.0s' if {} else 'hidden'); raise SystemExit({})"
    planned = tuple(
        Check(
            name=f"check {place}",
            command=(sys.executable, "-c", program.format("1 passed", code == 3, code)),
            streams=code == 3,
        )
        for place, code in enumerate(codes)
    )
    (tmp_path / "tests").mkdir(exist_ok=True)
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setattr(checks, "plan", lambda _argv, **_: planned)
    return checks.main([])


def test_all_passed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check that passes takes one line and shows no output."""
    assert run_main(monkeypatch, tmp_path, 0, 0) == 0
    shown = capsys.readouterr().out
    assert "hidden" not in shown
    assert shown.endswith("All checks passed.\n")


def test_one_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One failure fails the whole; its output is shown, and the others still run."""
    assert run_main(monkeypatch, tmp_path, 1, 0) == 1
    shown = capsys.readouterr().out
    assert shown.count("hidden") == 1
    assert "check 1" in shown


def test_streamed_output_and_its_note(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """pytest's lines are shown as they come, and its closing line again in the table."""
    assert run_main(monkeypatch, tmp_path, 3) == 1
    assert capsys.readouterr().out.count("1 passed in 1.0s") == 2


def test_installed_package_has_no_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a checkout the command says where the tests are."""
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    assert checks.main([]) == 2
    assert "checkout" in capsys.readouterr().err
