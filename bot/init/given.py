"""What the command line and the environment answered before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bot.init.characters import Character

EXIT_DONE: Final = 0
EXIT_LEFT: Final = 1
"""Something is left to do, or could not be done; it was said."""
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Answers; what is empty was not given. Secrets come from the environment alone."""

    owner: str = ""
    provider: str = ""
    model: str = ""
    url: str = ""
    api: str = ""
    key_env: str = ""
    imp: str = ""
    character: Character | None = None
    about: str = ""
    language: str = ""
    channel: str = ""
    """A channel's id, or "none"."""
    mode: str = ""
    overwrite: bool = False
    """Whether what stands in the home may be replaced without asking."""
    test: bool = True
    """Whether the model is asked and a message posted at the end."""
    interactive: bool = True
    home: str = ""
    """The home as the command line named it; commands told at the end name it too."""


class Halt(Exception):
    """The wizard cannot go on; its text is the one line that says why, and what to do."""

    def __init__(self, line: str, *, code: int = EXIT_LEFT) -> None:
        super().__init__(line)
        self.code = code
