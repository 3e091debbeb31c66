"""Installers run as real processes: their output, their end, their time limit."""

from __future__ import annotations

import os
import sys

import pytest

from bot.installer.faults import DISK_FULL, SetupFailedError
from bot.installer.runner import KEPT_LINES, Runner


def make(
    *, limit_seconds: float = 60.0, held_fds: tuple[int, ...] = ()
) -> tuple[Runner, list[str]]:
    lines: list[str] = []
    runner = Runner(on_line=lines.append, held_fds=held_fds, limit_seconds=limit_seconds)
    return runner, lines


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-c", code]


def test_both_streams_reach_the_listener() -> None:
    """pip warns on stderr and reports on stdout; both explain a failure."""
    runner, lines = make()
    runner.check(python("import sys; print('out', flush=True); print('err', file=sys.stderr)"))
    assert sorted(lines) == ["err", "out"]


def test_failure_is_explained() -> None:
    """A failed installer raises a sentence, not its output."""
    runner, _ = make()
    with pytest.raises(SetupFailedError) as caught:
        runner.check(python("import sys; sys.exit('No space left on device')"))
    assert caught.value.line == DISK_FULL


def test_missing_program() -> None:
    """A program that is not there is a failed set-up."""
    runner, _ = make()
    with pytest.raises(SetupFailedError, match="not there"):
        runner.check(["/nowhere/at/all"])


def test_hanging_installer_is_ended() -> None:
    """One that never ends is killed at the limit."""
    runner, _ = make(limit_seconds=0.3)
    ended = runner.run(python("import time; time.sleep(60)"))
    assert ended.exit_code < 0


def test_only_the_end_is_kept() -> None:
    """Long output does not fill the memory."""
    runner, lines = make()
    ended = runner.run(python(f"print('\\n'.join(map(str, range({KEPT_LINES * 2}))))"))
    assert len(lines) == KEPT_LINES * 2
    assert len(ended.output.splitlines()) == KEPT_LINES


def test_environment_is_laid_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The person's own settings stay, unless the step overrides them."""
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.setenv("CHANGED", "1")
    runner, _ = make()
    code = "import os; print(os.environ['KEPT'], os.environ['CHANGED'])"
    assert runner.check(python(code), env={"CHANGED": "2"}) == "1 2"


def test_child_holds_the_lock_file() -> None:
    """The set-up's lock is held by the installer too, should we be killed."""
    reader, writer = os.pipe()
    try:
        runner, _ = make(held_fds=(writer,))
        runner.check(python(f"import os; os.write({writer}, b'held')"))
        assert os.read(reader, 10) == b"held"
    finally:
        os.close(reader)
        os.close(writer)
