"""A discord.py bot running against a playground, for tests of the playground itself."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import discord
from discord.ext import commands

from bot.playground.applications import interactions
from bot.playground.pointing import pointed_at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from bot.playground.server import Playground


PATIENCE_SECONDS = 120.0
"""How long something that must come is waited for: a start of pi takes a busy machine half a
minute, and now and then such a machine stands still."""


class SmallBot(commands.AutoShardedBot):
    """A bot that keeps every message it saw and calls ``on_text`` for those of others."""

    def __init__(
        self,
        on_text: Callable[[discord.Message], Coroutine[Any, Any, object]] | None = None,
        *,
        content: bool = True,
        intents: discord.Intents | None = None,
    ) -> None:
        usual = discord.Intents.default()
        usual.message_content = content
        super().__init__("!", guild_ready_timeout=0.05, intents=intents or usual)
        self.seen: list[discord.Message] = []
        self.events: list[str] = []
        self._on_text = on_text
        self._new = asyncio.Event()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Do not wait five seconds between two logins, as discord.py does."""
        del shard_id, initial

    async def saw(self, count: int) -> list[discord.Message]:
        """Wait until so many messages have come, and return them all."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.seen) < count:
                self._new.clear()
                await self._new.wait()
        return self.seen

    async def on_message(self, message: discord.Message) -> None:
        self.seen.append(message)
        self._new.set()
        if self._on_text is not None and not message.author.bot:
            await self._on_text(message)

    async def on_socket_event_type(self, name: str) -> None:
        self.events.append(name)
        self._new.set()

    async def heard(self, name: str, count: int = 1) -> None:
        """Wait until a gateway event has come so many times."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.events.count(name) < count:
                self._new.clear()
                await self._new.wait()


def empty(pg: Playground) -> None:
    """Forget what was said, asked and scripted on a playground; its people and places stay."""
    pg.faults.clear()
    pg.rest.log.clear()
    pg.world.ephemerals.clear()
    for channel in pg.world.channels.values():
        channel.messages.clear()
        channel.last_message_id = None


@contextlib.contextmanager
def unhurried(pg: Playground) -> Iterator[None]:
    """Let the first answer to a command take longer than Discord's three seconds."""
    with (
        patch.object(interactions, "FIRST_ANSWER_SECONDS", PATIENCE_SECONDS),
        patch.object(pg.invoking, "answer_seconds", PATIENCE_SECONDS),
    ):
        yield


@contextlib.asynccontextmanager
async def running(bot: commands.AutoShardedBot, pg: Playground) -> AsyncIterator[None]:
    """Run a bot against a playground until the block ends."""
    with pointed_at(pg), unhurried(pg):
        async with bot, asyncio.TaskGroup() as group:
            group.create_task(bot.start(pg.token))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await bot.wait_until_ready()
            try:
                yield
            finally:
                await bot.close()
