"""Layers of raw values in, ``Settings`` or every problem out. Pure.

Two passes over the same model. Typed layers (TOML) are checked strictly, each by itself, so that
``max_warm = "16"`` is reported although a text would do in a variable. Then all layers together
are checked leniently. Wrong values are set aside before the relations are checked, so that one
mistake hides no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from typing import Final

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from compiler.budget import ContextBudgets
from config.coherence import find_incoherent
from config.findings import Finding
from config.imps import fill_overlays
from config.layers import Layer, merge_layers
from config.problems import Problem, dotted
from config.settings import BotSettings, ChannelOverlay, ImpSettings, Settings
from sessions.grants import Grant

Loc = tuple[str | int, ...]
_SETTINGS: Final = TypeAdapter(Settings)
_CHANNEL: Final = TypeAdapter(ChannelOverlay)
_SECTION_TYPES: Final = {name: info.annotation for name, info in Settings.model_fields.items()}
_PLAIN: Final[Mapping[str, str]] = {
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": 'must be a text in quotes, like "this"',
    "tuple_type": 'must be a list, like ["123", "456"]',
    "mapping_type": "must be a section",
    "dict_type": "must be a section",
    "model_type": "must be a section",
    "model_attributes_type": "must be a section",
    "dataclass_type": "must be a section",
    "dataclass_exact_type": "must be a section",
}
_UNKNOWN: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The outcome: settings when nothing is wrong, else every problem."""

    settings: Settings | None
    problems: tuple[Problem, ...]


def check_layers(layers: tuple[Layer, ...]) -> Checked:
    """Check all layers at once; the first is the strongest.

    Problems come in the order of files and lines, each key at most once a file.
    """
    problems = [problem for layer in layers for problem in layer.problems]
    bad: set[Loc] = set()
    for layer in layers:
        if layer.typed:
            for error in _errors(_SETTINGS, layer.values, strict=True):
                problems.append(_problem(error, layer))
                bad.add(_clean(error["loc"]))
    merged = fill_overlays(merge_layers(layers))
    for error in _errors(_SETTINGS, merged):
        loc = _clean(error["loc"])
        holder = _holder(layers, loc)
        if holder is None or (holder.typed and _is_inside(loc, bad)):
            continue
        problems.append(_problem(error, holder))
        bad.add(loc)
    problems.extend(_incoherent(layers, merged, bad))
    if not problems:
        return Checked(settings=_SETTINGS.validate_python(merged), problems=())
    return Checked(settings=None, problems=_ordered(problems, layers))


def check_channel(layer: Layer) -> tuple[ChannelOverlay | None, tuple[Problem, ...]]:
    """Check one ``channel.toml``."""
    problems = list(layer.problems)
    problems.extend(
        _problem(error, layer, known=tuple(ChannelOverlay.model_fields))
        for error in _errors(_CHANNEL, layer.values, strict=True)
    )
    if problems:
        return None, tuple(problems)
    return _CHANNEL.validate_python(layer.values), ()


def _errors(
    adapter: TypeAdapter[Settings] | TypeAdapter[ChannelOverlay],
    values: Mapping[str, object],
    *,
    strict: bool = False,
) -> list[ErrorDetails]:
    try:
        if strict:
            # JSON mode is strict about kinds and still takes a list for a tuple. TOML's dates
            # have no place in our settings: as an object they fit nowhere.
            adapter.validate_json(json.dumps(values, default=lambda _: {}), strict=True)
        else:
            adapter.validate_python(values)
    except ValidationError as error:
        return error.errors(include_url=False)
    return []


def _clean(loc: Loc) -> Loc:
    return tuple(part for part in loc if part != "[key]")


def _is_inside(loc: Loc, bad: set[Loc]) -> bool:
    """Whether a place, or something around it, was complained of already."""
    return any(loc[:length] in bad for length in range(1, len(loc) + 1))


def _holder(layers: Iterable[Layer], loc: Loc) -> Layer | None:
    return next((layer for layer in layers if layer.holds(loc)), None)


