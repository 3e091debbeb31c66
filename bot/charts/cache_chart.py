"""The provider's cache as a picture: what share of each turn's prompts it knew."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from bot.charts.canvas import Canvas, Chart, Column, described
from bot.charts.colours import CACHED
from bot.usage_text import percent
from sessions.review.cache_report import CacheFigures, CacheReport, TurnCache

MAX_TURNS: Final = 60
_HIGH: Final = 1000
"""A whole share, in the unit of its columns."""


def cache_chart(report: CacheReport) -> Chart | None:
    """Draw the latest turns of a report; None where no call was measured."""
    turns = [(each.run_id, turn) for each in report.sessions for turn in each.turns]
    shown = turns[-MAX_TURNS:]
    if not shown:
        return None
    total = CacheFigures()
    for _, turn in shown:
        total += turn.figures
    runs = {run for run, _ in shown}
    how_many = "1 turn" if len(shown) == 1 else f"{len(shown)} turns"
    sessions = "1 session" if len(runs) == 1 else f"{len(runs)} sessions"
    canvas = Canvas()
    canvas.title("From the cache", percent(total.hit_share))
    canvas.text(f"the latest {how_many}, in {sessions}")
    canvas.head("Hit share by turn", "100%")
    begins = [True, *(one[0] != other[0] for one, other in pairwise(shown))]
    canvas.columns(
        [_column(turn, begins=new) for (_, turn), new in zip(shown, begins, strict=True)],
        _HIGH,
        height=260,
    )
    canvas.text(f"turn {len(turns) - len(shown) + 1}", f"turn {len(turns)}" if turns[1:] else "")
    canvas.item(CACHED, "hit: cached tokens", right=percent(total.hit_share))
    canvas.text("Line across: expected, what repeats", percent(total.expected_share))
    if len(runs) > 1:
        canvas.text("Line upwards: a new session")
    description = described(
        f"Share of the prompts that came from the cache, over {how_many} in {sessions}:",
        f"{percent(total.hit_share)}, expected {percent(total.expected_share)}.",
        "The figures are in the text beside it.",
    )
    return Chart(name="cache.png", png=canvas.png(), description=description)


def _column(turn: TurnCache, *, begins: bool) -> Column:
    hit, expected = turn.figures.hit_share, turn.figures.expected_share
    return Column(
        parts=((CACHED, round(_HIGH * (hit or 0))),),
        mark=None if not expected else _HIGH * expected,
        begins=begins,
    )
