"""``/cache``: the owner's, ephemeral, deferred, and a file where it is long."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, create_autospec

import discord

from bot.cogs.cache import SESSIONS, CacheCog
from bot.runs.book import RunBook
from bot.split import LIMIT_UNITS
from sessions.review.cache_report import (
    BreakCause,
    CacheBreak,
    CacheFigures,
    CacheReport,
    ImpCache,
    SessionCache,
)

FIGURES = CacheFigures(calls=1, input_tokens=10, cached_tokens=5, expected_tokens=5)


def report_of(breaks: int) -> CacheReport:
    run = "2026-11-29-23-16-35-abcd"
    found = CacheBreak(
        run_id=run,
        turn_id=None,
        at="2026-11-29T23:17:00.000Z",
        cause=BreakCause.NEW_SESSION,
        block="",
        at_byte=None,
        lost_tokens=0,
    )
    session = SessionCache(
        run_id=run,
        imp="ember",
        channel_id=None,
        began_at="",
        figures=FIGURES,
        unmeasured=0,
        observed=True,
        breaks=(found,) * breaks,
    )
    return CacheReport(
        sessions=(session,), imps=(ImpCache(imp="ember", sessions=1, figures=FIGURES),)
    )


async def used(report: CacheReport, run: str | None) -> tuple[Any, Any]:
    book = create_autospec(RunBook, instance=True)
    book.cache.return_value = report
    interaction = create_autospec(discord.Interaction, instance=True)
    interaction.response.defer = AsyncMock()
    interaction.followup.send = AsyncMock()
    cog = CacheCog(book)
    callback: Any = CacheCog.cache.callback
    await callback(cog, interaction, run)
    interaction.response.defer.assert_awaited_once_with(ephemeral=True)
    book.cache.assert_awaited_once_with(SESSIONS, run=run)
    (sent,) = interaction.followup.send.await_args_list
    assert sent.kwargs["ephemeral"] is True
    return sent.args[0], next(iter(sent.kwargs["files"]), None)


async def test_a_short_report_is_one_block() -> None:
    text, file = await used(report_of(1), None)
    assert text.startswith("```\nIMP")
    assert "new session" in text
    assert file is None


async def test_a_long_report_is_a_file_with_the_imps_before_it() -> None:
    text, file = await used(report_of(100), "abcd")
    assert len(text) < LIMIT_UNITS
    assert "ember" in text
    assert file.filename == "cache.txt"
