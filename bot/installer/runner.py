"""Running pip, npm and Python for a step, with a bound on time and a sentence on failure."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from bot.installer.faults import SetupFailedError, explain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KEPT_LINES = 400
"""Lines of output that are kept to explain a failure; its cause stands near the end."""

LIMIT_SECONDS = 1800.0
"""No single installer takes longer, also on a slow line; one that hangs is ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended: its exit code (negative: a signal) and its last lines."""

    exit_code: int
    output: str


class Runner:
    """Runs commands; their output goes to ``on_line`` and is kept for the explanation."""

    def __init__(
        self,
        *,
        on_line: Callable[[str], None],
        held_fds: Sequence[int] = (),
        limit_seconds: float = LIMIT_SECONDS,
    ) -> None:
        """Make a runner.

        Args:
            on_line: gets each line that a command writes.
            held_fds: files that the commands keep open: the lock of the set-up stays held for
                as long as one of them lives, also when this process is killed.
            limit_seconds: how long one command may take.
        """
        self._on_line = on_line
        self._held_fds = tuple(held_fds)
        self._limit_seconds = limit_seconds

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run a command to its end; ``env`` is laid over the environment of this process."""
        kept: deque[str] = deque(maxlen=KEPT_LINES)
        with subprocess.Popen(  # noqa: S603 - commands are ours
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            pass_fds=self._held_fds,
            encoding="utf-8",
            errors="replace",
        ) as process:
            clock = threading.Timer(self._limit_seconds, process.kill)
            clock.start()
            try:
                self._read(process.stdout, kept)
                code = process.wait()
            except BaseException:
                process.terminate()
                raise
            finally:
                clock.cancel()
        return Finished(exit_code=code, output="\n".join(kept))

    def check(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Run a command and return its output.

        Raises:
            SetupFailedError: it failed or could not be started.
        """
        try:
            ended = self.run(command, cwd=cwd, env=env)
        except FileNotFoundError:
            raise SetupFailedError(f"{command[0]} is not there.") from None
        if ended.exit_code:
            raise SetupFailedError(
                explain(ended.output, exit_code=ended.exit_code, python=python_name())
            )
        return ended.output

    def _read(self, pipe: IO[str] | None, kept: deque[str]) -> None:
        for line in pipe or ():
            kept.append(line.rstrip("\n"))
            self._on_line(kept[-1])


def python_name() -> str:
    """Return this Python's version and machine, such as ``3.11 on linux x86_64``."""
    return f"{sys.version_info[0]}.{sys.version_info[1]} on {sys.platform} {platform.machine()}"
