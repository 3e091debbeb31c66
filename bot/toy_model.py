"""The embedded model for a host of its own, and the settings that lead to it.

It is small: its answers are toys, so they are kept short, and what it is given fits its window.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Final

from bot import bootstrap
from bot.playground.embedded_model import EmbeddedModel
from compiler.budget import ContextBudgets
from sessions.limits import EngineSettings

TOY_TOKENS: Final = 160
"""The embedded model seldom ends by itself; this is three to ten seconds of its rambling."""
TOY_CONTEXT: Final[Mapping[str, int]] = {
    "max_injected_chars": 20_000,
    "task_max_chars": 8_000,
    "memory_max_chars": 3_000,
    "briefing_max_chars": 2_000,
    "history_max_chars": 2_000,
}
"""Its window is small: a token is four characters of English, but less than one of Chinese."""


async def open_model(stack: AsyncExitStack, engine: EngineSettings) -> Mapping[str, object]:
    """Start the embedded model and give the engine's settings that lead to it."""
    path = await asyncio.to_thread(bootstrap.find_model)
    model = EmbeddedModel(path, library_dir=await asyncio.to_thread(bootstrap.libgomp_dir))
    await stack.enter_async_context(model)
    return {
        "url": model.url,
        "model": model.name,
        "context_window": model.context_window,
        "max_tokens": toy_tokens(engine),
    }


def toy_tokens(engine: EngineSettings) -> int:
    """The embedded model's longest answer: short, unless the owner set a length."""
    usual = EngineSettings().max_tokens
    return engine.max_tokens if engine.max_tokens != usual else TOY_TOKENS


def toy_context(budgets: ContextBudgets) -> Mapping[str, int]:
    """The limits that fit the embedded model's window, each unless the owner set that one."""
    usual = ContextBudgets()
    return {
        key: limit
        for key, limit in TOY_CONTEXT.items()
        if getattr(budgets, key) == getattr(usual, key)
    }
