"""What is wrong with the settings, where it stands, and what to do about it.

SafeError
+-- ConfigError     owner: all problems of all files at once (style: cattrs' ``transform_error``)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from compiler.errors import SafeError

ENVIRONMENT = "environment"
"""Stands where a file name would, for a value that came from a variable."""


class ConfigErrorCode(StrEnum):
    """Stable names of the ways in which settings fail."""

    INVALID = "config_invalid"
    HOME = "home_unusable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to mend.

    ``file`` is relative to the home, or ``environment``; ``line`` counts from 1, None where
    there is no line; ``key`` is the dotted path of the setting, empty for the whole file.
    Never holds a token: values are shown only where they name a choice or a key.
    """

    file: str
    line: int | None
    key: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        subject = f"{self.key} " if self.key else ""
        text = f"{place}: {subject}{self.message}."
        return f"{text} {self.hint}" if self.hint else text


class ConfigError(SafeError):
    """The settings cannot be used; ``problems`` lists every reason."""

    def __init__(
        self, problems: Iterable[Problem], *, code: ConfigErrorCode = ConfigErrorCode.INVALID
    ) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        things = "one problem" if count == 1 else f"{count} problems"
        super().__init__(code, f"The settings have {things}.", facts={"problems": count})

    def __str__(self) -> str:
        return "\n".join([self.safe_message, *(f"  {problem}" for problem in self.problems)])


def dotted(path: Iterable[str | int]) -> str:
    """Write a path as TOML does: ``channels."123".mode``, ``discord.owners[1]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        bare = part.isascii() and part.replace("_", "").replace("-", "").isalpha()
        text += ("." if text else "") + (part if bare else f'"{part}"')
    return text
