"""What carries runs, with or without Discord beside it: store, gateway, box, memory and engine.

    database > gateway > memory > box > parts of all sessions

Each is entered after and left before the ones to its left. The home's lock is the caller's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.bootstrap import find_bwrap
from bot.host_tools import host_tools
from compiler.request import Role, RunScope
from config.homedir import DATABASE_FILE, ENGINE_DIR
from config.load import LiveConfig
from sessions.allowance import Allowance
from sessions.boxes.action import BoxActions
from sessions.boxes.host import HostBox, open_box
from sessions.boxes.settings import BoxMode
from sessions.clock import Clock, SystemClock
from sessions.continuations import PROVIDER, scope_of
from sessions.day_sums import DaySums
from sessions.engine import Engine, PiEngine, installed_version
from sessions.gate_desk import GateDesk
from sessions.gate_execution import Action
from sessions.gates import Gate
from sessions.hands import Hands
from sessions.memory.semantic import MeaningIndex
from sessions.memory.service import MemoryService
from sessions.model_gateway import ModelGateway
from sessions.parts import SessionParts
from sessions.pi.process import PiInstall
from sessions.run_files import RUNS_DIR, has_runs
from sessions.store.database import Database, open_database
from sessions.store.gates import GateStore
from sessions.store.key_fault import KEYS_FILE
from sessions.store.usage import UsageStore
from sessions.store.vault import open_vault
from sessions.task_service import LateWake
from sessions.tokens.desk import TokenDesk, choosing
from sessions.tools.table import BUILTIN_NAMES
from sessions.tools.talk import LateVoice
from sessions.wire.call import WireAlarm
from sessions.workspaces import Workspaces

WrapEngine = Callable[[Engine], Engine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What stands while a home is in use."""

    database: Database
    memory: MemoryService
    box: HostBox
    voice: LateVoice
    filed: LateWake
    """Called when the imp filed a task."""
    gates: GateDesk
    parts: SessionParts


@asynccontextmanager
async def open_host(
    live: LiveConfig,
    home: Path,
    *,
    install: PiInstall,
    on_alarm: WireAlarm | None = None,
    wrap_engine: WrapEngine = lambda engine: engine,
    sums: DaySums | None = None,
) -> AsyncIterator[Host]:
    """Open a home whose lock is held; ``sums`` is what other bots of the process spent.

    Raises:
        SafeError: the database or its keys cannot be opened.
    """
    limits, clock = live.current.sessions, SystemClock()
    version = await asyncio.to_thread(installed_version, install)
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(
            open_database(
                home / DATABASE_FILE,
                clock=clock,
                patience_seconds=limits.store_seconds,
                is_first=not await asyncio.to_thread(has_runs, home),
            )
        )
        allowance = Allowance(
            UsageStore(database), lambda: live.current.limits, clock=clock, sums=sums
        )
        await allowance.load()
        gateway = await stack.enter_async_context(
            ModelGateway(
                environment=live.variables, clock=clock, allowance=allowance, on_alarm=on_alarm
            )
        )
        memory = await _open_memory(stack, live, home, database=database, clock=clock)
        box = await stack.enter_async_context(
            open_box(
                live.current.box,
                program=find_bwrap(),
                home=home,
                install=install,
                version=version,
                limits=limits,
                gateway=gateway,
            )
        )
        gates = GateDesk(GateStore(database), clock=clock, settings=lambda: live.current.gates)
        await gates.load()
        voice, filed = LateVoice(), LateWake()
        tools = host_tools(live, home, database, clock=clock, voice=voice, filed=filed)
        for tool in tools:
            if tool.perform is not None:
                gates.provide(tool.spec.name, Action(execute=tool.perform))
        engine = PiEngine(
            install,
            version=version,
            config_dir=home / ENGINE_DIR,
            limits=limits,
            environment=live.variables,
            compile_cache=home / ENGINE_DIR / "compiled",
            confined=box.confined,
            unconfined_tools=box.report.mode is BoxMode.OFF,
        )
        parts = SessionParts.over(
            home=home,
            database=database,
            engine=wrap_engine(engine),
            engine_settings=live.engine,
            budgets=live.budgets,
            directives=lambda: live.current.directives,
            limits=limits,
            memory=memory,
            gateway=gateway,
            allowance=allowance,
            channel_files=lambda scope: _channel_files(live, home, scope),
            tokens=TokenDesk(choosing(home / ENGINE_DIR, live.environ)),
            talk=lambda: live.current.talk,
            hands=Hands(
                grants=lambda: live.grants,
                trusted=lambda scope: _is_trusted(live, scope),
                boxed=box.serves,
                tools=tools,
                filer=gates,
            ),
            gates=gates,
            imps=live.shared,
        )
        actions = BoxActions(
            install,
            confined=box.confined,
            unconfined=box.report.mode is BoxMode.OFF,
            limits=limits,
            workspaces=Workspaces(
                home,
                home / RUNS_DIR,
                parts.warm,
                clock=clock,
                idle_seconds=limits.idle_seconds,
            ),
            channel_files=lambda gate: _files_for(live, home, gate),
        )
        for name in BUILTIN_NAMES:
            gates.provide(name, Action(execute=actions.execute, seconds=actions.seconds))
        yield Host(
            database=database,
            memory=memory,
            box=box,
            voice=voice,
            filed=filed,
            gates=gates,
            parts=parts,
        )


async def _open_memory(
    stack: AsyncExitStack, live: LiveConfig, home: Path, *, database: Database, clock: Clock
) -> MemoryService:
    patience_seconds = live.current.sessions.store_seconds
    keys = open_vault(home / KEYS_FILE, database, clock=clock, patience_seconds=patience_seconds)
    vault = await stack.enter_async_context(keys)
    meaning = MeaningIndex()
    stack.callback(meaning.close)
    return MemoryService(
        home=home,
        database=database,
        vault=vault,
        clock=clock,
        settings=lambda: live.current.memory,
        shared_context=lambda scope: _shares_context(live, scope),
        meaning=meaning,
    )


def _channel_files(live: LiveConfig, home: Path, scope: RunScope) -> Path | None:
    """Give the folder of files that the owner keeps for a channel he trusts, if there is one.

    A thread has its channel's. A direct message has none: nobody set it up to be shared.
    """
    if scope.channel_id is None or scope.is_dm:
        return None
    place = live.channel(scope.channel_id, scope.parent_channel_id, is_dm=False)
    channel = scope.parent_channel_id or scope.channel_id
    folder = home / "channels" / channel.removeprefix("discord:") / "files"
    return folder if place.trusted and folder.is_dir() and not folder.is_symlink() else None


def _files_for(live: LiveConfig, home: Path, gate: Gate) -> Path | None:
    """Give the files that the box of an approved call shows, as they are granted by now."""
    scope = scope_of(gate, provider=PROVIDER, role=Role.MEMBER)
    return _channel_files(live, home, scope)


def _is_trusted(live: LiveConfig, scope: RunScope) -> bool:
    """Tell whether owners trust a channel."""
    if scope.channel_id is None:
        return False
    return live.channel(scope.channel_id, scope.parent_channel_id, is_dm=scope.is_dm).trusted


def _shares_context(live: LiveConfig, scope: RunScope) -> bool:
    """Tell whether the owner lets private notes be used in a channel, if their person agrees."""
    if scope.channel_id is None or scope.is_dm:
        return False
    place = live.channel(scope.channel_id, scope.parent_channel_id, is_dm=False)
    return place.shared_context
