"""What one turn has to do with memory: the notes that it is given, and the tools that it may call.

The notes are chosen when the turn's sources are read, and that a run is given them is written down
before it is. What is forgotten between then and the sending is noticed (``is_outdated``), and the
turn is compiled anew (TR's metamorphic matrix: nothing of it is sent, its copies in the history
neither).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final

from compiler.request import HistoryMessage, MemorySelection
from sessions.inbound import InboundMessage
from sessions.memory.rules import MemoryContext
from sessions.parts import SessionParts
from sessions.run import Run
from sessions.summaries import StandIn
from sessions.tools.call import ToolAnswer, ToolCall
from sessions.tools.memory import MemoryTools
from sessions.tools.table import MEMORY_TOOLS

_NOTHING: Final[Mapping[str, Callable[[ToolCall], Awaitable[ToolAnswer]]]] = MappingProxyType({})


class TurnMemory:
    """Memory for one turn of one run; without a service it gives nothing."""

    def __init__(self, parts: SessionParts, run: Run, inbound: InboundMessage) -> None:
        self._memory = parts.memory
        self._parts = parts
        self._run = run
        self._inbound = inbound
        self._revision = 0
        self._note_ids: frozenset[str] = frozenset()
        self._has_history = False

    async def select(self) -> MemorySelection:
        """Choose the notes for this turn.

        Raises:
            StoreUnavailable: memory cannot be read; no turn is compiled as if there were none.
        """
        memory, inbound = self._memory, self._inbound
        if memory is None:
            return MemorySelection()
        self._revision = memory.revision
        now = self._parts.clock.utc_now()
        selection = await memory.select(inbound.imp, inbound.scope, inbound.message.text, now)
        await self._note_use(selection)
        return selection

    async def stand_in(
        self, selection: MemorySelection, history: tuple[HistoryMessage, ...]
    ) -> StandIn:
        """Let summaries stand for history in the first turn of a session, where they may.

        Raises:
            StoreUnavailable: memory cannot be read.
        """
        summaries, inbound = self._parts.summaries, self._inbound
        if summaries is None or not self._parts.limits.summaries:
            return StandIn(memory=selection, history=history)
        chosen = await summaries.stand_in(inbound.imp, inbound.scope, selection, history)
        await self._note_use(chosen.memory)
        return chosen

    async def _note_use(self, selection: MemorySelection) -> None:
        """Write down which notes the run is about to be given."""
        self._note_ids = frozenset(note.note_id for note in selection.notes)
        fresh = self._note_ids - self._run.noted
        if fresh and self._memory is not None:
            await self._memory.keep_use(self._run.run_id, fresh)
            self._run.noted |= fresh

    async def before_history(self) -> None:
        """Let memory purge what is left of forgotten notes before the history is read."""
        self._has_history = True
        if self._memory is not None:
            await self._memory.before_history()

    async def consent_codes(self) -> tuple[str, ...]:
        """Name what the speaker allows here, for the startup package.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        memory, inbound = self._memory, self._inbound
        return () if memory is None else await memory.consent_codes(inbound.imp, inbound.scope)

    @property
    def is_outdated(self) -> bool:
        """Whether something was forgotten since the notes were chosen that this input may hold.

        A history may repeat the words of any note, its own person's private ones too.
        """
        memory = self._memory
        if memory is None or memory.revision == self._revision:
            return False
        return self._has_history or memory.forgotten_since(self._revision, self._note_ids)

    def handlers(self) -> Mapping[str, Callable[[ToolCall], Awaitable[ToolAnswer]]]:
        """Give who answers the memory tools of this turn; none without a memory."""
        memory, inbound = self._memory, self._inbound
        if memory is None:
            return _NOTHING
        tools = MemoryTools(
            memory,
            MemoryContext(
                imp=inbound.imp,
                scope=inbound.scope,
                by_model=True,
                run_id=self._run.run_id,
                turn_id=inbound.turn_id,
                speaker=inbound.message.author_label,
                revision=self._revision,
            ),
        )
        return {tool.name: tools.answer for tool in MEMORY_TOOLS}
