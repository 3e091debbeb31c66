"""What a person sees while a set-up runs."""

from __future__ import annotations

import io

import pytest

from bot.installer.progress import Progress


class Terminal(io.StringIO):
    """An output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_step_in_a_log() -> None:
    """In a log each step is one line with its time, and details are left out."""
    out = io.StringIO()
    progress = Progress(out, clock=iter((10.0, 12.34)).__next__)
    with progress.step("Python packages"):
        progress.detail("Collecting aiohttp")
    assert out.getvalue() == "  Python packages ... 2.3 s\n"


def test_failed_step_says_so() -> None:
    """A step that raises is closed before the explanation follows."""
    out = io.StringIO()
    progress = Progress(out, clock=iter((0.0,)).__next__)
    with pytest.raises(OSError, match="x"), progress.step("pi"):
        raise OSError("x")
    assert out.getvalue() == "  pi ... stopped\n"


def test_details_on_a_terminal_are_erased() -> None:
    """The last detail does not stay behind the time."""
    out = Terminal()
    progress = Progress(out, clock=iter((0.0, 1.0)).__next__)
    with progress.step("pi"):
        progress.detail("Collecting aiohttp")
    assert "Collecting aiohttp" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K  pi ... 1.0 s\n")


def test_line_in_the_middle_of_a_step() -> None:
    """A note stands on its own line."""
    out = io.StringIO()
    progress = Progress(out, clock=iter((0.0, 1.0)).__next__)
    with progress.step("pi"):
        progress.say("a note")
    assert out.getvalue() == "  pi ... \na note\n  ... 1.0 s\n"
