"""Runs in a list, told to people: a line each, at most 60 wide, without content. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bot.runs.forms import bare_id, nameless
from compiler.normalize import one_line
from sessions.store.runs import RunRow

_WHERE: Final = 19
"""Columns of a place in a list: as wide as an id of Discord's."""
_NOTHING: Final = "No runs yet. Write to the imp, then look again."


def list_text(rows: Sequence[RunRow], name_of: Callable[[str], str] = nameless) -> str:
    """Tell runs, a line each, the latest first.

    ``name_of`` names a channel by its id, with nothing where it knows no name.
    """
    if not rows:
        return _NOTHING
    lines = [f"{'RUN':<24} {'WHERE':<{_WHERE}} {'TURNS':>5} ENDED"]
    lines += [
        f"{row.run_id:<24} {_where(row, name_of):<{_WHERE}} {row.turns:>5} {_ended(row)}"
        for row in rows
    ]
    return "\n".join(lines)


def _where(row: RunRow, name_of: Callable[[str], str]) -> str:
    if row.channel_id is None:
        return "no channel"
    number = "direct message" if row.is_dm else bare_id(row.channel_id)
    return one_line(name_of(row.channel_id) or number, _WHERE)


def _ended(row: RunRow) -> str:
    if row.ended_at is None:
        return "not yet"
    return row.end_reason or "yes"
