"""A chart as a file of an answer. Drawing takes a moment, so it is done beside the loop.

The text beside a picture tells the same, so an answer is given also where drawing fails.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable

import discord
import structlog

from bot.charts.canvas import Chart
from bot.logs import describe

_log = structlog.get_logger(__name__)


async def drawn(draw: Callable[[], Chart | None]) -> list[discord.File]:
    """Draw a chart and give it as a file; none where there is nothing to draw."""
    try:
        chart = await asyncio.to_thread(draw)
    except Exception as error:  # noqa: BLE001  (logged; the text tells the same)
        _log.error("chart.failed", **describe(error))
        return []
    if chart is None:
        return []
    file = discord.File(io.BytesIO(chart.png), chart.name, description=chart.description)
    return [file]
