"""The engine as sessions see it: something that is spawned for a run and then prompted.

``Engine`` and ``EngineClient`` are what the turn machine asks for; ``PiEngine`` is the real one.
Everything that shapes pi's prefix is fixed per run: the two prompt files in the run's directory,
the route key as session id, the run's own session directory and working directory.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

from compiler.request import EngineIdentity
from sessions.boxes.plan import PORT_VARIABLE, SECONDS_VARIABLE, port_of
from sessions.boxes.settings import BoxSettings
from sessions.boxes.watch import watching
from sessions.limits import EMBEDDED, EngineSettings, SessionLimits
from sessions.pi.client import PiClient
from sessions.pi.engine_files import (
    engine_environment,
    gateway_environment,
    model_of,
    write_engine_files,
)
from sessions.pi.errors import PiStartFailed
from sessions.pi.exchange import Exchange
from sessions.pi.family import end_leftover
from sessions.pi.host_request import HostRequest
from sessions.pi.process import Confinement, PiInstall, PiSpec
from sessions.pi.protocol import PiState, SessionStats
from sessions.pictures import Picture
from sessions.tools.table import ToolSpec, manifest

EXTENSION: Final = Path(__file__).with_name("pi") / "extension.mjs"
SYSTEM_FILE: Final = "system.md"
PREAMBLE_FILE: Final = "preamble.md"
SESSION_DIR: Final = "session"
WORKSPACE_DIR: Final = "workspace"
PID_FILE: Final = "pi.pid"
_TOOL_GRACE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayAccess:
    """The gateway's base address for a process, and the secret that opens it."""

    address: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confined:
    """What shuts the engine's processes in, and what it costs them nothing to share there."""

    box: Confinement
    settings: BoxSettings
    name: str
    """Of its kind; part of the engine's fingerprint."""
    compile_cache: Path | None = None
    """Compiled code for the paths inside (``sessions.box.BubblewrapBox.warm``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What one process is spawned for: a run's directory, prepared, and its engine."""

    run_dir: Path
    route_key: str
    settings: EngineSettings
    resume: bool
    """Whether a process of this run lived before: its leftovers are ended first."""
    tools: tuple[ToolSpec, ...] = ()
    """What the model is offered, in this order."""
    tool_seconds: float = 10.0
    """Longest wait for the host's answer to a call."""
    gateway: GatewayAccess | None = None
    """How it reaches its model through the host; None: by itself, with the key."""
    channel_files: Path | None = None
    """Files of the current channel that its box shows, where they are granted."""
    builtin_tools: tuple[str, ...] = ()
    """pi's own tools that are offered, first in the model's list; dropped where there is no box."""


class EngineProcess(Protocol):
    """What is known of the process itself."""

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative for a signal; None while it runs."""


class EngineClient(Protocol):
    """One living process of the engine; see ``PiClient``."""

    @property
    def process(self) -> EngineProcess:
        """The process behind it."""

    @property
    def alive(self) -> bool:
        """Whether the process can take another command."""

    async def start(self, *, expected_messages: int = 0) -> PiState:
        """Wait until it is ready and check that it is the one asked for."""

    def prompt(self, text: str, pictures: Sequence[Picture] = ()) -> Exchange:
        """Send one prompt; the line is on its way when this returns."""

    async def steer(self, text: str, pictures: Sequence[Picture] = ()) -> None:
        """Put a further input into the turn in flight."""

    async def clear_queue(self) -> tuple[str, ...]:
        """Take back the further inputs that were not taken up."""

    def send_abort(self) -> None:
        """Ask to stop the prompt in flight; the exchange then settles."""

    def serve_host(self, handler: Callable[[HostRequest], None] | None) -> None:
        """Hand the model's tool calls to ``handler`` from now on; with None refuse them."""

    def answer_host(self, request: HostRequest, text: str) -> None:
        """Answer one of them."""

    def kill(self) -> None:
        """End the process at once."""

    async def stats(self) -> SessionStats:
        """Ask how full the context is."""

    async def ended(self) -> None:
        """Wait until the process is of no more use."""


class Engine(Protocol):
    """Maker of processes."""

    @property
    def version(self) -> str:
        """The engine's own version, part of the route key."""

    @property
    def confinement(self) -> str:
        """What its processes run in; a session is never taken up in anything else."""

    def spawn(self, launch: Launch) -> AbstractAsyncContextManager[EngineClient]:
        """Start a process; leaving the context ends it with all its descendants."""


