"""The composition root: what is built from what, how long it lives, and in which order it ends.

    home lock > host (``bot.host``) > registry of sessions > bot > deliveries > connection

Each is entered after and left before the ones to its left. When the bot is to stop, it takes no
more turns, lets the running ones finish and be posted, and only then leaves Discord.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog
from discord.http import Route

from bot import heap
from bot.alarms import OwnerAlarms
from bot.catch_up import CatchUp
from bot.client import InglenookBot
from bot.cogs.tasks import TasksCog
from bot.delivery import Delivery, DeliveryLimits
from bot.gates.service import GateService
from bot.home.housekeeping import Housekeeper, pruner_of
from bot.home.lock import home_lock
from bot.host import Host, open_host
from bot.inspector.server import Inspector
from bot.interactions import OnceOnly
from bot.lanes import Lanes
from bot.leftovers import Leftovers
from bot.login_faults import DISCORD_SAYS_NO, NO_TOKEN, why_ended, why_not_started
from bot.logs import configure_logging, describe
from bot.metrics.figures import Figures
from bot.outlooks import open_outlooks
from bot.parcels import Parcels
from bot.sending import UNREADABLE
from bot.tasks.desk import TaskDesk
from bot.threshold import Threshold
from bot.voice import DiscordVoice
from bot.wiring import add_cogs
from compiler.errors import SafeError
from config.load import LiveConfig, Reload, watch
from sessions.day_sums import DaySums
from sessions.engine import Engine
from sessions.pi.process import PiInstall
from sessions.registry import Registry
from sessions.store.cursors import CursorStore
from sessions.store.database import Database
from sessions.store.inbox import InboxStore
from sessions.store.outbox import OutboxStore

LOGIN_SECONDS: Final = 60.0
LEAVE_SECONDS: Final = 10.0
"""How long closing the connection may take."""
POST_SECONDS: Final = 20.0
"""How long the last answers may take to be posted after the last turn ended."""
COMMAND_SECONDS: Final = 5.0
"""How long the last slash commands may take to be answered."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """What the composition may be told to do differently, by tests and the benchmark."""

    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when all shards are up."""
    commands: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when Discord has the commands as they are now."""
    say: Callable[[str], None] = field(default=lambda line: print(line, file=sys.stderr))  # noqa: T201
    """Where the one line goes that tells why the bot does not run."""
    tell: Callable[[str], None] = field(default=lambda line: None)  # noqa: ARG005
    """Where good news goes that the owner's terminal shows."""
    delivery: DeliveryLimits = field(default_factory=DeliveryLimits)
    set_up_logging: bool = True
    for_good: bool = False
    """Whether what stands once all is up stays as long as the process, which is this bot's own."""
    wrap_engine: Callable[[Engine], Engine] = field(default=lambda engine: engine)
    """Put something around the engine, for example a stop-watch."""
    sums: DaySums = field(default_factory=DaySums)
    """What is spent on each day; bots of one process share it."""
    on_host: Callable[[Host], None] = field(default=lambda _: None)
    """Look at what carries the runs before any of them begins."""


async def serve(
    live: LiveConfig,
    home: Path,
    *,
    install: PiInstall,
    stop: asyncio.Event,
    wiring: Wiring | None = None,
) -> int:
    """Run the bot until ``stop`` is set or Discord ends it for good; give the exit code."""
    chosen = wiring or Wiring()
    if chosen.set_up_logging:
        configure_logging(live.current.log)
    try:
        async with AsyncExitStack() as stack:
            stack.enter_context(home_lock(home))
            alarms, figures = OwnerAlarms(), Figures()
            host = await stack.enter_async_context(
                open_host(
                    live,
                    home,
                    install=install,
                    on_alarm=alarms.mismatch,
                    wrap_engine=lambda engine: figures.watch(chosen.wrap_engine(engine)),
                    sums=chosen.sums,
                )
            )
            chosen.on_host(host)
            parts = host.parts
            registry = await stack.enter_async_context(Registry(parts))
            service = _Service(live, host, registry, chosen, alarms=alarms, figures=figures)
            failure = await service.run(stop)
    except SafeError as error:
        _log.error("app.failed", code=str(error.code), **error.facts)
        failure = why_not_started(error)
    if failure:
        chosen.say(failure)
    return 1 if failure else 0


