"""Summaries of idle conversations: written at a session's end, offered at the next one's begin.

The writing is a turn like any other, compiled and traced; its answer becomes a note of the memory
store (kind ``short_term_summary``, A6), so people see and forget it as any other. A note that is a
summary is never chosen for what it says. It stands for the messages that it was made of, in the
first turn of a later session of the same conversation, where it takes less room than they do and
each of them is what it was. Else it is left out, and its reason told.

Spec: TR "Summary lineage"; issue "Summaries".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from compiler.compile import UNKNOWN_MODEL
from compiler.conflict_codes import ConflictCode
from compiler.embedded import reads_like_instructions
from compiler.hashing import sha256_text
from compiler.records import RecordKind
from compiler.request import (
    ChannelId,
    HistoryMessage,
    ImpName,
    MemoryNote,
    MemorySelection,
    MessageId,
    MessageInput,
    NoteConflict,
    Role,
    RunScope,
    TurnId,
)
from compiler.retention import SUMMARY_STATUS
from compiler.summaries import (
    MIN_SOURCES,
    SUMMARY_REQUEST,
    StaleReason,
    SummaryLineage,
    saves,
    staleness,
)
from sessions.clock import Clock, timestamp
from sessions.continuations import HOST
from sessions.inbound import InboundMessage
from sessions.memory.results import Kept, NotFound
from sessions.memory.rules import MemoryContext
from sessions.memory.service import MemoryService
from sessions.run import Run
from sessions.store.database import Database
from sessions.store.history import HistoryStore
from sessions.store.summaries import SummaryRow, SummaryStore
from sessions.tokens.desk import TokenDesk

TURN: Final = "summary:"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """What a first turn is given: notes, a summary among them if one stands, and the history."""

    memory: MemorySelection
    history: tuple[HistoryMessage, ...]


class SummaryDesk:
    """Keeps summaries and offers them. Every method may raise ``StoreUnavailable``."""

    def __init__(
        self,
        database: Database,
        memory: MemoryService,
        *,
        history: HistoryStore,
        clock: Clock,
        tokens: TokenDesk | None = None,
    ) -> None:
        """Take the stores, and who knows the identities of models; without, none is named."""
        self._tokens = tokens
        self._store = SummaryStore(database)
        self._history = history
        self._memory = memory
        self._clock = clock

    async def sources(self, run: Run, scope: RunScope) -> tuple[HistoryMessage, ...]:
        """Give the messages that a run's conversation was made of, as they stand now.

        Those before its first one are among them: the session began with them as history.
        """
        found = await self._store.sources_of_run(run.run_id)
        if not found or scope.channel_id is None:
            return ()
        earlier = await self._history.recent(
            scope.channel_id, run.budgets.history_max_messages, before=found[0]
        )
        return (*earlier, *(await self._history.standing(found)).values())

    def request(self, run: Run, scope: RunScope) -> InboundMessage:
        """Make the turn that asks for a summary."""
        return InboundMessage(
            imp=run.imp,
            scope=replace(scope, message_id=None),
            message=MessageInput(
                provider=scope.provider,
                author_label=HOST,
                role=Role.MEMBER,
                text=SUMMARY_REQUEST,
            ),
            turn_id=TurnId(f"{TURN}{run.run_id}"),
            received_ns=self._clock.monotonic_ns(),
        )

    async def keep(
        self, run: Run, scope: RunScope, text: str, sources: Sequence[HistoryMessage]
    ) -> str:
        """Keep what the model wrote of these messages; give the note's id, empty if refused."""
        channel_id = scope.channel_id
        if channel_id is None or not text.strip():
            return ""
        words = f"Summary of {len(sources)} earlier messages, by the model: {text.strip()}"
        ctx = MemoryContext(imp=run.imp, scope=scope, by_model=False, run_id=run.run_id)
        kept = await self._memory.remember(
            ctx, words, explicit=False, about_channel=True, kind=RecordKind.SHORT_TERM_SUMMARY
        )
        if not isinstance(kept, Kept) or kept.known:  # what is known was made of something else
            code = "known" if isinstance(kept, Kept) else str(getattr(kept, "code", ""))
            _log.info("summary.refused", run_id=run.run_id, code=code)
            return ""
        earlier = await self._store.of_conversation(run.imp, channel_id)
        model = UNKNOWN_MODEL if self._tokens is None else await self._tokens.model(run.settings)
        lineage = SummaryLineage(
            summary_record_id=await self._store.record_id_of(kept.note.short_id),
            source_record_ids=tuple(each.message_id for each in sources),
            source_record_hashes=tuple(sha256_text(each.text) for each in sources),
            summarizer_model_id=f"{run.settings.provider}/{run.settings.model}",
            summarizer_model_hash=model.identity.sha256,
            tokenizer_hash=model.scene.tokenizer.identity.sha256 if model.scene else "",
            template_hash=run.system.sha256,
            generated_at=timestamp(self._clock.utc_now()),
            scope=f"{run.imp} {channel_id}",
            output_hash=sha256_text(text),
            supersedes_summary_ids=tuple(
                each.record_id for each in earlier if each.sources.keys() <= _ids(sources)
            ),
        )
        await self._store.add(lineage, imp=run.imp, channel_id=channel_id, run_id=run.run_id)
        _log.info("summary.kept", run_id=run.run_id, sources=len(sources), chars=len(words))
        return kept.note.short_id

    async def stand_in(
        self,
        imp: ImpName,
        scope: RunScope,
        selection: MemorySelection,
        history: tuple[HistoryMessage, ...],
    ) -> StandIn:
        """Put summaries in the place of the messages that they were made of, where that saves."""
        channel_id = scope.channel_id
        notes: list[MemoryNote] = []
        if channel_id is None or not self._memory.enabled:
            return StandIn(memory=selection, history=history)
        for row in await self._standing(imp, channel_id, history):
            covered = [each for each in history if each.message_id in row.sources]
            if not covered or not await self._memory.may_be_given(imp, scope, row.notes):
                continue
            note = await self._note(imp, scope, row)
            if note is None or not saves(sum(len(each.text) for each in covered), len(note.text)):
                continue
            notes.append(note)
            history = tuple(each for each in history if each.message_id not in row.sources)
        chosen = {note.note_id for note in notes}
        conflicts = await self._divergences(imp, channel_id, selection, history)
        memory = replace(
            selection,
            notes=(*selection.notes, *notes),
            excluded=tuple(each for each in selection.excluded if each.note_id not in chosen),
            conflicts=(*selection.conflicts, *conflicts),
        )
        return StandIn(memory=memory, history=history)

    async def _divergences(
        self,
        imp: ImpName,
        channel_id: ChannelId,
        selection: MemorySelection,
        history: Sequence[HistoryMessage],
    ) -> list[NoteConflict]:
        """Name each stale summary with a source that this turn reads in its later form.

        The source wins (table "Conflicts"); the summary is out already, as all that are stale.
        """
        code = ConflictCode.SUMMARY_SOURCE_DIVERGENCE.value
        texts = {str(each.message_id): sha256_text(each.text) for each in history}
        given = {note.note_id for note in selection.notes}
        return [
            NoteConflict(code=code, note_ids=(row.short_id, source_id), kept=source_id)
            for row in await self._store.of_conversation(
                imp, channel_id, StaleReason.SOURCE_CHANGED
            )
            for source_id in (
                *(each for each, was in row.sources.items() if texts.get(each, was) != was),
                *(each for each in row.newer if each in given),
            )
        ]

    async def _standing(
        self, imp: ImpName, channel_id: ChannelId, history: Sequence[HistoryMessage]
    ) -> list[SummaryRow]:
        """Give the summaries of some messages whose every source is what it was; mark the others.

        Those of all earlier messages are not looked at, however many there are.
        """
        standing: list[SummaryRow] = []
        told = [each.message_id for each in history]
        for row in await self._store.of_conversation(imp, channel_id, of=told):
            found = await self._history.standing(map(MessageId, row.sources))
            reason = staleness(
                row.sources, {message_id: each.text for message_id, each in found.items()}
            )
            if reason is None:
                standing.append(row)
            else:
                await self._store.mark_stale(row.record_id, reason)
                _log.info("summary.stale", record_id=row.record_id, reason=reason.value)
        return standing

    async def _note(self, imp: ImpName, scope: RunScope, row: SummaryRow) -> MemoryNote | None:
        """Open a summary for its own conversation; None if it is not to be had any more."""
        host = replace(scope, role=Role.OWNER)
        shown = await self._memory.show(
            MemoryContext(imp=imp, scope=host, by_model=False), row.short_id
        )
        if isinstance(shown, NotFound) or not shown.text:
            await self._store.mark_stale(row.record_id, StaleReason.SOURCE_GONE)
            return None
        return MemoryNote(
            note_id=row.short_id,
            scope=shown.scope.value,
            text=shown.text,
            status=SUMMARY_STATUS,
            recorded_on=shown.recorded_on,
            reads_like_instructions=reads_like_instructions(shown.text),
        )


def worth_summing_up(run: Run, sources: Sequence[HistoryMessage]) -> bool:
    """Tell whether a run's conversation is long enough for a summary to save anything."""
    return run.answered > 0 and len(sources) >= MIN_SOURCES


def _ids(sources: Sequence[HistoryMessage]) -> frozenset[str]:
    return frozenset(each.message_id for each in sources)