def _incoherent(
    layers: tuple[Layer, ...], merged: dict[str, object], bad: set[Loc]
) -> list[Problem]:
    wrong = {_clean(error["loc"]) for error in _errors(_SETTINGS, merged)}
    settings = _SETTINGS.validate_python(_without(merged, wrong))
    problems: list[Problem] = []
    seen: set[Loc] = set()
    for finding in find_incoherent(settings):
        if any(_is_inside(path, bad) for path in finding.paths):
            continue
        path = _blamed(finding, layers)
        if path in seen:
            continue
        seen.add(path)
        holder = _holder(layers, path)
        if holder is None:
            continue  # an imp's limit that only repeats [context]
        problems.append(
            Problem(
                file=holder.name,
                line=holder.line(path),
                key=holder.key(path),
                message=finding.message
                if path == finding.paths[0]
                else f"is too small for {dotted(finding.paths[0])}: that {finding.message}",
                hint=finding.hint,
            )
        )
    return problems


def _blamed(finding: Finding, layers: tuple[Layer, ...]) -> Loc:
    """The first involved key that somebody wrote; defaults are not to blame."""
    return next((path for path in finding.paths if _holder(layers, path)), finding.paths[0])


def _without(values: Mapping[str, object], bad: set[Loc]) -> dict[str, object]:
    """A copy with the values at (or around) the bad places left out."""

    def copy(branch: Mapping[str, object], here: Loc) -> dict[str, object]:
        kept: dict[str, object] = {}
        for key, value in branch.items():
            path = (*here, key)
            if any(loc[: len(path)] == path and _is_leaf(value, loc, path) for loc in bad):
                continue
            kept[key] = copy(value, path) if isinstance(value, Mapping) else value
        return kept

    return copy(values, ())


def _is_leaf(value: object, loc: Loc, path: Loc) -> bool:
    return loc == path or not isinstance(value, Mapping)


def _problem(error: ErrorDetails, layer: Layer, *, known: tuple[str, ...] | None = None) -> Problem:
    loc = _clean(error["loc"])
    kind = error["type"]
    message, hint = error["msg"], ""
    if kind in _UNKNOWN:
        names = known_keys(loc[:-1]) if known is None else known
        message, hint = "is not a setting", _suggest(str(loc[-1]), names)
    elif kind == "enum":
        choices = str(error.get("ctx", {}).get("expected", "")).replace("'", '"')
        message = f"must be {choices}"
        given = error.get("input")
        if isinstance(given, str):
            close = get_close_matches(given.lower(), choices.replace('"', "").split(" or "), n=1)
            hint = f'Did you mean "{close[0]}"?' if close else ""
    elif kind == "value_error":
        message = str(error.get("ctx", {}).get("error", message))
    else:
        message = _PLAIN.get(kind, message[:1].lower() + message[1:])
    return Problem(
        file=layer.name, line=layer.line(loc), key=layer.key(loc), message=message, hint=hint
    )


def _suggest(name: str, known: tuple[str, ...]) -> str:
    found = get_close_matches(name, known, n=1, cutoff=0.6)
    if found:
        return f"Did you mean {found[0]}?"
    return f"Known here: {', '.join(known)}." if known else ""


def known_keys(path: Loc) -> tuple[str, ...]:
    """The keys that exist under a path of ``org.toml``."""
    match path:
        case ():
            return tuple(Settings.model_fields)
        case ("channels", _):
            return tuple(ChannelOverlay.model_fields)
        case ("imps", _):
            return tuple(ImpSettings.model_fields)
        case ("grants", _):
            return tuple(item.name for item in fields(Grant))
        case ("discord", "bots", _):
            return tuple(BotSettings.model_fields)
        case ("imps", _, "context"):
            return tuple(item.name for item in fields(ContextBudgets))
        case ("imps", _, "engine"):
            return _fields_of(_SECTION_TYPES["engine"])
        case ("imps", _, "grants", _):
            return tuple(item.name for item in fields(Grant))
        case (str(section),):
            return _fields_of(_SECTION_TYPES.get(section))
        case _:
            return ()


def _fields_of(section: object) -> tuple[str, ...]:
    if isinstance(section, type) and issubclass(section, BaseModel):
        return tuple(name for name in section.model_fields if name != "token")
    if isinstance(section, type) and is_dataclass(section):
        return tuple(item.name for item in fields(section))
    return ()


def _ordered(problems: Iterable[Problem], layers: tuple[Layer, ...]) -> tuple[Problem, ...]:
    rank = {layer.name: place for place, layer in enumerate(layers)}
    return tuple(
        sorted(
            dict.fromkeys(problems),
            key=lambda item: (rank.get(item.file, 0), item.line or 0, item.key),
        )
    )
