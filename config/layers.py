"""Raw settings, one layer a source, and where each value came from.

Strongest first: what the program itself decides (the playground's addresses), the process's
environment, ``.env`` in the home, ``org.toml``. Names of variables follow pydantic-settings:
``INGLENOOK_ENGINE__URL`` is ``[engine] url``; ``DISCORD_TOKEN`` is the token.
"""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from dotenv.parser import parse_stream
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from config.problems import ENVIRONMENT, Problem, dotted
from config.settings import Settings
from config.toml_lines import Path, element, find_lines, line_of

ORG_FILE = "org.toml"
ENV_FILE = ".env"
PREFIX = "INGLENOOK_"
HOME_VARIABLE = "INGLENOOK_HOME"
TOKEN_VARIABLE = "DISCORD_TOKEN"  # noqa: S105  (a name, not a token)
_DELIMITER = "__"
_TOML_PLACE = re.compile(r"(?P<what>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)")
SECTIONS = tuple(Settings.model_fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One source: nested raw values, and the line of each key.

    ``typed`` layers hold TOML values and are checked strictly; the others hold texts, which are
    read as numbers and lists where the setting wants one.
    """

    name: str
    typed: bool
    values: Mapping[str, object]
    lines: Mapping[Path, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    under: Path = ()
    """Where in the settings all of this file stands; the owner's keys there begin below it."""

    def holds(self, path: tuple[str | int, ...]) -> bool:
        """Whether this layer sets the value at ``path``, or a value that stands around it."""
        value: object = self.values
        for part in path:
            if not isinstance(value, Mapping):
                break
            if part not in value:
                return False
            value = value[part]
        return True

    def key(self, path: tuple[str | int, ...]) -> str:
        """What the owner calls ``path`` here: a key of the file, or the variable's name."""
        if self.typed:
            return dotted(path[len(self.under) :])
        names = [part for part in path if isinstance(part, str)]
        if names == ["discord", "token"]:
            return TOKEN_VARIABLE
        place = "".join(f"[{part}]" for part in path if isinstance(part, int))
        return PREFIX + _DELIMITER.join(names).upper() + place

    def line(self, path: tuple[str | int, ...]) -> int | None:
        """The line of the value at ``path``, or of what holds it."""
        named = (element(part) if isinstance(part, int) else part for part in path)
        return line_of(self.lines, tuple(named))


class _Names(Settings, BaseSettings):
    """The settings as pydantic-settings sees them, for the names of their variables only."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter=_DELIMITER, enable_decoding=False
    )


class _Variables(EnvSettingsSource):
    """pydantic-settings' reading of names, over variables handed in."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        super().__init__(_Names)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): value for name, value in self._variables.items()}


def parse_org(text: str, *, name: str = ORG_FILE) -> Layer:
    """Read a TOML text; a text that is no TOML is one problem."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Layer(name=name, typed=True, values={}, problems=(_syntax(name, error),))
    problems: tuple[Problem, ...] = ()
    lines = find_lines(text)
    discord = values.get("discord")
    if isinstance(discord, dict) and discord.pop("token", None) is not None:
        problems = (
            Problem(
                file=name,
                line=lines.get(("discord", "token")),
                key="discord.token",
                message="does not belong in this file",
                hint=f"Write {TOKEN_VARIABLE}=... in the home's {ENV_FILE} instead.",
            ),
        )
    return Layer(name=name, typed=True, values=values, lines=lines, problems=problems)


def _syntax(name: str, error: tomllib.TOMLDecodeError) -> Problem:
    match = _TOML_PLACE.fullmatch(str(error))
    what = match["what"] if match else str(error)
    line = int(match["line"]) if match and match["line"] else None
    return Problem(
        file=name,
        line=line,
        key="",
        message=f"is not valid TOML ({what[:1].lower()}{what[1:]})",
        hint="Texts stand in quotes, sections in [brackets].",
    )


def parse_dotenv(text: str) -> tuple[Mapping[str, str], Mapping[str, int], tuple[Problem, ...]]:
    """Read a ``.env`` text: its variables, their lines, and the lines that are none."""
    variables: dict[str, str] = {}
    lines: dict[str, int] = {}
    problems: list[Problem] = []
    for binding in parse_stream(io.StringIO(text)):
        if binding.error or (binding.key is not None and binding.value is None):
            # The line itself may hold a secret, so it is not quoted.
            problems.append(
                Problem(
                    file=ENV_FILE,
                    line=binding.original.line,
                    key="",
                    message="is not NAME=value",
                    hint="Begin a remark with '#'.",
                )
            )
        elif binding.key is not None:
            variables[binding.key] = binding.value or ""
            lines[binding.key] = binding.original.line
    return variables, lines, tuple(problems)


def parse_variables(
    variables: Mapping[str, str],
    *,
    name: str = ENVIRONMENT,
    lines: Mapping[str, int] | None = None,
    problems: tuple[Problem, ...] = (),
) -> Layer:
    """Sort variables into settings; names that look like a setting and are none are problems."""
    known: dict[str, str] = {}
    paths: dict[Path, int] = {}
    wrong = list(problems)
    for variable, value in variables.items():
        line = (lines or {}).get(variable)
        path, problem = _place(variable, name, line)
        if problem is not None:
            wrong.append(problem)
        elif path:
            known[variable] = value
            if line is not None:
                paths[path] = line
    values = dict(_Variables(known)()) if known else {}
    token = variables.get(TOKEN_VARIABLE, "").strip()
    if token:
        discord = dict(values.get("discord") or {})
        values["discord"] = {"token": token, **discord}
        if lines and TOKEN_VARIABLE in lines:
            paths.setdefault(("discord", "token"), lines[TOKEN_VARIABLE])
    return Layer(name=name, typed=False, values=values, lines=paths, problems=tuple(wrong))


def _place(variable: str, name: str, line: int | None) -> tuple[Path, Problem | None]:
    """The path that a variable sets; empty when it is none of ours."""
    upper = variable.upper()
    if not upper.startswith(PREFIX) or upper == HOME_VARIABLE:
        return (), None
    path = tuple(upper.removeprefix(PREFIX).lower().split(_DELIMITER))
    if len(path) > 1 and all(path) and path[0] in SECTIONS:
        return path, None
    hint = _variable_hint(upper)
    if len(path) == 1 and not hint:
        return (), None  # some other program's variable; ours all name a section and a key
    return (), Problem(file=name, line=line, key=variable, message="sets nothing", hint=hint)


def _variable_hint(upper: str) -> str:
    rest = upper.removeprefix(PREFIX)
    for section in SECTIONS:
        head = f"{section.upper()}_"
        if rest.startswith(head):
            return f"Did you mean {PREFIX}{head}_{rest.removeprefix(head).lstrip('_')}?"
    head, delimiter, key = rest.partition(_DELIMITER)
    close = get_close_matches(head.lower(), SECTIONS, n=1)
    if delimiter and close:
        return f"Did you mean {PREFIX}{close[0].upper()}{delimiter}{key}?"
    return f"Sections are {', '.join(SECTIONS)}." if delimiter else ""


def merge_layers(layers: tuple[Layer, ...]) -> dict[str, object]:
    """Take the values of all layers together; the first layer is the strongest."""
    merged: dict[str, object] = {}
    for layer in reversed(layers):
        _update(merged, layer.values)
    return merged


def _update(into: dict[str, object], values: Mapping[str, object]) -> None:
    for key, value in values.items():
        present = into.get(key)
        if isinstance(value, Mapping):
            branch: dict[str, object] = dict(present) if isinstance(present, Mapping) else {}
            _update(branch, value)
            into[key] = branch
        else:
            into[key] = value
