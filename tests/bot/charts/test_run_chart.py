"""A turn's picture: its figures are those of the run's text, and none of its content."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.charts.canvas import Canvas
from bot.charts.run_chart import run_chart
from bot.runs.book import open_book
from compiler.request import RunId
from sessions.review.views import RunView
from support.recorded_runs import CANARY, RUN, Said, record_run


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All that is written onto sheets."""
    found: list[str] = []
    real, real_right = Canvas._write, Canvas._write_right

    def write(canvas: Canvas, text: str, *args: int, **kwargs: object) -> None:
        found.append(text)
        real(canvas, text, *args, **kwargs)  # type: ignore[arg-type]

    def write_right(canvas: Canvas, text: str, **kwargs: object) -> int:
        found.append(text)
        return real_right(canvas, text, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Canvas, "_write", write)
    monkeypatch.setattr(Canvas, "_write_right", write_right)
    return found


async def view_of(home: Path, *turns: Said) -> RunView:
    run_id = RunId(RUN)
    await record_run(home, turns, run_id=run_id)
    async with open_book(home) as book:
        return (await book.open(run_id)).view


async def test_blocks_and_budget_stand_in_it(tmp_path: Path, written: list[str]) -> None:
    """Issue: the blocks and the budget, the same figures as the text; no content (CC)."""
    view = await view_of(tmp_path, Said(text="one", number=1), Said(text="two", number=2))
    chart = run_chart(view)
    turn = view.turns[-1]
    assert view.start is not None
    assert turn.compilation.budget is not None
    for block in (*view.start.blocks, *turn.compilation.blocks):
        assert block.kind in written
        assert f"{block.chars:,}" in written
        assert block.authority in written
        assert f"{block.kind} {block.chars:,}" in chart.description
    budget = turn.compilation.budget
    assert f"{budget.used_chars:,} of {budget.limit_chars:,} characters" in written
    assert f"{budget.used_chars:,} of {budget.limit_chars:,} characters." in chart.description
    assert "980 tokens" in written, "of the provider's cache"
    assert CANARY not in chart.description + "".join(written)
    assert chart.png.startswith(b"\x89PNG")
    assert chart.name == f"{RUN}.png"


async def test_the_named_turn_is_drawn(tmp_path: Path, written: list[str]) -> None:
    view = await view_of(tmp_path, Said(text="one", number=1), Said(text="two", number=2))
    run_chart(view, 1)
    assert "Turn 1" in written
    assert view.turns[0].compilation.omissions, "twenty messages and three notes did not fit"
    assert "Left out or shortened" in written


async def test_a_run_without_turns_and_a_turn_that_failed(
    tmp_path: Path, written: list[str]
) -> None:
    assert run_chart(await view_of(tmp_path / "a")).description.startswith("System prompt of run")
    failed = await view_of(tmp_path / "b", Said(text="one", number=1, fails=True))
    run_chart(failed)
    assert "Not compiled" in written
    failure = failed.turns[0].compilation.failure
    assert failure is not None
    assert failure.code in written
