"""The box of one host: tried out, given its way to the model, and held until the host ends.

open_box: probe > socket of the gateway > compiled code > Confined
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from sessions.box import BoxReport, BubblewrapBox
from sessions.boxes.choice import find_box
from sessions.boxes.plan import modules_of
from sessions.boxes.settings import BoxMode, BoxSettings
from sessions.boxes.warm import warm_cache
from sessions.engine import Confined
from sessions.limits import EngineSettings, SessionLimits
from sessions.model_gateway import ModelGateway
from sessions.pi.process import PiInstall
from sessions.wire.upstream import upstream_of

_log = structlog.get_logger(__name__)
_SOCKET: Final = "model.sock"
_LONGEST_PATH: Final = 100
"""In bytes; the kernel takes 107 for a socket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBox:
    """What the host found out, and the box if there is one."""

    report: BoxReport
    confined: Confined | None

    def serves(self, engine: EngineSettings) -> bool:
        """Whether a process of this engine may have file and shell tools.

        One whose provider only pi knows holds the key itself and is never shut in.
        """
        return serves(self.report, engine)


def serves(report: BoxReport, engine: EngineSettings) -> bool:
    """Tell the same from what was found out alone.

    The embedded model counts before it has started, and so before it has an address.
    """
    observed = engine.is_embedded or upstream_of(engine) is not None
    return (report.works and observed) or report.mode is BoxMode.OFF


@asynccontextmanager
async def open_box(
    settings: BoxSettings,
    *,
    program: Path | None,
    home: Path,
    install: PiInstall,
    version: str,
    limits: SessionLimits,
    gateway: ModelGateway,
) -> AsyncIterator[HostBox]:
    """Give the box while the context lasts; without one, the report says why.

    Args:
        settings: the owner's.
        program: bwrap, if there is one.
        home: what no box may see.
        install: pi.
        version: pi's, for which code is compiled.
        limits: bounds of pi's start and end.
        gateway: the way to the model; open.
    """
    with _place_for_socket(home) as place:
        socket = place / _SOCKET
        report, box = await asyncio.to_thread(
            find_box, settings, program, home, model_socket=socket
        )
        if box is None:
            _tell(report)
            yield HostBox(report=report, confined=None)
            return
        cache = None
        if isinstance(box, BubblewrapBox):
            cache = await asyncio.to_thread(_cache_of, install, home, version)
            if not await warm_cache(box, install, cache, settings=settings, limits=limits):
                cache = None
        async with gateway.listen_on(socket):
            if report.changes_user:
                # The box's user is another. Whoever could reach the socket would have to get
                # through the directory, which is the superuser's alone.
                await asyncio.to_thread(os.chmod, socket, 0o666)
            _log.info("box.stands", filtered=report.filtered, changes_user=report.changes_user)
            confined = Confined(box=box, settings=settings, name=report.name, compile_cache=cache)
            yield HostBox(report=report, confined=confined)


@contextmanager
def _place_for_socket(home: Path) -> Iterator[Path]:
    """Give a private directory: the home's, or another where that would make the path too long."""
    own = home / "engine"
    if len(os.fsencode(own / _SOCKET)) <= _LONGEST_PATH:
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield own
        return
    with tempfile.TemporaryDirectory(prefix="inglenook-") as made:
        yield Path(made)


def _cache_of(install: PiInstall, home: Path, version: str) -> Path:
    """Keep compiled code beside pi, where all homes share it, or in the home where that cannot be.

    It depends on pi's version and, in Node's own name for it, on Node's.
    """
    beside = modules_of(install).parent
    parent = beside if os.access(beside, os.W_OK) else home / "engine"
    return parent / f"boxed-{version}"


def _tell(report: BoxReport) -> None:
    if report.mode is BoxMode.OFF:
        _log.warning("box.off")
    else:
        _log.warning("box.unavailable", fault=report.fault)
