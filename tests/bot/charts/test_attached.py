"""A picture beside an answer: a file with its description, or nothing at all."""

from __future__ import annotations

import threading

from structlog.testing import capture_logs

from bot.charts.attached import drawn
from bot.charts.canvas import Chart


async def test_it_is_drawn_beside_the_loop_and_described() -> None:
    where: list[int] = []

    def draw() -> Chart:
        where.append(threading.get_ident())
        return Chart(name="a.png", png=b"png", description="what it shows")

    (file,) = await drawn(draw)
    assert (file.filename, file.description, file.fp.read()) == ("a.png", "what it shows", b"png")
    assert where != [threading.get_ident()]
    assert await drawn(lambda: None) == []


async def test_where_drawing_fails_the_text_is_given_alone() -> None:
    """The log says where it failed, and none of what was drawn."""

    def draw() -> Chart:
        raise ValueError("secret")

    with capture_logs() as logs:
        assert await drawn(draw) == []
    (line,) = logs
    assert line["event"] == "chart.failed"
    assert "secret" not in str(line)
