"""Several bots in one playground, over real sockets: each has its token, commands and messages."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import discord
import pytest
from discord import app_commands

from bot.playground.applications.bots import Application, Applications
from bot.playground.applications.commands import Registry
from bot.playground.ids import ADA, EMBER, HARBOUR, HEARTH, ORCHARD, PIER
from bot.playground.people.invocation import NotOfferedError
from bot.playground.pointing import pointed_at
from bot.playground.server import Playground
from bot.playground.world.state import default_world
from support.playground_bot import PATIENCE_SECONDS, unhurried

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Listener(discord.Client):
    """A plain bot that keeps what it hears and answers its one command."""

    def __init__(self, name: str) -> None:
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(intents=intents, guild_ready_timeout=0.05)
        self.heard: asyncio.Queue[str] = asyncio.Queue()
        self.asked = 0
        self.ready = asyncio.Event()
        self.tree = app_commands.CommandTree(self)

        @self.tree.command(name=name, description="Who is it?")
        async def who(interaction: discord.Interaction) -> None:
            await interaction.response.defer()
            assert self.user is not None
            await interaction.followup.send(f"{self.user.name}")

    async def on_ready(self) -> None:
        self.ready.set()

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        del interaction
        self.asked += 1

    async def on_message(self, message: discord.Message) -> None:
        self.heard.put_nowait(message.content)


@asynccontextmanager
async def logged_in(bot: Listener, token: str) -> AsyncIterator[Listener]:
    async with bot, asyncio.TaskGroup() as tasks, asyncio.timeout(PATIENCE_SECONDS):
        tasks.create_task(bot.start(token))
        await bot.ready.wait()
        await bot.tree.sync()
        yield bot
        await bot.close()


async def test_each_hears_its_own_and_answers_as_itself() -> None:
    """Issue 8 "Several imps": one world, two tokens; nothing of one reaches the other."""
    async with Playground() as pg:
        scribe = pg.add_bot("Scribe", guilds=[ORCHARD])
        with pointed_at(pg), unhurried(pg):
            async with (
                logged_in(Listener("ember"), pg.token) as one,
                logged_in(Listener("scribe"), scribe.token) as other,
            ):
                assert (one.user, other.user) != (None, None)
                assert {guild.id for guild in one.guilds} == {ORCHARD, HARBOUR}
                assert {guild.id for guild in other.guilds} == {ORCHARD}

                await pg.say(ADA, await pg.open_dm(ADA, scribe.user), "to the scribe")
                await pg.say(ADA, await pg.open_dm(ADA), "to ember")
                await pg.say(ADA, PIER, "in the harbour")
                await pg.say(ADA, HEARTH, "to both")
                assert [await one.heard.get() for _ in range(3)] == [
                    "to ember",
                    "in the harbour",
                    "to both",
                ]
                assert [await other.heard.get() for _ in range(2)] == ["to the scribe", "to both"]

                told = await pg.slash(ADA, HEARTH, "scribe", bot=scribe.user)
                assert (told.text, told.messages[0].author_id) == ("scribe", scribe.user.id)
                told = await pg.slash(ADA, HEARTH, "ember")
                assert (told.text, told.messages[0].author_id) == ("ember", EMBER)
                await pg.say(ADA, HEARTH, "fence")
                for bot in (one, other):
                    while await bot.heard.get() != "fence":
                        pass  # the answers to both commands
                    assert bot.asked == 1
                with pytest.raises(NotOfferedError):
                    await pg.slash(ADA, HEARTH, "scribe")
                (offered,) = pg.commands_for(ADA, await pg.open_dm(ADA, scribe.user))
                assert offered.name == "scribe"

                posted = await other.get_partial_messageable(HEARTH).send("mine")
                with pytest.raises(discord.Forbidden):
                    await (
                        one.get_partial_messageable(HEARTH)
                        .get_partial_message(posted.id)
                        .edit(content="not mine")
                    )
                with pytest.raises(discord.Forbidden):
                    await other.fetch_channel(PIER)


async def test_a_token_that_nobody_has_is_refused() -> None:
    """A second bot opens the door for its own token alone."""
    async with Playground() as pg:
        pg.add_bot("Scribe", token="right")  # noqa: S106 - it opens nothing
        with pointed_at(pg):
            async with Listener("scribe") as bot:
                with pytest.raises(discord.LoginFailure):
                    await bot.login("wrong")
            async with Listener("scribe") as bot:
                await bot.login("right")


def test_who_is_asked() -> None:
    """The bot that is named, the one of a direct message, else the first."""
    world = default_world()
    first = Application(token="one", world=world, registry=Registry(world))  # noqa: S106
    bots = Applications(first)
    scribe = world.add_user("scribe", bot=True)
    second = Application.further(world, scribe, None)
    bots.add(second)
    hearth = world.channel(HEARTH)
    assert bots.every() == (first, second)
    assert second.user is scribe
    assert world.bot.id == EMBER
    assert bots.asked(hearth, None) is first
    assert bots.asked(hearth, scribe) is second
    assert bots.asked(world.dm(ADA, scribe), None) is second
    with pytest.raises(KeyError):
        bots.of(ADA)
