"""An engine with something around each of its processes, such as a count or a stop-watch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from sessions.engine import Engine, EngineClient, Launch

Process: TypeAlias = AbstractAsyncContextManager[EngineClient]
"""A process from its start to its end."""


class EngineAround:
    """Stands for an engine, under its version and in its confinement."""

    def __init__(self, engine: Engine, around: Callable[[Process], Process]) -> None:
        self._engine = engine
        self._around = around

    @property
    def version(self) -> str:
        """See ``Engine``."""
        return self._engine.version

    @property
    def confinement(self) -> str:
        """See ``Engine``."""
        return self._engine.confinement

    def spawn(self, launch: Launch) -> Process:
        """Give a process of the engine, with what is put around it."""
        return self._around(self._engine.spawn(launch))
