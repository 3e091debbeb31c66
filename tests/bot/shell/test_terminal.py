"""Nothing that somebody wrote steers the terminal of whoever looks at it."""

from __future__ import annotations

import io
import sys

import pytest

from bot.shell.terminal import harmless, write_out

TEXT = "tea \U0001f525\n\ta\x1b]52;c;AAAA\x07 b\x9b2J c\r\x7f"


class Terminal(io.TextIOWrapper):
    """A standard output that says what it is."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="ascii")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    @property
    def got(self) -> str:
        kept = self.buffer
        assert isinstance(kept, io.BytesIO)
        return kept.getvalue().decode()


def test_control_characters_are_shown_and_not_obeyed() -> None:
    """Lines, tabs and pictures stay what they are."""
    assert harmless(TEXT) == (
        "tea \U0001f525\n\ta\\u001b]52;c;AAAA\\u0007 b\\u009b2J c\\u000d\\u007f"
    )
    assert harmless("\n".join("plain ü")) == "\n".join("plain ü")


def test_a_terminal_gets_no_commands_and_a_file_every_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for is_terminal, expected in ((True, harmless(TEXT)), (False, TEXT)):
        out = Terminal(is_terminal=is_terminal)
        monkeypatch.setattr(sys, "stdout", out)
        write_out(TEXT)
        assert out.got == f"{expected}\n"
