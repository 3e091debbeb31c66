"""The command line: parsing, help, exit codes, and imports kept for when they are needed."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli import COMMANDS, main
from bot.shell.arguments import build_parser

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["doctor", "--help"],
        ["runs", "--help"],
        *(["runs", action, "--help"] for action in ("ls", "show", "context", "diff", "verify")),
    ],
)
def test_every_command_explains_itself(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "usage:" in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["run", "--port", "0"],
        ["run", "--port", "70000"],
        ["run", "extra"],
        ["runs"],
        ["runs", "show"],
        ["runs", "show", "x", "-1"],
        ["runs", "ls", "--limit", "0"],
    ],
)
def test_a_wrong_call_is_told_on_stderr(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage:" in captured.err


def test_without_a_command_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out = capsys.readouterr().out
    assert all(name in out for name in ("run", "doctor", "runs", "bench", "test", "setup"))


def commands_of(parser: argparse.ArgumentParser) -> set[str]:
    """What the parser gives as ``command``, over all commands and actions."""
    found = {parser.get_default("command")}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {name for each in action.choices.values() for name in commands_of(each)}
    return found - {None}


def test_every_command_has_what_runs_it() -> None:
    """What can be typed can be run, and nothing runs that cannot be typed."""
    assert commands_of(build_parser()) == set(COMMANDS)


def test_options_are_parsed() -> None:
    options = build_parser().parse_args(["runs", "context", "abcd", "3", "--all", "--json"])
    assert (options.action, options.run, options.turn) == ("context", "abcd", 3)
    assert options.all
    assert options.json


def test_bench_keeps_its_own_options(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    class Bench:
        @staticmethod
        def main(arguments: list[str]) -> int:
            seen.append(arguments)
            return 7

    monkeypatch.setitem(sys.modules, "bot.bench", Bench)
    assert main(["bench", "--turns", "5"]) == 7
    assert seen == [["--turns", "5"]]


@pytest.mark.parametrize(
    ("arguments", "kept_out"),
    [
        (["--help"], ["discord", "aiohttp", "structlog", "aiosqlite", "rich"]),
        (["runs", "ls"], ["discord", "aiohttp", "xllamacpp"]),
    ],
)
def test_a_light_command_imports_nothing_heavy(
    tmp_path: Path, arguments: list[str], kept_out: list[str]
) -> None:
    """``runs ls`` must be quick."""
    more = ["--home", str(tmp_path)] if arguments[0] == "runs" else []
    code = (
        "import sys; from bot.cli import COMMANDS, main; main(sys.argv[1:]); "
        f"print([name for name in {kept_out!r} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run(  # noqa: S603  (our own code)
        [sys.executable, "-c", code, *arguments, *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ended.stderr.strip() == "[]"


def test_an_interrupted_command_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("bot.shell.runs_command.main", interrupted)
    assert main(["runs", "ls"]) == 130
