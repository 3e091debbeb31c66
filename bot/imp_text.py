"""What an owner reads of the imps and of a reload. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from config.effects import FILES, KEYS, SECTIONS, Change, Effect
from config.problems import Problem

_SHOWN: Final = 10
_WHEN: Final = {
    Effect.NOW: "now",
    Effect.SESSION: "from the next session on (/sessions reset ends one)",
    Effect.RESTART: "after a restart",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpRow:
    """One imp. ``places``: channels that name it; ``problem``: empty where all is well."""

    name: str
    model: str
    places: Sequence[str]
    is_default: bool
    differs: bool
    """Whether it has an overlay of its own."""
    problem: str = ""


def imps_text(rows: Iterable[ImpRow]) -> str:
    """List the imps."""
    lines = [_row(row) for row in rows]
    return "\n".join(lines) if lines else "There are none: make one with python3 -m bot init"


def _row(row: ImpRow) -> str:
    where = [f"<#{place}>" for place in row.places]
    if row.is_default:
        where.append("wherever no other is named")
    more = [row.model, *(["imp.toml"] if row.differs else [])]
    told = f"**{row.name}** ({', '.join(more)}): {', '.join(where) or 'nowhere yet'}"
    return f"{told}\n  ✗ {row.problem}" if row.problem else told


def reload_text(problems: Sequence[Problem], changes: Sequence[Change]) -> str:
    """Tell what a reload gave, what differs from the start, and from when on edits count."""
    if problems:
        shown = [f"• {problem}" for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            shown.append(f"• and {len(problems) - _SHOWN} more")
        head = ["Refused: the settings as they were stay in force.", *shown]
    else:
        head = ["Read again: everything is in force."]
    if changes:
        head += ["", "Changed since I started:"]
        head += [f"• `{change.key}`, {_WHEN[change.effect]}" for change in changes[:_SHOWN]]
        if len(changes) > _SHOWN:
            head.append(f"• and {len(changes) - _SHOWN} more")
    return "\n".join([*head, "", *_effects()])


def _effects() -> Iterable[str]:
    """From when on each kind of edit counts, in one line each."""
    yield "An edit counts"
    for effect, words in _WHEN.items():
        names = [f"`{name}`" for name, when in SECTIONS.items() if when is effect]
        names += [f"`{key}`" for key, when in KEYS.items() if when is effect]
        names += [f"`{name}`" for name, when in FILES.items() if when is effect]
        yield f"• {words}: {', '.join(names)}"
