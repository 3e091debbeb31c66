"""``init``: its steps in their order. Each keeps its answer before the next begins.

An answer comes from the command line or the environment; else from the home, where it stands
already; else from whoever sits at the terminal. Where nobody sits there, a step that needs an
answer ends the wizard with the name of the option that gives it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from bot.doctor.results import Check
from bot.init.asking import Terminal
from bot.init.desk import Desk
from bot.init.discord import Application, Place
from bot.init.discord_steps import DiscordSteps
from bot.init.given import EXIT_DONE, EXIT_LEFT, Given
from bot.init.imp_steps import ImpSteps
from bot.init.keeper import Keeper
from bot.init.model import try_model
from bot.init.model_steps import ModelSteps
from config.load import Loaded


class Wizard:
    """One run of ``init``; ``run`` gives the exit code."""

    def __init__(
        self,
        keeper: Keeper,
        given: Given,
        terminal: Terminal,
        *,
        trial: Callable[[Loaded], Check] = try_model,
    ) -> None:
        self._desk = Desk(keeper, given, terminal)
        self._at_discord = DiscordSteps(self._desk)
        self._at_model = ModelSteps(self._desk, trial)
        self._of_imp = ImpSteps(self._desk)

    def run(self) -> int:
        """Go through all steps.

        Raises:
            Halt: it cannot go on.
            EOFError: nobody answers any more.
        """
        desk = self._desk
        fresh = desk.keeper.open()
        welcome = "Welcome to Inglenook." if fresh else "Welcome back: I go on with what is there."
        desk.terminal.say(welcome)
        desk.terminal.say(f"Home: {desk.keeper.home}")
        discord, application = self._at_discord.token() or (None, None)
        owner = self._at_discord.owner(discord, application)
        if discord is not None and application is not None:
            self._at_discord.invite(discord, application)
        self._at_model.choose()
        imp = self._of_imp.name()
        place = self._of_imp.channel(discord, imp) if discord is not None else None
        if desk.given.test:
            self._at_model.attempt()
            if discord is not None:
                self._of_imp.hello(discord, place, owner, imp)
        return self._conclude(application, place)

    def _conclude(self, application: Application | None, place: Place | None) -> int:
        terminal, left = self._desk.terminal, self._desk.left
        terminal.say()
        if left:
            terminal.say("Left to do:", style="bold")
            for line in left:
                terminal.say(f"  - {line}")
            terminal.say(f"Then start init again, or look with: {self._command('doctor')}")
        terminal.say(f"Start the bot: {self._command('run')}", style="bold")
        if application is not None:
            where = f"in #{place.name}: @{application.name} hello" if place else "it a message"
            terminal.say(f"Then write {where}")
        return EXIT_LEFT if left else EXIT_DONE

    def _command(self, name: str) -> str:
        """Write a command of the shell as it is typed for this home."""
        home = self._desk.given.home
        return f"python3 -m bot {name}" + (f" --home {shlex.quote(home)}" if home else "")