class _Service:
    """The bot over its sessions, from login to farewell."""

    def __init__(
        self,
        live: LiveConfig,
        host: Host,
        registry: Registry,
        wiring: Wiring,
        *,
        alarms: OwnerAlarms,
        figures: Figures,
    ) -> None:
        parts, database = host.parts, host.database
        self._figures = figures
        self._live = live
        self._alarms = alarms
        self._parts = parts
        self._registry = registry
        self._memory = host.memory
        self._wiring = wiring
        self._database = database
        self._inspector: Inspector | None = None
        outbox = OutboxStore(database, clock=parts.clock, told=parts.feed.tell)
        self._inbox = InboxStore(database)
        self._delivery = Delivery(
            outbox=outbox,
            limits=wiring.delivery,
            alarms=alarms,
            talk=lambda: live.current.talk,
        )
        self._deliveries = asyncio.TaskGroup()
        self._threshold = self._make_threshold(database, outbox)
        self._gates = GateService(
            host.gates,
            outbox=outbox,
            inbox=self._inbox,
            delivery=self._delivery,
            threshold=self._threshold,
            tasks=self._deliveries,
        )
        Route.BASE = live.current.discord.api  # the library keeps it on the class
        self._bot = InglenookBot(live, setup=self._add_cogs)
        parcels = Parcels(
            self._bot,
            delivery=self._delivery,
            outward=self._threshold.outward,
            tasks=self._deliveries,
        )
        self._tasks = TaskDesk(
            self._bot,
            parts=parts,
            database=database,
            outbox=outbox,
            delivery=self._delivery,
            parcels=parcels,
        )
        host.filed.wakes = self._tasks.wake
        host.voice.voice = DiscordVoice(live, parcels)
        once = OnceOnly(CursorStore(database), self._deliveries)
        self._bot.guard_interactions(once.around)

    def _make_threshold(self, database: Database, outbox: OutboxStore) -> Threshold:
        inward = Lanes()
        return Threshold(
            live=self._live,
            catch_up=CatchUp(
                CursorStore(database),
                settings=lambda: self._live.current.catch_up,
                now=lambda: self._parts.clock.utc_now().timestamp(),
                lanes=inward,
            ),
            leftovers=Leftovers(inbox=self._inbox, outbox=outbox, delivery=self._delivery),
            inward=inward,
            outward=Lanes(),
            tasks=self._deliveries,
        )

    async def run(self, stop: asyncio.Event) -> str:
        """Run until told to stop or ended by Discord; give the sentence that tells why, if so."""
        token = self._live.current.discord.token.get_secret_value()
        if not token:
            return NO_TOKEN
        async with AsyncExitStack() as stack:
            self._inspector = await stack.enter_async_context(
                open_outlooks(
                    self._bot,
                    self._parts,
                    self._database,
                    figures=self._figures,
                    closing=lambda: self._registry.closing,
                    tell=self._wiring.tell,
                )
            )
            try:
                return await self._log_in(token) or await self._serve(stop)
            finally:
                await self._leave()

    async def _serve(self, stop: asyncio.Event) -> str:
        async with asyncio.TaskGroup() as tasks:
            beside = [
                tasks.create_task(self._guard(work), name=name)
                for name, work in (
                    ("commands", self._offer_commands()),
                    ("settings", watch(self._live, _on_reload)),
                    ("greeting", self._greet()),
                    ("alarms", self._alarms.run(self._bot, lambda: self._live.current)),
                    ("cursors", self._threshold.catch_up.keep_on()),
                    ("gates", self._gates.run(self._bot)),
                    ("housekeeping", self._keep_house()),
                )
            ]
            failure = await self._serve_until(stop)
            await self._leave()
            for task in beside:
                task.cancel()
            await self._threshold.catch_up.keep()
        return failure

    async def _serve_until(self, stop: asyncio.Event) -> str:
        loop = asyncio.get_running_loop()
        failure = ""
        try:
            async with asyncio.timeout(None) as deadline, self._deliveries:
                connection = self._deliveries.create_task(self._connect(), name="connection")
                self._deliveries.create_task(self._guard(self._tasks.run()), name="tasks")
                stopping = self._deliveries.create_task(stop.wait(), name="stop")
                await asyncio.wait({connection, stopping}, return_when=asyncio.FIRST_COMPLETED)
                stopping.cancel()
                failure = connection.result() if connection.done() else ""
                _log.info("app.stopping", failed=bool(failure))
                self._threshold.catch_up.close()
                async with asyncio.TaskGroup() as closing:
                    closing.create_task(self._tasks.close(), name="close tasks")
                    closing.create_task(self._registry.close(), name="close sessions")
                await self._gates.close(seconds=self._live.current.sessions.drain_seconds)
                await self._bot.finish_commands(COMMAND_SECONDS)
                connection.cancel()
                deadline.reschedule(loop.time() + POST_SECONDS)
        except TimeoutError:
            _log.error("app.answers_left")
        return failure

    async def _log_in(self, token: str) -> str:
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                await self._bot.login(token)
        except DISCORD_SAYS_NO as error:
            return why_ended(error, api=self._live.current.discord.api)
        except UNREADABLE as error:
            if self._bot.application is not None:
                raise  # all of Discord's answers were read: the fault is ours
            return why_ended(error, api=self._live.current.discord.api)
        return ""

    async def _connect(self) -> str:
        try:
            await self._bot.connect(reconnect=True)
        except (*DISCORD_SAYS_NO, *UNREADABLE) as error:
            return why_ended(error, api=self._live.current.discord.api)
        return ""

    async def _leave(self) -> None:
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._bot.close()
        except TimeoutError:
            _log.warning("discord.not_closed")

    async def _guard(self, work: Coroutine[object, object, None]) -> None:
        """Keep a side work's failure from ending the bot."""
        try:
            await work
        except Exception as error:  # noqa: BLE001  (logged; the conversations go on)
            _log.error("app.side_work_failed", **describe(error))

    async def _add_cogs(self, bot: InglenookBot) -> None:
        await add_cogs(
            bot,
            parts=self._parts,
            registry=self._registry,
            memory=self._memory,
            delivery=self._delivery,
            threshold=self._threshold,
            inbox=self._inbox,
            gates=self._gates,
            database=self._database,
            tasks=self._deliveries,
            inspector=self._inspector,
        )
        await bot.add_cog(TasksCog(bot, service=self._tasks.service))

    async def _offer_commands(self) -> None:
        await self._bot.keep_commands_synced()
        self._wiring.commands.set()

    async def _keep_house(self) -> None:
        pruner = pruner_of(self._live, self._database, self._parts.clock)
        await Housekeeper(self._live, pruner, alarms=self._alarms).run()

    async def _greet(self) -> None:
        """Say that all is up."""
        await self._bot.connected.wait()
        if self._wiring.for_good:
            heap.settle()
        self._wiring.ready.set()


def _on_reload(reload: Reload) -> None:
    for problem in reload.problems:
        _log.warning(
            "config.refused",
            file=problem.file,
            line=problem.line,
            key=problem.key,
            reason=problem.message,
            hint=problem.hint,
        )
