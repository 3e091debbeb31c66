"""Questions in a terminal: whole words, hidden secrets, choices by number."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from bot.init.asking import Terminal, read_unseen

LINK = "https://discord.com/oauth2/authorize?client_id=1&scope=bot+applications.commands"
TEXT = f"This invites the bot with the permissions it needs, no more: {LINK}"


def terminal(out: io.StringIO, typed: Sequence[str] = ()) -> Terminal:
    """Make a terminal of forty columns that is answered from a list."""
    answers = iter(typed)
    console = Console(file=out, width=40, force_terminal=True, no_color=True)
    return Terminal(console, read=lambda: next(answers))


def test_a_narrow_terminal_parts_no_word_and_no_link() -> None:
    """Issue 8 "Set up": a link that a line break parted could not be opened."""
    out = io.StringIO()
    terminal(out).say(TEXT)
    lines = out.getvalue().splitlines()
    assert " ".join(line.strip() for line in lines) == TEXT
    assert lines[-1] == LINK
    assert all(len(line) <= 40 for line in lines[:-1])


def test_a_file_gets_each_line_whole() -> None:
    """What is no terminal has no width, and programs look for whole lines."""
    out = io.StringIO()
    Terminal(Console(file=out)).say(TEXT)
    assert out.getvalue() == f"{TEXT}\n"


@pytest.mark.parametrize(("typed", "place"), [("", 1), ("1", 0), ("2", 1), ("#pier", 0), ("3", 2)])
def test_names_that_stand_there_twice_are_chosen_by_number(typed: str, place: int) -> None:
    """Discord lets two channels of a server have one name."""
    options = (("#pier", ""), ("#pier", ""), ("none", "in private"))
    asked = terminal(io.StringIO(), [typed])
    assert asked.pick("Where", options, default=1) == place


def test_a_wrong_choice_is_asked_again() -> None:
    """Issue 8 "Set up": a wrong answer is told in one line, and the question comes again."""
    out = io.StringIO()
    options = (("warm", ""), ("cold", ""))
    assert terminal(out, ["0", "3", "hot", "2"]).choose("Which", options, default="warm") == "cold"
    assert out.getvalue().count("That is none of them;") == 3
    assert "Which [warm]: " in out.getvalue()


def test_without_a_terminal_a_secret_is_read_without_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 8 "Bad input": a pipe shows nothing, so there is nothing to warn of."""
    monkeypatch.setattr("sys.stdin", io.StringIO("CANARY\n"))
    assert read_unseen("Token: ") == "CANARY"
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("Token: ", "")


IN_A_TERMINAL = """
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    from rich.console import Console
    from bot.init.asking import Terminal
    typed = Terminal(Console()).ask("Token", str, hidden=True)
    print("typed", len(typed))
    os._exit(0)
shown = b""
while b"Token: " not in shown:
    shown += os.read(terminal, 1024)
os.write(terminal, b"CANARY\\n")
while b"typed 6" not in shown:
    shown += os.read(terminal, 1024)
os.waitpid(child, 0)
sys.stdout.buffer.write(shown)
"""


def test_a_secret_is_not_shown_however_soon_it_is_typed() -> None:
    """Issue 8 "Set up": hidden input; the terminal shows nothing from the prompt on."""
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", IN_A_TERMINAL],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        timeout=45,
        check=True,
    )
    assert b"typed 6" in ended.stdout
    assert b"CANARY" not in ended.stdout
