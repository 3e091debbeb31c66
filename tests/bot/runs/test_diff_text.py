"""What people read of a difference: at most 60 columns, no content."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from bot.runs.book import open_book
from bot.runs.diff_text import diff_text
from sessions.review.differences import BlockDifference, Change, Difference
from support.recorded_runs import RUN, narrow, record_run


def _block(kind: str, change: Change, before: int | None, after: int | None) -> BlockDifference:
    return BlockDifference(
        kind=kind,
        change=change,
        chars_before=before,
        chars_after=after,
        sha256_before=None,
        sha256_after=None,
        first_difference=123 if change is Change.CHANGED else None,
    )


def test_a_difference_in_words() -> None:
    difference = Difference(
        before=("2026-11-28-01-02-03-wxyz", 7),
        after=(RUN, 1),
        blocks=(
            _block("identity", Change.SAME, 820, 820),
            _block("purpose", Change.CHANGED, 7999, 8000),
            _block("history", Change.ADDED, None, 600),
            _block("briefing", Change.REMOVED, 90, None),
        ),
    )
    assert narrow(diff_text(difference)) == snapshot("""\
Run 2026-11-29-23-16-35-abcd
Turn 1 against turn 7 of 2026-11-28-01-02-03-wxyz

= identity            820  same
~ purpose           7,999 → 8,000, from character 123
+ history             600  new
- briefing             90  gone

System prompt: changed, so the cache begins anew.\
""")


async def test_a_difference_between_turns_of_one_run(tmp_path: Path) -> None:
    await record_run(tmp_path)
    async with open_book(tmp_path) as book:
        text = narrow(diff_text(await book.diff(await book.open(RUN), 2)))
    assert "Turn 2 against turn 1\n" in text
    assert text.endswith("System prompt: the same, byte for byte.")


def test_a_first_turn_has_nothing_to_compare_with() -> None:
    text = diff_text(Difference(before=None, after=(RUN, 1), blocks=()))
    assert "Nothing to compare with" in text


@given(
    st.integers(0, 999_999),
    st.sampled_from(list(Change)),
)
def test_no_size_breaks_the_width(chars: int, change: Change) -> None:
    block = _block("runtime-policy", change, chars, chars)
    narrow(diff_text(Difference(before=(RUN, 1), after=(RUN, 2), blocks=(block,))))
