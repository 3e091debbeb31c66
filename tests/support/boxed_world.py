"""Sessions with a real pi in a real box, beside a model that calls pi's own tools, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.bootstrap import find_bwrap
from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer
from sessions.box import BoxReport
from sessions.boxes.host import open_box
from sessions.boxes.settings import BoxSettings
from sessions.engine import Confined, Launch, PiEngine, installed_version
from sessions.grants import Grant, Verdict
from sessions.hands import Hands
from sessions.inbound import TurnOutcome
from sessions.pi.process import PiSpec
from sessions.registry import Registry
from sessions.ticket import Ticket
from support.gateway_world import RecordingFiler
from support.pi_world import INSTALL, LIMITS
from support.real_world import RealWorld, message, real_world
from support.session_world import BOUND_SECONDS

ALLOWED = tuple(
    Grant(tool=tool, verdict=Verdict.ALLOW) for tool in ("read", "bash", "edit", "write")
)
"""Grants of a world whose channels are trusted."""


class ArmedEngine(PiEngine):
    """The real engine, whose boxes may show a channel's files."""

    channel_files: Path | None = None

    @property
    def confined(self) -> Confined | None:
        """What it shuts its processes in."""
        return self._confined

    def spec(self, launch: Launch) -> PiSpec:
        """Add the files to what the session asks for."""
        return super().spec(replace(launch, channel_files=self.channel_files))


@dataclass(slots=True)
class BoxedWorld:
    """A world whose pi is shut in."""

    real: RealWorld
    engine: ArmedEngine
    report: BoxReport
    asked: int = 0
    grants: tuple[Grant, ...] = ALLOWED
    trusted: bool = True
    filer: RecordingFiler = field(default_factory=RecordingFiler)

    async def call(self, registry: Registry, *calls: ToolCall) -> str:
        """Let the model call tools in one turn; give what they told it, joined."""
        self.real.model.script(Answer.call(*calls), Answer.of("Done."))
        outcome = await self.turn(registry)
        assert outcome.text == "Done.", outcome
        told = self.real.model.requests[-1].messages
        results = [each.text for each in told if each.role == "tool"]
        return "\n".join(results[-len(calls) :])

    async def turn(self, registry: Registry) -> TurnOutcome:
        """Take one turn as scripted."""
        return await self.submit(registry).outcome()

    def submit(self, registry: Registry) -> Ticket:
        """Begin one turn as scripted."""
        self.asked += 1
        return registry.submit(message(self.asked, "Go on."))

    async def shell(self, registry: Registry, command: str) -> str:
        """Run a command with the bash tool."""
        return await self.call(registry, tool("bash", command=command))

    async def read(self, registry: Registry, path: str) -> str:
        """Read a file with the read tool."""
        return await self.call(registry, tool("read", path=path))


def tool(name: str, **arguments: object) -> ToolCall:
    """A call of one of pi's tools."""
    return ToolCall(name=name, arguments=arguments)


@asynccontextmanager
async def boxed_world(home: Path, **changes: object) -> AsyncIterator[BoxedWorld]:
    """Make a world with a box; ``changes`` are of its settings."""
    chosen = {"probe_seconds": BOUND_SECONDS, **changes}
    settings = BoxSettings(**chosen)  # type: ignore[arg-type]  # names are checked by the class
    async with real_world(home) as real:
        version = installed_version(INSTALL)
        async with open_box(
            settings,
            program=find_bwrap(),
            home=home,
            install=INSTALL,
            version=version,
            limits=LIMITS,
            gateway=real.gateway,
        ) as host:
            engine = ArmedEngine(
                INSTALL,
                version=version,
                config_dir=home / "engine",
                limits=LIMITS,
                environment={},
                confined=host.confined,
            )
            world = BoxedWorld(real=real, engine=engine, report=host.report)
            hands = Hands(
                grants=lambda: world.grants,
                trusted=lambda _: world.trusted,
                boxed=host.serves,
                filer=world.filer,
                tool_seconds=BOUND_SECONDS,
            )
            real.parts = replace(real.parts, engine=engine, hands=hands)
            yield world
