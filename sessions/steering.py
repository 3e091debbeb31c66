"""What a person says into his own running turn, on its way to pi (``[talk] busy = "steer"``).

Each such message is an input of the turn: the inbox knows that it belongs to it, it is compiled
and traced durably, and only then pi is given it. pi takes it up before its next model call, if
there is one; what it has not taken up when the turn is over is taken out of its queue, and waits
for a turn of its own. So does what it had taken up, if the turn then failed by nobody's wish. So
nothing is lost, and nothing is answered twice.

Spec: CC "Turn" (inputs of one session stay serialized: this one follows the input that it steers).
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

import structlog

from compiler.errors import SafeError
from compiler.request import TurnId
from sessions.inbound import InboundMessage
from sessions.model_gateway import WireEndpoint
from sessions.pi.errors import PiError, PiExited
from sessions.pictures import Picture
from sessions.store.inbox import InboxStore
from sessions.ticket import Ticket
from sessions.wire.ledger import ExpectedTurn

_log = structlog.get_logger(__name__)


class SteerClient(Protocol):
    """What steering needs of the engine's process."""

    @property
    def alive(self) -> bool:
        """Whether it can take another command."""

    async def steer(self, text: str, pictures: Sequence[Picture] = ()) -> None:
        """Put a further input into the turn in flight."""

    async def clear_queue(self) -> tuple[str, ...]:
        """Take back the inputs that were not taken up."""

    def kill(self) -> None:
        """End the process at once."""


CompileSteer: TypeAlias = Callable[[InboundMessage], Awaitable[ExpectedTurn]]
"""Compile and trace an input; what comes back is durable."""


class Steering:
    """The inputs that steer one turn."""

    def __init__(
        self,
        turn_id: TurnId,
        client: SteerClient,
        *,
        inbox: InboxStore,
        wire: WireEndpoint | None,
        pull: Callable[[], Ticket | None],
        compile_input: CompileSteer,
    ) -> None:
        """Take the collaborators.

        Args:
            turn_id: the running turn.
            client: the process that it runs in.
            inbox: told whose turn a message belongs to.
            wire: told what the model may be given, if model calls go through the host.
            pull: takes the next message out of those that wait.
            compile_input: makes it an input of the turn.
        """
        self._turn_id = turn_id
        self._client = client
        self._inbox = inbox
        self._wire = wire
        self._pull = pull
        self._compile = compile_input
        self._sent: list[tuple[str, Ticket]] = []
        self._unsent: list[Ticket] = []

    async def send(self) -> bool:
        """Give pi what is there to be given, one after the other; tell whether it was any."""
        before = len(self._sent)
        while not self._unsent and (ticket := self._pull()) is not None:
            if not await self._send(ticket):
                # Those behind it come after it: they wait too, for turns of their own.
                self._unsent.append(ticket)
        return len(self._sent) > before

    async def settle(self) -> tuple[Ticket, ...]:
        """Once the turn is over, give the messages that were no part of it after all."""
        left = await self._left() if self._sent else ()
        back = [ticket for text, ticket in self._sent if text in left] + self._unsent
        self._sent = [(text, ticket) for text, ticket in self._sent if text not in left]
        if back:
            _log.info("turn.not_steered", turn_id=self._turn_id, messages=len(back))
            try:
                await self._inbox.release([ticket.inbound for ticket in back])
            except SafeError as error:
                _log.warning("turn.steer_unreleased", code=str(error.code))
        return tuple(back)

    @property
    def taken(self) -> tuple[Ticket, ...]:
        """The messages that pi was given and, once settled, has taken up."""
        return tuple(ticket for _, ticket in self._sent)

    async def _send(self, ticket: Ticket) -> bool:
        inbound = ticket.inbound
        try:
            if inbound.message.message_id is not None:
                await self._inbox.join(self._turn_id, inbound.message.message_id)
            expected = await self._compile(inbound)
            if self._wire is not None:
                self._wire.also_expect(expected)
            with contextlib.suppress(TimeoutError):  # it may have arrived: pi's queue will tell
                await self._client.steer(expected.text, inbound.pictures)
        except SafeError as error:
            _log.info("turn.steer_refused", code=str(error.code))
            return False
        self._sent.append((expected.text, ticket))
        _log.info("turn.steered", message_id=inbound.message.message_id)
        return True

    async def _left(self) -> tuple[str, ...]:
        """Empty pi's queue; one that cannot be emptied would speak in the next turn."""
        try:
            return await self._client.clear_queue()
        except PiExited:
            return ()  # the turn was cut off with it, and says so
        except (PiError, TimeoutError) as error:
            _log.warning("turn.queue_unknown", error=type(error).__name__)
            self._client.kill()
            return ()
