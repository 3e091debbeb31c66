"""One run: its directory, its trace, its system prompt and, while it is warm, its process."""

from __future__ import annotations

from contextlib import AsyncExitStack
from enum import StrEnum
from pathlib import Path

from compiler.budget import ContextBudgets
from compiler.compile import CompiledSystem
from compiler.request import ChannelId, EngineIdentity, ImpName, MessageId, RunId
from sessions.engine import EngineClient
from sessions.limits import EngineSettings
from sessions.model_gateway import WireEndpoint
from sessions.store.runs import TraceExtent
from sessions.trace import TraceWriter


class EndReason(StrEnum):
    """Why a run ended (``RunRow.end_reason``)."""

    IDLE = "idle"
    RESET = "reset"
    STOPPED = "stopped"
    EVICTED = "evicted"
    ROLLOVER = "rollover"
    TOOLS = "tools"
    """What the imp may do here is something else by now."""
    FAILED = "failed"
    SHUTDOWN = "shutdown"
    DONE = "done"
    """A run of one input has given its answer, or none."""


class Run:
    """The state of a run. ``start`` makes and ends it, ``take`` adds turns."""

    def __init__(
        self,
        *,
        run_id: RunId,
        imp: ImpName,
        directory: Path,
        trace: TraceWriter,
        system: CompiledSystem | None,
        settings: EngineSettings,
        engine: EngineIdentity,
        budgets: ContextBudgets,
        turns: int = 0,
        answered: int = 0,
        channel_files: Path | None = None,
    ) -> None:
        """Take what is fixed for the life of the run; a resumed one has turns already.

        ``system`` is None for a run of one input, whose system prompt is compiled with it.
        """
        self.run_id = run_id
        self.imp = imp
        self.directory = directory
        self.trace = trace
        self._system = system
        self.settings = settings
        self.engine = engine
        self.budgets = budgets
        self.channel_files = channel_files
        """Files of its channel that its box shows; None where they are not granted."""
        self.turns = turns
        """Turns so far, failed ones included: the number of the last one."""
        self.answered = answered
        """Turns that were answered, so that pi's session must hold something."""
        self.heir_in: ChannelId | None = None
        """The conversation whose workspace it was given; None if it has one of its own."""
        self.spawned = answered > 0
        """Whether a process of this run has lived before."""
        self.needs_history = answered == 0
        """Whether pi's session is empty: the next turn carries the history block."""
        self.noted: set[str] = set()
        """Ids of the notes that it was given, as far as this host wrote them down."""
        self.held_tokens = 0
        """What the engine's session holds, by its own figures; 0 while that is not known."""
        self.woken_by: MessageId | None = None
        """The message that woke the session; its history is what came before it."""
        self.client: EngineClient | None = None
        self.wire: WireEndpoint | None = None
        """The way of the last process to its provider; None where it asks by itself."""
        self.process = AsyncExitStack()
        """Holds the process and whoever watches it."""

    @property
    def system(self) -> CompiledSystem:
        """Its system prompt."""
        if self._system is None:
            raise RuntimeError("the run's only input is not compiled yet")
        return self._system

    def take_system(self, system: CompiledSystem) -> None:
        """Take the system prompt that was compiled with the only input."""
        self._system = system

    @property
    def alive(self) -> bool:
        """Whether its process can take a prompt."""
        return self.client is not None and self.client.alive

    @property
    def lost_its_process(self) -> bool:
        """Whether its process died and was not cleared away yet."""
        return self.client is not None and not self.client.alive

    @property
    def extent(self) -> TraceExtent:
        """How far its trace goes."""
        return extent_of(self.trace)

    async def disconnect(self) -> None:
        """End the process, if there is one; bounded by its own steps."""
        self.client = None
        stack, self.process = self.process, AsyncExitStack()
        await stack.aclose()


def extent_of(trace: TraceWriter) -> TraceExtent:
    """Say how far a trace goes, for the table of runs."""
    head = trace.head
    return TraceExtent(events=trace.events, head_sha256=head.sha256 if head else None)


def exit_code_of(run: Run) -> int | None:
    """Say how the run's process ended, negative for a signal; None while it lives."""
    client = run.client
    return None if client is None or client.alive else client.process.exit_code
