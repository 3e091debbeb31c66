"""Many conversations at once in one bot, with a scripted pi: a real one would be all of the time.

Everybody says a word of his own and hears it again, unless no trace held it when pi was asked.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from bot.playground.entities import Channel, Message
from bot.playground.ids import BO, EMBER, ORCHARD
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from sessions.traces.proof import verify
from support.app_world import AppWorld, running
from support.free_ports import free_port
from support.pi_world import fake_install

HEARD = "You said: word-"
"""How an answer begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """The people and their places; ``bot`` starts who answers them."""

    folder: Path
    pg: Playground
    model: ScriptedModel
    places: tuple[Channel, ...]
    port: int = field(default_factory=free_port)
    asked: dict[int, Message] = field(default_factory=dict)
    """Everything that was said to the bot, by the number of its word."""
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nobody need say more."""

    @property
    def home(self) -> Path:
        """The bot's home."""
        return self.folder / "home"

    @asynccontextmanager
    async def bot(self, settings: Mapping[str, Any] | None = None) -> AsyncIterator[AppWorld]:
        """Run the bot until the block ends."""
        install = fake_install(self.folder / "pi", "brief")
        chosen = {
            "box": {"mode": "off"},
            "sessions": {"max_warm": len(self.places)},
            "metrics": {"enabled": True, "port": self.port},
            **(settings or {}),
        }
        async with running(self.home, self.pg, self.model, chosen, install=install) as app:
            yield app

    async def health(self) -> tuple[int, str]:
        """Ask as a monitor does."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.port}/readyz") as answer,
        ):
            return answer.status, await answer.text()

    async def say(self) -> list[Message]:
        """Let everybody say a word."""
        said = []
        for place in self.places:
            number = next(self.numbers)
            said.append(await self.pg.say(BO, place, f"<@{EMBER}> word-{number:04}"))
            self.asked[number] = said[-1]
        return said

    def replies(self, asked: Message) -> list[str]:
        """What the bot replied to a message so far."""
        told = self.pg.messages(asked.channel_id)
        return [each.content for each in told if each.reply_to == asked.id]

    async def answered(self, asked: Collection[Message], *, count: int | None = None) -> None:
        """Wait until all of some messages have a reply, or so many of them."""
        wanted = len(asked) if count is None else count
        await self.pg.until(
            lambda: sum(bool(self.replies(each)) for each in asked) >= wanted or None
        )

    def account(self) -> dict[str, int]:
        """Count what became of all that was said: words heard, lines told, and what must not be."""
        heard = told = wrong = 0
        for number, asked in self.asked.items():
            match self.replies(asked):
                case [reply] if reply == f"{HEARD}{number:04}":
                    heard += 1
                case [reply] if not reply.startswith(HEARD):
                    told += 1
                case _:
                    wrong += 1
        return {"heard": heard, "told": told, "lost, doubled or untraced": wrong}

    def broken_chains(self) -> list[str]:
        """Name the runs whose traces do not verify."""
        traces = self.home.glob("runs/*/context.jsonl")
        return [each.parent.name for each in traces if not verify(each).ok]


@asynccontextmanager
async def crowd_of(folder: Path, count: int) -> AsyncIterator[Crowd]:
    """Make so many places."""
    async with Playground() as pg, ScriptedModel() as model:
        places = tuple(pg.world.add_channel(ORCHARD, f"nook-{n}") for n in range(count))
        yield Crowd(folder=folder, pg=pg, model=model, places=places)
