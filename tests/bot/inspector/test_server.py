"""Where the inspector listens."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from bot.inspector.server import open_inspector
from bot.names import NoNames
from config.settings import InspectorSettings
from sessions.run_feed import RunFeed
from support.free_ports import free_port


async def test_bots_that_start_at_once_have_a_page_each(tmp_path: Path) -> None:
    """Issue 8 "Several imps": both want the same port, and one gives way before it is too late."""
    settings = InspectorSettings(port=free_port())
    async with AsyncExitStack() as stack:
        opening = [
            open_inspector(tmp_path, settings, feed=RunFeed(), names=NoNames()) for _ in range(2)
        ]
        first, second = await asyncio.gather(*map(stack.enter_async_context, opening))
        assert first is not None
        assert second is not None
        assert settings.port in (first.port, second.port)
        assert first.port != second.port
