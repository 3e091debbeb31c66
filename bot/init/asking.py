"""Questions in a terminal: read again until the answer can be used."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from rich.console import Console
from rich.text import Text

_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"n", "no"})
_SKIP: Final = "s"
_Read = TypeVar("_Read")


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
        read_hidden: Callable[[str], str] = getpass.getpass,
    ) -> None:
        self._console = console
        self._read = read
        self._read_hidden = read_hidden

    def say(self, text: str = "", *, style: str = "") -> None:
        """Show a line; nothing in it is taken for markup."""
        self._console.print(Text(text, style=style), soft_wrap=True)

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
            typed = self._typed(f"{question}{shown}: ", hidden=hidden).strip()
            try:
                return check(typed or default)
            except ValueError as error:
                self.say(f"  That {error}.", style="yellow")

    def _typed(self, prompt: str, *, hidden: bool) -> str:
        if hidden:
            # It asks by itself: only once the terminal shows nothing of what is typed.
            return self._read_hidden(prompt)
        self._console.print(Text(prompt), end="", soft_wrap=True)
        return self._read()

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
        width = max((len(name) for name, words in options if words), default=0)
        for number, (name, words) in enumerate(options, start=1):
            self.say(f"  {number}  {name:<{width}}  {words}".rstrip())

        def check(typed: str) -> str:
            if typed in names:
                return typed
            if typed.isascii() and typed.isdigit() and 0 < int(typed[:4]) <= len(names):
                return names[int(typed) - 1]
            raise ValueError(f"is none of them; give a number from 1 to {len(names)}")

        return self.ask(question, check, default=default)

    def wait(self, what: str) -> bool:
        """Wait until something is done elsewhere; False when it is to be left for later."""
        typed = self.ask(f"{what} Then press Enter, or type s to leave it for later", str)
        return typed.lower() != _SKIP
