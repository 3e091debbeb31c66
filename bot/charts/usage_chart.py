"""What was spent as a picture: tokens, money and cache share by day, imp and conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bot.charts.canvas import Canvas, Chart, Column, described
from bot.charts.colours import CACHED, EMBER, FRESH
from bot.usage_text import money, percent
from sessions.store.usage import Spent
from sessions.usage_book import WholeUsage

MAX_IMPS: Final = 3
MAX_CONVERSATIONS: Final = 5
_HIGH: Final = 1000
"""A whole share, in the unit of its columns."""


def usage_chart(usage: WholeUsage, name: Callable[[str], str]) -> Chart:
    """Draw everybody's usage; ``name`` gives a conversation's."""
    canvas, total = Canvas(), usage.total
    days = "1 day" if len(usage.days) == 1 else f"{len(usage.days)} days"
    canvas.title(f"Spent in {days}", money(total.micro_usd))
    _tokens(canvas, usage)
    _shares(canvas, usage)
    if total.micro_usd:
        _money(canvas, usage)
    _holders(canvas, "By imp", usage.imps[:MAX_IMPS])
    shown = [(name(channel), spent) for channel, spent in usage.conversations[:MAX_CONVERSATIONS]]
    _holders(canvas, "By conversation", shown)
    more = len(usage.conversations) - len(shown)
    if more > 0:
        canvas.text(f"and {more} more")
    description = described(
        f"Spent in {days}: {total.tokens:,} tokens, {money(total.micro_usd)},",
        f"{percent(total.cache_share)} of the prompts from the cache.",
        "The figures are in the text beside it.",
    )
    return Chart(name="usage.png", png=canvas.png(), description=description)


def _tokens(canvas: Canvas, usage: WholeUsage) -> None:
    most = max(1, *(spent.tokens for _, spent in usage.days))
    canvas.head(f"Tokens by day, up to {most:,}", f"{usage.total.tokens:,}")
    canvas.columns([Column(parts=_parts(spent)) for _, spent in usage.days], most, height=150)
    _ends(canvas, usage)
    canvas.item(CACHED, "from the cache", right=f"{usage.total.cached_tokens:,}")
    fresh = usage.total.tokens - usage.total.cached_tokens
    canvas.item(FRESH, "read anew or written", right=f"{fresh:,}")


def _shares(canvas: Canvas, usage: WholeUsage) -> None:
    canvas.head("Cache share by day, up to 100%", percent(usage.total.cache_share))
    shares = [spent.cache_share for _, spent in usage.days]
    columns = [Column(parts=((CACHED, round(_HIGH * (share or 0))),)) for share in shares]
    canvas.columns(columns, _HIGH, height=80)


def _money(canvas: Canvas, usage: WholeUsage) -> None:
    most = max(1, *(spent.micro_usd for _, spent in usage.days))
    canvas.head(f"Money by day, up to {money(most)}", money(usage.total.micro_usd))
    columns = [Column(parts=((EMBER, spent.micro_usd),)) for _, spent in usage.days]
    canvas.columns(columns, most, height=80)


def _ends(canvas: Canvas, usage: WholeUsage) -> None:
    last = usage.days[-1][0][5:] if usage.days[1:] else ""
    canvas.text(usage.days[0][0][5:], last)


def _holders(canvas: Canvas, title: str, named: Sequence[tuple[str, Spent]]) -> None:
    if not named:
        return
    canvas.head(title)
    most = max(1, *(spent.tokens for _, spent in named))
    for name, spent in named:
        figures = f"{spent.tokens:,} · {money(spent.micro_usd)} · {percent(spent.cache_share)}"
        canvas.text(name, figures)
        canvas.bar(_parts(spent), most, height=14)


def _parts(spent: Spent) -> tuple[tuple[str, int], ...]:
    return ((CACHED, spent.cached_tokens), (FRESH, spent.tokens - spent.cached_tokens))
