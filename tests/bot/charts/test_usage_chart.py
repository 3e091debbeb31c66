"""The owner's picture of what was spent: any figures can be drawn, and its words say the sums."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.charts.canvas import MAX_DESCRIPTION
from bot.charts.usage_chart import usage_chart
from sessions.store.usage import Spent
from sessions.usage_book import WholeUsage

COUNTS = st.integers(min_value=0, max_value=10**12)
SPENT = st.builds(
    Spent, tokens=COUNTS, micro_usd=COUNTS, calls=COUNTS, input_tokens=COUNTS, cached_tokens=COUNTS
)
NAMED = st.lists(st.tuples(st.text(max_size=40), SPENT), max_size=9).map(tuple)


def test_the_description_says_the_sums() -> None:
    spent = Spent(tokens=1234, micro_usd=5_600_000, calls=2, input_tokens=1000, cached_tokens=871)
    usage = WholeUsage(days=(("2026-11-30", spent),), imps=(), conversations=())
    told = usage_chart(usage, str).description
    assert told.startswith(
        "Spent in 1 day: 1,234 tokens, $5.60, 87.1% of the prompts from the cache."
    )


@given(st.lists(SPENT, min_size=1, max_size=90), NAMED, NAMED)
@settings(max_examples=4, deadline=None)
def test_any_figures_can_be_drawn(
    days: list[Spent],
    imps: tuple[tuple[str, Spent], ...],
    conversations: tuple[tuple[str, Spent], ...],
) -> None:
    """A provider may report more cached than prompted; names are whatever people chose."""
    usage = WholeUsage(
        days=tuple((f"2026-11-{place:02}", spent) for place, spent in enumerate(days)),
        imps=imps,
        conversations=conversations,
    )
    chart = usage_chart(usage, lambda channel: f"#{channel}")
    assert chart.png.startswith(b"\x89PNG")
    assert 0 < len(chart.description) <= MAX_DESCRIPTION
