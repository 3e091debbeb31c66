"""The promise given for a submitted message: exactly one outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from compiler.request import TurnId
from sessions.draft import Draft
from sessions.inbound import InboundMessage, OutcomeKind, TurnOutcome


class Ticket:
    """What the edge holds for one message until its turn has ended.

    ``inbound`` is the message as submitted, or as amended while it waited.
    """

    def __init__(self, inbound: InboundMessage) -> None:
        self.inbound = inbound
        self.steers: TurnId | None = None
        """The running turn that it may steer; where that has ended, it is a turn of its own."""
        self.draft: Draft | None = None
        """Where its answer is shown while it is written; None: nobody looks."""
        self.begun = False
        """Whether its turn runs, or has run."""
        self._watchers: list[Callable[[], None]] = []
        self._settled: asyncio.Future[TurnOutcome] = asyncio.get_running_loop().create_future()

    @property
    def done(self) -> bool:
        """Whether the outcome is there."""
        return self._settled.done()

    def watch(self, on_change: Callable[[], None]) -> None:
        """Call back when its turn begins and when the outcome is there; it must return at once."""
        self._watchers.append(on_change)

    def begin(self) -> None:
        """Say that its turn runs."""
        self.begun = True
        self._tell()

    @property
    def accepted(self) -> bool:
        """Whether the message has, or had, a place in a queue; False if refused at once."""
        return not (self.done and self._settled.result().kind is OutcomeKind.REJECTED)

    async def outcome(self) -> TurnOutcome:
        """Await the outcome; giving up the wait leaves the turn as it is."""
        return await asyncio.shield(self._settled)

    def settle(self, outcome: TurnOutcome) -> None:
        """Give the one outcome.

        Raises:
            InvalidStateError: an outcome was given already.
        """
        self._settled.set_result(outcome)
        self._tell()

    def _tell(self) -> None:
        for on_change in self._watchers:
            on_change()