class PiEngine:
    """pi, spawned from an installation with one configuration directory for all runs."""

    def __init__(
        self,
        install: PiInstall,
        *,
        version: str,
        config_dir: Path,
        limits: SessionLimits,
        environment: Mapping[str, str],
        compile_cache: Path | None = None,
        confined: Confined | None = None,
        unconfined_tools: bool = False,
    ) -> None:
        """Take what every process has in common.

        Args:
            install: where Node and pi are.
            version: pi's version, see ``installed_version``.
            config_dir: ``home/engine``.
            limits: bounds of start, commands and shutdown.
            environment: the host's own; only the key, proxies and certificates are passed on.
            compile_cache: where Node keeps compiled code; saves a tenth of a second per start.
            confined: what shuts processes in; None lets pi see what the host sees.
            unconfined_tools: whether the owner lets pi have its own tools without a box.
        """
        self._install = install
        self._version = version
        self._config_dir = config_dir
        self._limits = limits
        self._environment = environment
        self._compile_cache = compile_cache
        self._confined = confined
        self._unconfined_tools = unconfined_tools

    @property
    def version(self) -> str:
        """The installed version."""
        return self._version

    @property
    def confinement(self) -> str:
        """The box's name, empty without one."""
        return self._confined.name if self._confined else ""

    @asynccontextmanager
    async def spawn(self, launch: Launch) -> AsyncIterator[EngineClient]:
        """Write the engine's files and start pi for a run.

        Raises:
            PiStartFailed: no process came up.
        """
        await asyncio.to_thread(self._prepare, launch)
        spec, confined = self.spec(launch), self._confined
        async with PiClient(spec, self._limits) as client:
            if spec.box is None or confined is None:
                yield client
                return
            async with watching(
                client, confined.settings, (spec.session_dir, spec.workspace), run=launch.run_dir
            ):
                yield client

    def _prepare(self, launch: Launch) -> None:
        if launch.resume:
            end_leftover(launch.run_dir / PID_FILE, patience_seconds=self._limits.shutdown_seconds)
        access = launch.gateway
        address = access.address if access else ""
        write_engine_files(self._config_of(launch.settings), launch.settings, gateway=address)

    def _config_of(self, settings: EngineSettings) -> Path:
        """Give the folder of an engine's files: imps that start at once may have different ones."""
        return self._config_dir / f"pi-{settings_hash(settings)[:12]}"

    def spec(self, launch: Launch) -> PiSpec:
        """Say how pi is started for a run: the same for each start of the same run."""
        run_dir, settings = launch.run_dir, launch.settings
        access = launch.gateway
        environment = (
            gateway_environment(access.secret)
            if access
            else engine_environment(settings, self._environment)
        )
        # A provider whose address only pi knows cannot be reached from a box, and the host would
        # have to hand over its key. Such a pi has no tools, so that there is nothing to shut in.
        confined = self._confined if access else None
        if confined is not None and access is not None:
            environment = {**environment, **_way_out(access, confined)}
        armed = confined is not None or self._unconfined_tools
        return PiSpec(
            install=self._install,
            model=model_of(settings),
            session_id=launch.route_key,
            session_dir=run_dir / SESSION_DIR,
            workspace=run_dir / WORKSPACE_DIR,
            config_dir=self._config_of(settings),
            system_prompt_file=run_dir / SYSTEM_FILE,
            preamble_file=run_dir / PREAMBLE_FILE if settings.preamble == "inglenook" else None,
            extensions=(EXTENSION,),
            compile_cache=confined.compile_cache if confined else self._compile_cache,
            thinking=settings.thinking,
            env=environment,
            tools=(
                *(launch.builtin_tools if armed else ()),
                *(tool.name for tool in launch.tools),
            ),
            tool_manifest=_manifest(launch),
            record_file=run_dir / PID_FILE,
            box=confined.box if confined else None,
            channel_files=launch.channel_files,
        )


def _way_out(access: GatewayAccess, confined: Confined) -> dict[str, str]:
    """Tell the forwarder where to listen: at the very address that pi knows outside.

    Raises:
        PiStartFailed: the gateway is not on loopback.
    """
    port = port_of(access.address)
    if port is None:
        raise PiStartFailed("the model gateway is not on loopback")
    return {PORT_VARIABLE: str(port), SECONDS_VARIABLE: str(confined.settings.command_seconds)}


def _manifest(launch: Launch) -> str:
    # pi's own bound comes later than the host's, so that an answer in time is never missed.
    timeout_ms = round((launch.tool_seconds + _TOOL_GRACE_SECONDS) * 1_000)
    asks = launch.tools or launch.builtin_tools
    return manifest(launch.tools, timeout_ms=timeout_ms) if asks else ""


def installed_version(install: PiInstall) -> str:
    """Read pi's version from its package; blocks for a moment.

    Raises:
        PiStartFailed: there is no such package.
    """
    package = install.cli.parents[2] / "package.json"
    try:
        return str(json.loads(package.read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError) as error:
        raise PiStartFailed(f"no package of pi: {type(error).__name__}") from error


@lru_cache(maxsize=64)
def settings_hash(settings: EngineSettings) -> str:
    """Name an engine's settings."""
    return hashlib.sha256(json.dumps(asdict(settings), sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=64)  # asked for after every turn, and a home has a handful of engines
def fingerprint(
    settings: EngineSettings, identity: EngineIdentity, *, confinement: str = ""
) -> str:
    """Hash everything about the engine that a resumed session must find unchanged.

    The embedded model lives at another port each time it is started, and is the same all the same.
    """
    if settings.provider == EMBEDDED:
        settings = replace(settings, url="")
    around = [confinement] if confinement else []
    facts = json.dumps([asdict(identity), asdict(settings), *around], sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()
