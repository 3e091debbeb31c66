"""Where the engine's tool calls meet the host: open for one turn, closed otherwise.

The engine's extension asks through pi's dialog channel; ``PiClient`` hands the question here while
a desk is open, and refuses it at once while none is. Each call is a task of the desk's own group,
bounded in time; what still runs when the turn ends is ended with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Protocol, Self

import structlog

from sessions.pi.host_request import HostRequest
from sessions.tools.call import ToolAnswer, ToolCall, encode_answer
from sessions.tools.table import TOOL_NAMES

_log = structlog.get_logger(__name__)
_TOO_LATE: Final = ToolAnswer(ok=False, text="The host took too long. Nothing may have changed.")
_TOO_MANY: Final = ToolAnswer(ok=False, text="Too many tools at once.")
MAX_OPEN: Final = 16
"""Calls of one turn that are worked on at once; a model asks for one or two."""


class HostChannel(Protocol):
    """What the desk needs of ``PiClient``."""

    def serve_host(self, handler: Callable[[HostRequest], None] | None) -> None:
        """Hand the extension's questions to ``handler``, or to nobody."""

    def answer_host(self, request: HostRequest, text: str) -> None:
        """Answer one of them."""


class ToolDesk:
    """An async context manager around one turn."""

    def __init__(
        self,
        channel: HostChannel,
        answer: Callable[[ToolCall], Awaitable[ToolAnswer]],
        *,
        tool_seconds: float,
    ) -> None:
        self._channel = channel
        self._answer = answer
        self._tool_seconds = tool_seconds
        self._calls: set[asyncio.Task[None]] = set()
        self.asked = 0
        """All calls so far, also those that were refused without a look at them."""
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._channel.serve_host(self._take)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._channel.serve_host(None)
        for call in self._calls:
            call.cancel()
        # Without the body's own exception: the group would wrap it, and a caller waits for it bare.
        await self._tasks.__aexit__(None, None, None)

    def _take(self, request: HostRequest) -> None:
        self.asked += 1
        if len(self._calls) >= MAX_OPEN:
            self._channel.answer_host(request, encode_answer(_call_of(request), _TOO_MANY))
            return
        task = self._tasks.create_task(self._serve(request), name="tool")
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _serve(self, request: HostRequest) -> None:
        call = _call_of(request)
        try:
            async with asyncio.timeout(self._tool_seconds):
                answer = await self._answer(call)
        except TimeoutError:
            _log.warning("tool.too_late", tool=_known(request.tool))
            answer = _TOO_LATE
        _log.info("tool.answered", tool=_known(request.tool), ok=answer.ok)
        self._channel.answer_host(request, encode_answer(call, answer))


def _known(name: str) -> str | None:
    """Give a name fit for a log: what the engine calls a tool may be anything."""
    return name if name in TOOL_NAMES else None


def _call_of(request: HostRequest) -> ToolCall:
    return ToolCall(
        name=request.tool,
        arguments=request.arguments,
        builtin=request.builtin,
        call_id=request.call_id,
    )
