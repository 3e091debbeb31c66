"""The memory commands, menus and buttons on the playground, without any model behind them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.client import InglenookBot
from bot.cogs.memory import MemoryCog
from bot.cogs.memory_menus import MemoryMenus
from bot.delivery import Delivery
from bot.memory.desk import MemoryDesk
from bot.playground.entities import Message
from bot.playground.ids import ADA, BO, CY, DIRECT, EMBER, ORCHARD
from bot.playground.people.invoking import InteractionResult
from bot.playground.pointing import pointed_at
from bot.playground.server import Playground
from compiler.request import (
    ChannelId,
    GuildId,
    ImpName,
    MessageId,
    Place,
    RunId,
    RunScope,
    TurnId,
    UserId,
)
from config.load import LiveConfig, ensure_home
from sessions.memory.results import NoteView
from sessions.memory.rules import MemoryContext
from sessions.store.outbox import OutboxStore
from support.memory_world import Memory, kept, memory_in
from support.playground_bot import PATIENCE_SECONDS, unhurried


@dataclass(slots=True, kw_only=True)
class MemoryBot:
    """A running bot whose turns the test plays."""

    pg: Playground
    memory: Memory
    desk: MemoryDesk
    bot: InglenookBot

    async def use(
        self, user: int, channel: int, command: str, /, **options: object
    ) -> InteractionResult:
        """Use a command; every answer of these is for the person alone."""
        result = await self.pg.slash(user, channel, f"memory {command}", options=options)
        assert result.error is None
        assert result.ephemeral
        assert all(message.only_for == user for message in result.messages)
        return result

    async def noted(self, user: int, channel: int, text: str) -> tuple[Message, list[NoteView]]:
        """Let the model keep a note while it answers a message; show what comes of it."""
        asked = await self.pg.say(user, channel, text)
        turn_id = TurnId(f"discord:message:{asked.id}")
        ctx = model_context(user, channel, asked.id)
        kept(await self.memory.service.remember(ctx, text, explicit=False))
        written = await self.desk.written_in(turn_id)
        target = self.bot.get_partial_messageable(channel).get_partial_message(asked.id)
        buttons = self.desk.buttons_under(turn_id, written)
        if buttons is not None:
            await target.reply("Noted.", view=buttons)
        await self.desk.show(target, written)
        return asked, list(written)

    async def chosen_by(self, user: int, channel: int, text: str) -> list[str]:
        """The texts that a turn of somebody's would be given."""
        return await self.memory.chosen(person_scope(user, channel), text)

    def button(self, message: Message, word: str) -> str:
        """Find a button's id by what it does."""
        ids = [
            part["custom_id"]
            for row in message.components
            for part in row["components"]
            if part["custom_id"].startswith(f"memory:{word}:")
        ]
        assert len(ids) == 1, message.components
        return str(ids[0])

    async def last(self, channel: int) -> Message:
        """The bot's last message in a channel."""
        found: Message = await self.pg.until(
            lambda: next(
                (m for m in reversed(self.pg.messages(channel)) if m.author_id == EMBER), None
            )
        )
        return found


def person_scope(user: int, channel: int, message: int | None = None) -> RunScope:
    """Say as a host would where somebody writes."""
    is_dm = channel in DIRECT.values()
    return RunScope(
        provider="discord",
        place=Place.DM if is_dm else Place.GROUP,
        channel_id=ChannelId(f"discord:{channel}"),
        guild_id=None if is_dm else GuildId(f"discord:{ORCHARD}"),
        user_id=UserId(f"discord:{user}"),
        message_id=None if message is None else MessageId(f"discord:{message}"),
    )


def model_context(user: int, channel: int, message: int) -> MemoryContext:
    """Say as a host would in which turn a tool is called."""
    return MemoryContext(
        imp=ImpName("ember"),
        scope=person_scope(user, channel, message),
        by_model=True,
        run_id=RunId("2026-11-29-23-16-35-abcd"),
        turn_id=TurnId(f"discord:message:{message}"),
    )


@asynccontextmanager
async def memory_bot(home: Path, pg: Playground) -> AsyncIterator[MemoryBot]:
    """Run the memory part of the bot on a home."""
    ensure_home(home)
    overrides = {
        "discord": {"owners": [str(ADA)], "api": pg.api_base},
        "channels": {"default": {"enabled": True}},
        "allow": {"users": [str(BO), str(CY)]},
    }
    live = LiveConfig(home, environ={}, overrides=overrides)
    async with memory_in(home) as memory:
        desks: list[MemoryDesk] = []

        async def set_up(bot: InglenookBot) -> None:
            delivery = Delivery(outbox=OutboxStore(memory.database, clock=memory.clock))
            desk = MemoryDesk(bot, memory=memory.service, delivery=delivery)
            desks.append(desk)
            await bot.add_cog(desk)
            await bot.add_cog(MemoryCog(bot, memory=memory.service))
            menus = MemoryMenus(bot, memory=memory.service, desk=desk, runs=memory.runs)
            await bot.add_cog(menus)
            await bot.tree.sync()

        with pointed_at(pg), unhurried(pg):
            bot = InglenookBot(live, setup=set_up)
            bot._connection.guild_ready_timeout = 0.05  # the playground's servers come at once
            async with bot, asyncio.TaskGroup() as tasks:
                tasks.create_task(bot.start(pg.token))
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await bot.connected.wait()
                try:
                    yield MemoryBot(pg=pg, memory=memory, desk=desks[0], bot=bot)
                finally:
                    await bot.close()
