"""The whole bot in this process: playground, scripted model, real pi, a home of its own.

A start of pi is most of what such a test costs. Tests that need no bot of their own share one
(``housed`` in a fixture of the module) and its warm sessions; ``begin_anew`` gives each of them an
empty Discord, a model that nothing was asked of, and a bot that heard nothing. Its settings, its
notes and what a warm session was told stay: whoever changes them, or looks at the beginning of a
session, takes a channel of its own (``place``).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from discord.backoff import ExponentialBackoff

from bot import auto_threads, client, interactions, look_back, threads, voice
from bot.app import Wiring, serve
from bot.host import Host
from bot.playground.entities import Channel, Message
from bot.playground.ids import ADA, DIRECT, EMBER, ORCHARD
from bot.playground.people.invoking import InteractionResult
from bot.playground.pointing import pointed_at
from bot.playground.scripted_model import ScriptedModel
from bot.playground.server import Playground
from config.homedir import DATABASE_FILE
from config.load import LiveConfig, ensure_home
from sessions.pi.process import PiInstall
from support.pi_world import INSTALL
from support.playground_bot import PATIENCE_SECONDS, empty, unhurried

READY_SECONDS = ANSWER_SECONDS = PATIENCE_SECONDS
"""A turn with the start of its session, on a machine with much else to do."""
ZONE = f"Etc/GMT{datetime.now(UTC).hour - 12:+d}"
"""Where it is noon now (there a minus is ahead of Greenwich): no day ends while the tests run."""
UNHURRIED: Mapping[str, Mapping[str, Any]] = {
    "sessions": {
        "start_seconds": PATIENCE_SECONDS,
        "abort_seconds": PATIENCE_SECONDS,
        "command_seconds": PATIENCE_SECONDS,
        "store_seconds": PATIENCE_SECONDS,
    },
    "box": {"probe_seconds": PATIENCE_SECONDS},
    "limits": {"timezone": ZONE},
    "memory": {"tool_seconds": PATIENCE_SECONDS},
    "files": {"seconds": PATIENCE_SECONDS},
    "talk": {"stop_button_seconds": 2 * PATIENCE_SECONDS},
}
"""The settings that give up, or say that it takes long, where a machine only stands still; and
where the day of ``[limits]`` begins."""
_WAITS = (
    (interactions, "CLAIM_SECONDS"),
    (auto_threads, "OPEN_SECONDS"),
    (auto_threads, "LOOK_SECONDS"),
    (look_back, "LOOK_SECONDS"),
    (threads, "ASK_SECONDS"),
    (voice, "PATIENCE_SECONDS"),
)
"""As these settings, but nobody has to set them."""
IMPATIENT_SECONDS = 0.05
"""How long a write waits for a lock that is not going to be let go."""
FENCE = "fence"
RECONNECT_SECONDS = 0.05
"""The library doubles its waits between two connections, up to minutes."""
SERVERS_SILENCE_SECONDS = 0.02
"""The playground tells of its servers in one go; the library need not listen for more."""


@dataclass(slots=True, kw_only=True)
class AppWorld:
    """A running bot and both of its sides."""

    home: Path
    pg: Playground
    model: ScriptedModel
    live: LiveConfig
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    commands: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the slash commands stand."""
    said: list[str] = field(default_factory=list)
    """Lines told to the owner's terminal."""
    hosts: list[Host] = field(default_factory=list)
    """What carries the runs."""

    @property
    def host(self) -> Host:
        """What carries the runs of the bot that is up."""
        return self.hosts[-1]

    async def ask(
        self, user: int, channel: Channel | int, text: str, *, reply_to: Message | None = None
    ) -> tuple[Message, Message]:
        """Say something and wait for the bot's answer to it."""
        asked = await self.pg.say(user, channel, text, reply_to=reply_to)
        answer = await self.pg.wait_for_message(
            channel,
            lambda message: message.reply_to == asked.id,
            after=asked,
            timeout=ANSWER_SECONDS,
        )
        return asked, answer

    async def settle(self, user: int = ADA, channel: Channel | int = DIRECT[ADA]) -> Message:
        """Wait until the bot has handled everything said so far: a fence, in the owner's DM.

        Events reach the bot in order, and each has been read when its answer comes; a short turn
        of the owner's is therefore the bound for "nothing came of it". In a channel whose session
        is warm it costs no start of pi. Give the fence.
        """
        mark = "" if channel in DIRECT.values() else f"<@{EMBER}> "
        asked, _ = await self.ask(user, channel, f"{mark}{FENCE}")
        return asked

    async def slash(
        self, user: int, channel: Channel | int, command: str, /, **options: str
    ) -> InteractionResult:
        """Use a slash command once they are there, as the owner or by its mere name."""
        async with asyncio.timeout(READY_SECONDS):
            await self.commands.wait()
        return await self.pg.slash(
            user, channel, command, force=user != ADA, options=options, timeout=READY_SECONDS
        )

    async def rest(self) -> None:
        """Wait until nothing that was said is owed an answer; a model that still thinks is cut off.

        So a test that failed leaves no turn behind that the next one's would wait for.
        """
        self.model._steps.clear()
        for request in tuple(self.model._open.values()):
            if request.transport is not None:
                request.transport.abort()
        async with asyncio.timeout(ANSWER_SECONDS):
            while await self.host.parts.inbox.owed():  # noqa: ASYNC110 - it has no event of its own
                await asyncio.sleep(0.01)

    async def noted(self) -> None:
        """Wait until all that was posted is noted, and known to have been said."""
        await self.rest()
        pending = "SELECT count(*) FROM outbox WHERE state = 'pending'"
        with closing(sqlite3.connect(self.home / DATABASE_FILE, timeout=READY_SECONDS)) as db:
            async with asyncio.timeout(ANSWER_SECONDS):
                while db.execute(pending).fetchone() != (0,):  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.01)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Hold the lock for writing, as another process does, for longer than the bot's patience.

        Only what waits for the lock gives up: all else has the time that it needs.
        """
        await self._wait_for_locks(IMPATIENT_SECONDS)
        other = sqlite3.connect(
            self.home / DATABASE_FILE, timeout=READY_SECONDS, isolation_level=None
        )
        with closing(other):
            other.execute("BEGIN IMMEDIATE")
            yield
        await self._wait_for_locks(self.live.current.sessions.store_seconds)

    @asynccontextmanager
    async def database_read_only(self) -> AsyncIterator[None]:
        """Let nothing be written into the database, as on a disk that became read-only."""
        await self._set_writer("query_only = ON")
        yield
        await self._set_writer("query_only = OFF")

    async def _wait_for_locks(self, seconds: float) -> None:
        await self._set_writer(f"busy_timeout = {round(seconds * 1_000)}")

    async def _set_writer(self, pragma: str) -> None:
        await self.host.database._writer.call(lambda db: db.execute(f"PRAGMA {pragma}").close())

    def begin_anew(self) -> None:
        """Forget what was said, asked and scripted on both sides of the bot, and what it heard."""
        self.model.requests.clear()
        self.model._steps.clear()
        empty(self.pg)
        with closing(sqlite3.connect(self.home / DATABASE_FILE, timeout=READY_SECONDS)) as db, db:
            db.execute("DELETE FROM history")

    @contextmanager
    def owner_sets(self, settings: str) -> Iterator[None]:
        """Let ``org.toml`` hold these settings in a block, of those that count at once."""
        file = self.home / "org.toml"
        before = file.read_bytes()
        file.write_text(settings, encoding="utf-8")
        assert self.live.reload().applied, self.live.problems
        try:
            yield
        finally:
            file.write_bytes(before)
            assert self.live.reload().applied

    def place(self, name: str = "attic") -> Channel:
        """Add a channel to the server: a conversation that nobody had, with the usual settings."""
        return self.pg.world.add_channel(ORCHARD, name)

    @property
    def prompts(self) -> list[str]:
        """What the model was asked, fences left out."""
        texts = [request.last_user_text for request in self.model.requests]
        return [text for text in texts if f'{FENCE}"' not in text.rpartition("\n")[2]]


@asynccontextmanager
async def housed(home: Path, settings: Mapping[str, Any] | None = None) -> AsyncIterator[AppWorld]:
    """Run the bot with a Discord and a model of its own."""
    async with (
        Playground() as pg,
        ScriptedModel() as model,
        running(home, pg, model, settings) as world,
    ):
        yield world


@asynccontextmanager
async def running(
    home: Path,
    pg: Playground,
    model: ScriptedModel,
    settings: Mapping[str, Any] | None = None,
    *,
    expect_ready: bool = True,
    install: PiInstall = INSTALL,
) -> AsyncIterator[AppWorld]:
    """Run the bot on a home until the block ends; its exit code must be 0."""
    # Debugging keeps the stack of each future: a third of a whole bot's time. What it finds (calls
    # from other threads, waits that nobody awaits) is found by the tests of the parts.
    asyncio.get_running_loop().set_debug(False)
    ensure_home(home)
    overrides: dict[str, Any] = {
        "discord": {"api": pg.api_base, "owners": [str(ADA)]},
        "engine": {
            "provider": "test",
            "model": "scripted",
            "url": model.url,
            "context_window": 1_000_000,
            "retry_base_seconds": 0.01,
        },
        "channels": {"default": {"enabled": True}},
        "warm_up": {"dm": False, "trusted": False},
        "inspector": {"enabled": False},
        **(settings or {}),
    }
    for section, patient in UNHURRIED.items():
        overrides[section] = {**patient, **overrides.get(section, {})}
    live = LiveConfig(home, environ={"DISCORD_TOKEN": pg.token}, overrides=overrides)
    world = AppWorld(home=home, pg=pg, model=model, live=live)
    wiring = Wiring(
        commands=world.commands,
        say=world.said.append,
        set_up_logging=False,
        on_host=world.hosts.append,
    )
    with (
        ExitStack() as waits,
        pointed_at(pg),  # puts the library's addresses back afterwards
        unhurried(pg),
        patch.object(client, "GUILD_READY_SECONDS", SERVERS_SILENCE_SECONDS),
        patch.object(ExponentialBackoff, "delay", lambda _: RECONNECT_SECONDS),
    ):
        for module, name in _WAITS:
            waits.enter_context(patch.object(module, name, PATIENCE_SECONDS))
        async with asyncio.TaskGroup() as tasks:
            served = tasks.create_task(
                serve(live, home, install=install, stop=world.stop, wiring=wiring)
            )
            try:
                if expect_ready:
                    await _ready(wiring, served, world)
                yield world
            finally:
                world.stop.set()
            assert await served == 0, world.said


async def _ready(wiring: Wiring, served: asyncio.Task[int], world: AppWorld) -> None:
    async with asyncio.TaskGroup() as tasks:
        ready = tasks.create_task(wiring.ready.wait())
        await asyncio.wait(
            {ready, served}, timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        ready.cancel()
    assert wiring.ready.is_set(), world.said
