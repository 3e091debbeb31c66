"""``docs/reference.md`` written anew from the program: keys, defaults, options, codes.

What people wrote stays: the text around the tables and each row's last cells, by the row's name. A
row that nobody has described yet gets ``UNTOLD``; one whose thing is gone goes with it.
"""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, _HelpAction, _SubParsersAction
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

UNTOLD = "(not told yet)"
_COMMON = frozenset({"--home"})
"""Options that every command of the shell has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the program says of itself. Rows keep the page's order; new ones come last."""

    settings: Mapping[str, Mapping[str, object]]
    """Section to key to default, as TOML reads it."""
    discord: Mapping[str, str]
    """Command to its options."""
    shell: Mapping[str, str]
    """The same for the shell."""
    codes: frozenset[str]


def written(page: str, facts: Facts) -> str:
    """Write the page anew."""
    for name, keys in facts.settings.items():
        title = f"### [{name}]"
        fixed = {key: (f"`{as_toml(value)}`",) for key, value in keys.items()}
        page = _table(page, title, ("Key", "Default", "Meaning"), _as_told(page, title, fixed))
    page = _table(
        page,
        "## Commands in Discord",
        ("Command", "Options", "Who", "What it does"),
        _as_told(page, "## Commands in Discord", {k: (v,) for k, v in facts.discord.items()}),
    )
    page = _table(
        page,
        "## Commands in the shell",
        ("Command", "Options", "What it does"),
        _as_told(page, "## Commands in the shell", {k: (v,) for k, v in facts.shell.items()}),
    )
    codes: dict[str, tuple[str, ...]] = dict.fromkeys(sorted(facts.codes), ())
    header = ("Code", "Who acts", "What happened, and what to do")
    return _table(page, "## Codes", header, _as_told(page, "## Codes", codes))


def as_toml(value: object) -> str:
    """Write a default as ``org.toml`` would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=False)


def discord_options(forms: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Give the commands that Discord was told of, with their options."""
    return dict(pair for form in forms for pair in _discord(form, ""))


def shell_options(parser: ArgumentParser, path: str = "") -> Iterator[tuple[str, str]]:
    """Give the commands of the shell, with their options."""
    below = [each for each in parser._actions if isinstance(each, _SubParsersAction)]
    for action in below:
        for name, sub in action.choices.items():
            yield from shell_options(sub, f"{path} {name}".strip())
    if not below:
        yield path, _code(_shell(parser))


def _shell(parser: ArgumentParser) -> Iterator[str]:
    # What has no dashes first, as people type it.
    for action in sorted(parser._actions, key=lambda each: bool(each.option_strings)):
        if isinstance(action, _HelpAction) or _COMMON.intersection(action.option_strings):
            continue
        value = action.metavar or ("/".join(map(str, action.choices)) if action.choices else "")
        if action.option_strings:
            yield " ".join((action.option_strings[0], *([str(value)] if value else [])))
        else:
            yield f"[{value}]" if action.nargs == "?" else str(value)


def _discord(form: Mapping[str, object], path: str) -> Iterator[tuple[str, str]]:
    name = f"{path} {form['name']}".strip()
    options = form.get("options")
    listed = options if isinstance(options, list) else []
    below = [each for each in listed if each["type"] in {1, 2}]
    for each in below:
        yield from _discord(each, name)
    if not below:
        menu = form.get("type", 1) == 3 and not path
        words = (each["name"] if each.get("required") else f"[{each['name']}]" for each in listed)
        yield name if menu else f"/{name}", _code(words)


def _code(words: Iterable[str]) -> str:
    told = " ".join(words)
    return f"`{told}`" if told else ""


def _as_told(
    page: str, title: str, fixed: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Order rows as the page has them, what is new behind them."""
    old = [key for key in _rows(_section(page, title)) if key in fixed]
    return {key: fixed[key] for key in (*old, *(key for key in fixed if key not in old))}


def _table(
    page: str, title: str, header: Sequence[str], fixed: Mapping[str, tuple[str, ...]]
) -> str:
    """Put a section's table anew: the name, what is fixed, and what people wrote."""
    section = _section(page, title)
    told = _rows(section)
    lines = [_line(header), "|" + "---|" * len(header)]
    for key, cells in fixed.items():
        rest = len(header) - 1 - len(cells)
        prose = told.get(key, ())[-rest:] or (UNTOLD,) * rest
        lines.append(_line((f"`{key}`", *cells, *prose)))
    found = re.search(r"(?m)^\| (?:Key|Command|Code) \|.*\n(?:\|.*\n?)*", section)
    assert found, f'docs/reference.md, "{title}": there is no table'
    return page.replace(section, section.replace(found[0], "\n".join(lines) + "\n"))


def _line(cells: Sequence[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def _section(page: str, title: str) -> str:
    marks = title.split(maxsplit=1)[0]
    start = f"\n{title}\n"
    assert page.count(start) == 1, f'docs/reference.md needs one section "{title}"'
    rest = page.partition(start)[2]
    return start + re.split(rf"\n(?=#{{2,{len(marks)}}} )", rest)[0]


def _rows(section: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for key, rest in re.findall(r"(?m)^\| `([^`]+)` \|(.*)\|$", section):
        found[key] = tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", rest))
    return found
