"""A trace is read once until it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.runs.book import RunBook
from bot.runs.kept_traces import KeptTraces
from compiler.request import RunId
from sessions.traces.reader import TraceDamaged
from support.recorded_runs import RUN, change_line, record_run

LATER = RunId("2026-11-30-08-00-00-efgh")


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    await record_run(tmp_path)
    await record_run(tmp_path, run_id=LATER)
    return tmp_path


async def test_a_trace_is_read_once_until_it_changes(home: Path) -> None:
    """What was changed is verified anew, and what damage says is never kept back."""
    book = RunBook(home, None, kept=KeptTraces())
    first, again = await book.open(RUN), await book.open(RUN)
    assert again.trace is first.trace
    assert (await book.open(LATER)).trace is not first.trace
    change_line(home, RUN, 2, "one", "two")
    assert (await book.check(RUN)).problems
    for _ in range(2):
        with pytest.raises(TraceDamaged):
            await book.open(RUN)


async def test_no_more_is_kept_than_fits(home: Path) -> None:
    book = RunBook(home, None, kept=KeptTraces(most_bytes=1))
    first, again = await book.open(RUN), await book.open(RUN)
    assert again.trace == first.trace
    assert again.trace is not first.trace


def test_a_file_that_is_not_there_is_for_its_reader_to_tell(tmp_path: Path) -> None:
    def reading() -> None:
        raise TraceDamaged("gone")

    with pytest.raises(TraceDamaged):
        KeptTraces().read((tmp_path / "none",), None, reading)  # type: ignore[arg-type]
