"""Drive one turn: the machine of ``sessions.turn`` decides, this shell looks at the clock and acts.

No task is made for it: events are awaited under one timeout, and whoever wants the turn to end, or
has a further input for it, moves that timeout to now.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

from compiler.request import RunId, TurnId
from sessions.draft import Draft
from sessions.inbound import TurnOutcome
from sessions.limits import SessionLimits
from sessions.pi.errors import PiError, PiExited, ProtocolError
from sessions.pi.protocol import PiEvent, ToolResultEnd
from sessions.pictures import Picture
from sessions.tools.record import Told, told_of
from sessions.turn import Command, HaltReason, IllegalMove, TurnMachine, Will


class Prompter(Protocol):
    """What a turn needs of ``PiClient``; tests have another."""

    def prompt(self, text: str, pictures: Sequence[Picture] = ()) -> AsyncIterator[PiEvent]:
        """Send a prompt; the events that answer it, the settled one last."""
        ...

    def send_abort(self) -> None:
        """Ask for the end of what is in flight."""
        ...

    def kill(self) -> None:
        """End the process at once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeResult:
    """How a turn ended and when things happened, by the monotonic clock in nanoseconds."""

    outcome: TurnOutcome
    prompted_ns: int
    """After the prompt line was written."""
    first_text_ns: int | None
    """The first visible text of any attempt; None if there was none."""
    ended_ns: int
    told: tuple[Told, ...] = ()
    """What the model was told of its tool calls, in their order."""


class TurnExchange:
    """One turn of one client."""

    def __init__(
        self,
        client: Prompter,
        limits: SessionLimits,
        *,
        run_id: RunId,
        turn_id: TurnId,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        on_nudge: Callable[[], Awaitable[bool]] | None = None,
        on_told: Callable[[Told], Awaitable[None]] | None = None,
        draft: Draft | None = None,
        on_first_text: Callable[[int], None] | None = None,
    ) -> None:
        """Take the collaborators.

        Args:
            client: a started client with no prompt in flight.
            limits: ``turn_seconds`` until the abort, ``abort_seconds`` until the kill,
                ``shutdown_seconds`` until the process is taken for gone.
            run_id: named in the outcome.
            turn_id: named in the outcome.
            monotonic_ns: the clock of the result.
            on_nudge: gives pi further inputs, between two events; tells whether there were any.
            on_told: hears what the model was told of each tool call, as soon as pi says so.
            draft: told of the answer as it is written.
            on_first_text: told the clock's time when the first visible text comes.
        """
        self._client = client
        self._limits = limits
        self._machine = TurnMachine(run_id, turn_id)
        self._monotonic_ns = monotonic_ns
        self._wanted: HaltReason | None = None
        self._on_nudge = on_nudge
        self._on_told = on_told
        self._draft = draft
        self._on_first_text = on_first_text
        self._nudged = False
        self._deadline = 0.0
        self._timeout: asyncio.Timeout | None = None
        self._first_text_ns: int | None = None
        self._told: list[Told] = []

    def halt(self, reason: HaltReason) -> None:
        """Have the turn end soon; its outcome says why. Also before ``run``; never blocks."""
        if self._wanted is None:
            self._wanted = reason
            self._lose_patience_soon()

    def nudge(self) -> None:
        """Have further inputs given to pi soon; never blocks."""
        self._nudged = True
        self._lose_patience_soon()

    def _lose_patience_soon(self) -> None:
        patience = self._timeout
        # One that has run out in this very step is looked at anyway, and takes no other time.
        if patience is None or patience.expired() or self._machine.will is not Will.WAIT:
            return
        patience.reschedule(asyncio.get_running_loop().time())

    async def run(self, text: str, pictures: Sequence[Picture] = ()) -> ExchangeResult:
        """Send ``text``, and what is shown with it, and see the turn through to its one outcome."""
        self._deadline = asyncio.get_running_loop().time() + self._limits.turn_seconds
        try:
            events = self._client.prompt(text, pictures)
        except PiError as error:
            self._machine.gone(error)
            return self._result(self._monotonic_ns())
        prompted_ns = self._monotonic_ns()
        while self._machine.outcome is None:
            await self._follow(events)
        return self._result(prompted_ns)

    async def _follow(self, events: AsyncIterator[PiEvent]) -> None:
        """Take events until the turn ends or patience does."""
        try:
            async with asyncio.timeout(self._patience_seconds()) as self._timeout:
                async for event in events:
                    if isinstance(event, ToolResultEnd):
                        await self._hear(told_of(event.message))
                    self._obey(self._machine.handle(event))
                    if self._draft is not None:
                        self._draft.note(event)
                    if self._machine.outcome is not None:
                        return
                raise ProtocolError("events ended before the turn")
        except TimeoutError:
            await self._lose_patience()
        except IllegalMove:
            self._client.kill()
            self._machine.gone(ProtocolError("event out of order"))
        except PiError as error:
            self._machine.gone(error)
        finally:
            self._timeout = None

    async def _hear(self, told: Told) -> None:
        self._told.append(told)
        if self._on_told is not None:
            await self._on_told(told)

    def _patience_seconds(self) -> float:
        match self._machine.will:
            case Will.WAIT:
                if self._wanted or self._nudged:
                    return 0.0
                # A further input gives the turn no further time.
                return max(0.0, self._deadline - asyncio.get_running_loop().time())
            case Will.HALT:
                return self._limits.abort_seconds
            case Will.KILL:
                return self._limits.shutdown_seconds
            case will:
                assert_never(will)

    async def _lose_patience(self) -> None:
        match self._machine.will:
            case Will.WAIT if self._nudged and self._wanted is None:
                self._nudged = False
                if self._on_nudge is not None and await self._on_nudge():
                    self._machine.steer()
            case Will.WAIT:
                self._obey(self._machine.halt(self._wanted or HaltReason.DEADLINE))
            case Will.HALT:
                self._obey(self._machine.overdue())
            case Will.KILL:
                self._machine.gone(PiExited(None))
            case will:
                assert_never(will)

    def _obey(self, commands: tuple[Command, ...]) -> None:
        for command in commands:
            match command:
                case Command.NOTE_FIRST_TEXT:
                    self._first_text_ns = self._monotonic_ns()
                    if self._on_first_text is not None:
                        self._on_first_text(self._first_text_ns)
                case Command.ABORT:
                    self._client.send_abort()
                case Command.KILL:
                    self._client.kill()
                case _:
                    assert_never(command)

    def _result(self, prompted_ns: int) -> ExchangeResult:
        outcome = self._machine.outcome
        if outcome is None:
            raise RuntimeError("the turn is still open")
        return ExchangeResult(
            outcome=outcome,
            prompted_ns=prompted_ns,
            first_text_ns=self._first_text_ns,
            ended_ns=self._monotonic_ns(),
            told=tuple(self._told),
        )
