"""The lines a person sees while a set-up runs; on stderr, so that output stays for programs."""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MIN_COLUMNS = 40
"""A terminal narrower than this gets no passing details."""


class Progress:
    """Writes one line a step: its title at the start, its seconds at the end.

    On a terminal the line also shows what the step is at; in a log there is nothing to erase,
    so there it shows only the two.
    """

    def __init__(
        self, out: TextIO | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = sys.stderr if out is None else out
        self._clock = clock
        self._open = ""

    def say(self, line: str) -> None:
        """Write a line of its own, also in the middle of a step."""
        if self._open:
            self._write("\n")
            self._open = ""
        self._write(f"{line}\n")

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show a step for as long as the block runs."""
        began = self._clock()
        self._open = f"  {title} ... "
        self._write(self._open)
        try:
            yield
        except BaseException:
            self._finish("stopped")
            raise
        self._finish(f"{self._clock() - began:.1f} s")

    def detail(self, text: str) -> None:
        """Show, on a terminal only, what the step is at; the next detail replaces it."""
        columns = shutil.get_terminal_size().columns
        if self._open and self._out.isatty() and columns >= MIN_COLUMNS:
            room = max(0, columns - len(self._open) - 1)
            self._write(f"\r\x1b[K{self._open}{text[:room]}")

    def _finish(self, word: str) -> None:
        if self._open and self._out.isatty():
            self._write(f"\r\x1b[K{self._open}")
        self._write(f"{word}\n" if self._open else f"  ... {word}\n")
        self._open = ""

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
