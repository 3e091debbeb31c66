"""An engine that answers at once and costs next to nothing: what is left to measure is the host.

Two hundred real ones would measure the machine's memory. Whole turns with the real pi are in
``turns``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sessions.engine import Engine, EngineClient, Launch
from sessions.pi.exchange import Exchange
from sessions.pi.host_request import HostRequest
from sessions.pi.protocol import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AssistantEnd,
    AssistantMessage,
    CallUsage,
    ContentPart,
    ContextUsage,
    PiState,
    SessionStats,
)
from sessions.pictures import Picture


@dataclass(slots=True)
class _Process:
    exit_code: int | None = None


class StillEngine:
    """Takes the place of an engine, under its name."""

    def __init__(self, engine: Engine) -> None:
        self.version = engine.version
        self.confinement = engine.confinement

    @asynccontextmanager
    async def spawn(self, launch: Launch) -> AsyncIterator[EngineClient]:
        """Give a client without a process."""
        yield _StillClient(launch.route_key)


class _StillClient:
    def __init__(self, session_id: str) -> None:
        self.process = _Process()
        self._session_id = session_id
        self._gone = asyncio.Event()

    @property
    def alive(self) -> bool:
        return not self._gone.is_set()

    async def start(self, *, expected_messages: int = 0) -> PiState:
        return PiState(
            session_id=self._session_id, message_count=expected_messages, is_streaming=False
        )

    def prompt(self, text: str, pictures: Sequence[Picture] = ()) -> Exchange:
        del pictures
        at = text.rfind("bench-")
        message = AssistantMessage(
            role="assistant",
            content=(ContentPart(type="text", text=f"done {text[at : at + 12]}"),),
            stop_reason="stop",
            usage=CallUsage(),
        )
        exchange = Exchange()
        exchange.put(AgentStart(type="agent_start"))
        exchange.put(AssistantEnd(type="message_end", message=message))
        exchange.put(AgentEnd(type="agent_end"))
        exchange.put(AgentSettled(type="agent_settled"))
        return exchange

    async def steer(self, text: str, pictures: Sequence[Picture] = ()) -> None:
        """Nothing is ever in flight."""

    async def clear_queue(self) -> tuple[str, ...]:
        return ()

    def send_abort(self) -> None:
        """Nothing is ever in flight."""

    def serve_host(self, handler: Callable[[HostRequest], None] | None) -> None:
        """No tool is ever called."""

    def answer_host(self, request: HostRequest, text: str) -> None:
        """No tool is ever called."""

    def kill(self) -> None:
        self._gone.set()

    async def stats(self) -> SessionStats:
        return SessionStats(context_usage=ContextUsage(percent=1.0))

    async def ended(self) -> None:
        await self._gone.wait()
