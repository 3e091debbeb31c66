"""``init`` in the shell."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

import structlog
from rich.console import Console

from bot.init.asking import Terminal
from bot.init.characters import Character
from bot.init.given import EXIT_INTERRUPTED, Given, Halt
from bot.init.keeper import Keeper
from bot.init.wizard import Wizard

STOPPED = "\nStopped. What you answered is kept; init goes on from there."
NOBODY = "\nNobody answers here. What was answered is kept; without a terminal: --non-interactive"


def main(home: Path, options: argparse.Namespace) -> int:
    """Ask, keep and try; 0 when a bot can answer, 1 when something is left, 2 for a wrong call."""
    # What the parts log on their way is not for whoever answers questions here.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    console = Console(highlight=False)
    wizard = Wizard(Keeper(home, os.environ), given_of(options), Terminal(console))
    try:
        return wizard.run()
    except Halt as halt:
        sys.stderr.write(f"{halt}\n")
        return halt.code
    except EOFError:
        sys.stderr.write(f"{STOPPED if sys.stdin.isatty() else NOBODY}\n")
        return EXIT_INTERRUPTED
    except KeyboardInterrupt:
        sys.stderr.write(f"{STOPPED}\n")
        return EXIT_INTERRUPTED


def given_of(options: argparse.Namespace) -> Given:
    """Read what the command line answered."""
    return Given(
        owner=options.owner,
        provider=options.provider,
        model=options.model,
        url=options.url,
        api=options.api,
        key_env=options.key_env,
        imp=options.imp,
        character=Character(options.character) if options.character else None,
        about=options.about,
        language=options.language,
        channel=options.channel,
        mode=options.mode,
        overwrite=options.overwrite,
        test=not options.no_test,
        interactive=not options.non_interactive,
        home=options.home or "",
    )
