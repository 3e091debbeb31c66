"""What all steps of the wizard share: the home, the terminal, and what is left to do."""

from __future__ import annotations

from bot.init.asking import Terminal
from bot.init.given import EXIT_USAGE, Given, Halt
from bot.init.keeper import Keeper


class Desk:
    """Where the answers of one wizard come together."""

    def __init__(self, keeper: Keeper, given: Given, terminal: Terminal) -> None:
        self.keeper = keeper
        self.given = given
        self.terminal = terminal
        self.left: list[str] = []
        """What is still to be done, as lines for the owner."""

    def need(self, option: str) -> None:
        """Go on only if somebody can be asked.

        Raises:
            Halt: nobody can; ``option`` would have answered.
        """
        if not self.given.interactive:
            raise Halt(f"Nobody is here to ask. Give {option}.", code=EXIT_USAGE)

    def may_replace(self, what: str) -> bool:
        """Ask whether something in the home may be replaced."""
        if self.given.overwrite:
            return True
        if self.given.interactive:
            return self.terminal.confirm(f"Replace {what}?", default=False)
        self.leave(f"Kept {what}; with --overwrite it is replaced")
        return False

    def leave(self, line: str) -> None:
        """Note, and show, what is left to do."""
        self.left.append(line)
        self.remark(line)

    def remark(self, line: str) -> None:
        """Show what an owner should know and may leave so."""
        self.terminal.say(f"  ! {line}", style="yellow")

    def done(self, line: str) -> None:
        """Show what is done."""
        self.terminal.say(f"  ✓ {line}", style="green")
