"""Questions in a terminal: read again until the answer can be used."""

from __future__ import annotations

import getpass
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from rich.console import Console
from rich.text import Text

_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"n", "no"})
_SKIP: Final = "s"
_Read = TypeVar("_Read")


def read_unseen(prompt: str) -> str:
    """Ask for a line and show nothing of it.

    Where no terminal is, nothing is ever shown; ``getpass`` would warn that it cannot help it.
    """
    if sys.stdin.isatty():
        return getpass.getpass(prompt)
    sys.stdout.write(prompt)
    sys.stdout.flush()
    return input()


def _folded(line: str, width: int) -> str:
    """Break a line between words, below where it begins; a link stays whole, to be opened."""
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


class Terminal:
    """What is shown to the owner and asked of him.

    A check gets what was typed and gives what is meant; its ``ValueError`` says what is wrong.
    ``EOFError`` from any question means that nobody is there.
    """

    def __init__(
        self,
        console: Console,
        *,
        read: Callable[[], str] = input,
        read_hidden: Callable[[str], str] = read_unseen,
    ) -> None:
        self._console = console
        self._read = read
        self._read_hidden = read_hidden

    def say(self, text: str = "", *, style: str = "") -> None:
        """Show a line; nothing in it is taken for markup."""
        self._show(text, style=style)

    def heading(self, text: str) -> None:
        """Begin a step."""
        self.say()
        self.say(text, style="bold")

    def ask(
        self,
        question: str,
        check: Callable[[str], _Read],
        *,
        default: str = "",
        hidden: bool = False,
    ) -> _Read:
        """Ask until ``check`` takes the answer; nothing typed is the default."""
        while True:
            shown = f" [{default}]" if default else ""
            typed = self._typed(f"{question}{shown}:", hidden=hidden).strip()
            try:
                return check(typed or default)
            except ValueError as error:
                self.say(f"  That {error}.", style="yellow")

    def _typed(self, prompt: str, *, hidden: bool) -> str:
        if hidden:
            # It asks by itself: only once the terminal shows nothing of what is typed.
            return self._read_hidden(f"{prompt} ")
        self._show(prompt, end=" ")
        return self._read()

    def _show(self, text: str, *, style: str = "", end: str = "\n") -> None:
        if self._console.is_terminal:
            text = "\n".join(_folded(line, self._console.width) for line in text.split("\n"))
        self._console.print(Text(text, style=style), end=end, soft_wrap=True)

    def confirm(self, question: str, *, default: bool) -> bool:
        """Ask for yes or no."""

        def check(typed: str) -> bool:
            if typed.lower() in _YES | _NO:
                return typed.lower() in _YES
            raise ValueError("is neither y nor n")

        return self.ask(question, check, default="y" if default else "n")

    def choose(self, question: str, options: Sequence[tuple[str, str]], *, default: str) -> str:
        """Show options (name and words) with numbers, and give the name of the chosen one."""
        names = [name for name, _ in options]
        return names[self.pick(question, options, default=names.index(default))]

    def pick(self, question: str, options: Sequence[tuple[str, str]], *, default: int = 0) -> int:
        """Show options as ``choose`` does; give the place of the chosen one, from 0.

        Names that stand there twice are told apart by their numbers.
        """
        names = [name for name, _ in options]
        width = max((len(name) for name, words in options if words), default=0)
        for number, (name, words) in enumerate(options, start=1):
            self.say(f"  {number}  {name:<{width}}  {words}".rstrip())

        def check(typed: str) -> int:
            if not typed:
                return default
            if typed in names:
                return names.index(typed)
            if typed.isascii() and typed.isdigit() and 0 < int(typed[:4]) <= len(names):
                return int(typed) - 1
            raise ValueError(f"is none of them; give a number from 1 to {len(names)}")

        return self.ask(f"{question} [{names[default]}]", check)

    def wait(self, what: str) -> bool:
        """Wait until something is done elsewhere; False when it is to be left for later."""
        typed = self.ask(f"{what} Then press Enter, or type s to leave it for later", str)
        return typed.lower() != _SKIP
