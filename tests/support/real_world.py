"""Sessions with a real pi beside a scripted model, for tests."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.playground.scripted_model import ModelRequest, ScriptedModel
from compiler.budget import ContextBudgets
from compiler.request import RunId
from sessions.allowance import Allowance
from sessions.clock import SystemClock
from sessions.engine import PID_FILE, PiEngine, installed_version
from sessions.inbound import InboundMessage
from sessions.limits import EngineSettings, UsageLimits
from sessions.model_gateway import ModelGateway
from sessions.parts import SessionParts
from sessions.pi.family import read_record
from sessions.registry import Registry
from sessions.store.database import open_database
from sessions.store.usage import UsageStore
from support.pi_world import INSTALL, LIMITS, engine_for
from support.session_world import BOUND_SECONDS, inbound


@dataclass(slots=True)
class RealWorld:
    """A home, a model that does as told, and the parts that a registry needs."""

    home: Path
    model: ScriptedModel
    parts: SessionParts
    gateway: ModelGateway
    allowance: Allowance
    settings: EngineSettings
    usage: UsageLimits

    @asynccontextmanager
    async def registry(self, **limits: float) -> AsyncIterator[Registry]:
        """Run a host on this home, with some limits changed."""
        changed = replace(self.parts.limits, **limits)  # type: ignore[arg-type]
        async with Registry(replace(self.parts, limits=changed)) as registry:
            yield registry

    def run_dir(self, run_id: RunId) -> Path:
        """Where a run lies."""
        return self.home / "runs" / run_id

    def kill_pi(self, run_id: RunId) -> None:
        """End a run's process as the kernel would, without a word."""
        record = read_record(self.run_dir(run_id) / PID_FILE)
        if record is None:
            raise AssertionError("no process is recorded")
        os.kill(record.pid, signal.SIGKILL)


@asynccontextmanager
async def real_world(
    home: Path, *, key: str = "", url: str = "", **engine_changes: object
) -> AsyncIterator[RealWorld]:
    """Make a home with Ember, a model, and the real engine; ``key`` is the provider's."""
    identity = home / "imps" / "ember" / "identity.md"
    identity.parent.mkdir(parents=True)
    identity.write_text("You are Ember, a hearth spirit.\u2028Warm.", encoding="utf-8")
    clock = SystemClock()
    async with (
        ScriptedModel() as model,
        open_database(
            home / "inglenook.db", clock=clock, patience_seconds=BOUND_SECONDS
        ) as database,
    ):
        named = {"key_env": "MODEL_KEY"} if key else {}
        settings = engine_for(url or model.url, **named, **engine_changes)
        world: RealWorld
        environment = {"MODEL_KEY": key} if key else {}
        allowance = Allowance(UsageStore(database), lambda: world.usage, clock=clock)
        engine = PiEngine(
            INSTALL,
            version=installed_version(INSTALL),
            config_dir=home / "engine",
            limits=LIMITS,
            environment=environment,
            compile_cache=Path(sys.prefix) / "pi" / "compile-cache",
        )
        async with ModelGateway(
            environment=environment, clock=clock, allowance=allowance
        ) as gateway:
            parts = SessionParts.over(
                home=home,
                database=database,
                engine=engine,
                engine_settings=lambda _: world.settings,
                budgets=lambda _: ContextBudgets(),
                limits=LIMITS,
                gateway=gateway,
                allowance=allowance,
            )
            world = RealWorld(
                home=home,
                model=model,
                parts=parts,
                gateway=gateway,
                allowance=allowance,
                settings=settings,
                usage=UsageLimits(),
            )
            await allowance.load()
            yield world


def message(number: int, text: str = "Hello.", *, channel: int = 100) -> InboundMessage:
    """Message ``number`` of Ada's, arriving now."""
    return inbound(number, text, channel=channel, received_ns=time.monotonic_ns())


def sent(request: ModelRequest) -> list[dict[str, object]]:
    """The messages of a request, as the provider got them."""
    messages: list[dict[str, object]] = request.body["messages"]
    return messages
