"""What shows a running bot to its owner, beside Discord: the page, the figures, the spans.

None of them holds up a conversation: a page that cannot be opened is logged and left out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from bot.client import InglenookBot
from bot.inspector.server import Inspector, open_inspector
from bot.logs import describe
from bot.metrics.figures import Figures
from bot.metrics.health import Health
from bot.metrics.server import open_metrics
from bot.names import DiscordNames
from bot.telemetry.sink import open_telemetry
from config.load import LiveConfig
from sessions.parts import SessionParts
from sessions.run_feed import RunFeed
from sessions.run_files import RUNS_DIR
from sessions.store.database import Database

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def open_outlooks(
    bot: InglenookBot,
    parts: SessionParts,
    database: Database,
    *,
    figures: Figures,
    closing: Callable[[], bool],
    tell: Callable[[str], None],
) -> AsyncIterator[Inspector | None]:
    """Open what the settings name until the block ends; give the page, where there is one.

    Args:
        bot: knows the settings, names of channels, and whether Discord is heard.
        parts: bring the clock and the feed of runs.
        database: what is counted.
        figures: what was counted since the start.
        closing: whether the bot is about to end.
        tell: where the owner reads the addresses.
    """
    live = bot.live
    settings = live.current
    async with AsyncExitStack() as stack:
        inspector = await _open_inspector(stack, bot, parts.feed, tell)
        if settings.metrics.enabled:
            health = Health(live.home, database, connected=lambda: bot.hears, closing=closing)
            port = await stack.enter_async_context(
                open_metrics(
                    settings.metrics,
                    figures=figures,
                    health=health,
                    database=database,
                    feed=parts.feed,
                    clock=parts.clock,
                )
            )
            if port is not None:
                tell(f"  Metrics  http://{settings.metrics.host}:{port}/metrics")
        if settings.telemetry.enabled:
            await stack.enter_async_context(
                open_telemetry(
                    settings.telemetry,
                    runs_dir=live.home / RUNS_DIR,
                    database=database,
                    feed=parts.feed,
                    clock=parts.clock,
                )
            )
        yield inspector


async def _open_inspector(
    stack: AsyncExitStack, bot: InglenookBot, feed: RunFeed, tell: Callable[[str], None]
) -> Inspector | None:
    live: LiveConfig = bot.live
    settings = live.current.inspector
    if not settings.enabled:
        return None
    opening = open_inspector(live.home, settings, feed=feed, names=DiscordNames(bot))
    try:
        inspector = await stack.enter_async_context(opening)
    except Exception as error:  # noqa: BLE001  (logged; the conversations go on)
        _log.error("inspector.failed", **describe(error))
        return None
    if inspector is not None:
        tell(f"  Inspect  {inspector.link()}")
        tell(f"           once, within {inspector.link_minutes:g} minutes; /inspect gives another")
    return inspector
