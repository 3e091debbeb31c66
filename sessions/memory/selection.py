"""Choosing notes for one turn: the best first, and an account of all that was left out.

Spec: TR "Retrieval eligibility and scoring".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import structlog

from compiler.audience import (
    Audience,
    Binding,
    Exclusion,
    MemoryScope,
    may_know,
    readable_bindings,
)
from compiler.conflict_codes import ConflictCode
from compiler.hashing import sha256_fields
from compiler.recall import Candidate, Query
from compiler.recall import select as select_notes
from compiler.records import RecordStatus
from compiler.relevance import RELEVANCE_POLICY
from compiler.request import (
    ExcludedNote,
    ImpName,
    MemoryNote,
    MemorySelection,
    NoteConflict,
    RunScope,
)
from sessions.memory.core import MemoryCore, state_of
from sessions.memory.index import BindingNotes, account_of
from sessions.memory.notes import Note, date_of, to_ms

_log = structlog.get_logger(__name__)
_INDEX_TAG: Final = "inglenook-indexes-v1"
_HELD: Final = 1_024
"""People whose private ids are held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offered:
    """What became of a chosen note: it is shown, or left out with an alarm."""

    note: MemoryNote | None = None
    excluded: ExcludedNote | None = None
    conflicts: tuple[NoteConflict, ...] = ()


class NoteSelector:
    """Chooses among the notes that a turn's people and place may see."""

    def __init__(self, core: MemoryCore) -> None:
        self._core = core
        self._private: OrderedDict[Binding, tuple[int, tuple[ExcludedNote, ...]]] = OrderedDict()
        """The account of private notes by person, with the index revision of which they are."""

    async def select(
        self, imp: ImpName, scope: RunScope, text: str, now: datetime
    ) -> MemorySelection:
        """Choose notes for one turn, best first, and account for all that was left out.

        Changes nothing but the state of notes whose time is over, so it also serves a preview for
        somebody else's scope.
        """
        if not self._core.enabled:
            return MemorySelection()
        now_ms = to_ms(now)
        near = await self._core.nearness(imp, scope, text, now_ms)
        audience = await self._core.audience(imp, scope, now_ms)
        indexes = await self._core.indexes(audience, now_ms)
        query = Query(
            text=text,
            now_ms=now_ms,
            limit_notes=self._core.settings().selected_notes,
            semantic=near or None,
        )
        found = select_notes([each.index for each in indexes], query)
        if over := found.left.get(Exclusion.EXPIRED):
            await self._note_expired(over, indexes)
            # What one of them had outdone by a rule stands again.
            found = select_notes([each.index for each in indexes], query)
        offered = [self._offered(each, indexes, audience, now_ms) for each in found.chosen]
        excluded = account_of(found.left, indexes)
        excluded += await self._kept_private(audience)
        excluded += [each.excluded for each in offered if each.excluded is not None]
        notes = tuple(each.note for each in offered if each.note is not None)
        conflicts = [dispute for each in indexes for dispute in each.disputes]
        conflicts += [conflict for each in offered for conflict in each.conflicts]
        if found.uncertain and notes:
            code = ConflictCode.UNCERTAIN_RETRIEVAL.value
            ids = tuple(sorted(note.note_id for note in notes))
            conflicts.append(NoteConflict(code=code, note_ids=ids))
        return MemorySelection(
            notes=notes,
            excluded=tuple(excluded),
            conflicts=tuple(conflicts),
            index_id=f"{RELEVANCE_POLICY}+{self._core.meaning.name}" if near else RELEVANCE_POLICY,
            index_revision=sha256_fields(_INDEX_TAG, (each.revision for each in indexes)),
            stale_index=near is None,
        )

    def _offered(
        self,
        candidate: Candidate,
        indexes: Sequence[BindingNotes],
        audience: Audience,
        now_ms: int,
    ) -> _Offered:
        """Give a chosen note its form for the prompt; what must not be here never gets one."""
        for each in indexes:
            note = each.notes.get(candidate.record_id)
            if note is not None:
                break
        else:
            return _Offered()
        if self._core.is_forgotten(note):
            self._core.index.drop([note.row])
            return _alarm(note, ConflictCode.TOMBSTONED_RECORD_SELECTED, Exclusion.TOMBSTONED)
        mismatch = may_know(note.row.binding, audience)
        if mismatch is not None:
            return _alarm(note, ConflictCode.TENANT_BINDING_MISMATCH, mismatch)
        conflicts: tuple[NoteConflict, ...] = ()
        if drafts := each.drafts_of(note, audience.user_id, now_ms):
            code = ConflictCode.CURRENT_USER_CORRECTION.value
            conflicts = (NoteConflict(code=code, note_ids=(note.row.short_id, *drafts)),)
        shown = MemoryNote(
            note_id=note.row.short_id,
            scope=note.row.binding.scope.value,
            text=note.text,
            status=state_of(note.row, now_ms).value,
            recorded_on=date_of(note.row.created_ms),
            conflict=each.doubt_of(note, audience.user_id, now_ms),
            reads_like_instructions=each.reads_like_instructions(note),
        )
        return _Offered(note=shown, conflicts=conflicts)

    async def _kept_private(self, audience: Audience) -> tuple[ExcludedNote, ...]:
        """Name the acting person's own private notes that others' eyes keep out of this turn."""
        person = Binding(imp=audience.imp, scope=MemoryScope.USER, user_id=audience.user_id)
        if audience.user_id is None or person in readable_bindings(audience):
            return ()
        revision, told = self._private.get(person, (-1, ()))
        if revision != self._core.index.revision:
            revision = self._core.index.revision
            ids = await self._core.store.ids_of_binding(person)
            reason = Exclusion.AUDIENCE.value
            told = tuple(ExcludedNote(note_id=each, reason=reason) for each in ids)
            self._private[person] = (revision, told)
            while len(self._private) > _HELD:
                self._private.popitem(last=False)
        return told

    async def _note_expired(
        self, record_ids: Sequence[str], indexes: Sequence[BindingNotes]
    ) -> None:
        """Let what was seen to be past its time stay so, wherever the clock goes."""
        rows = [
            note.row
            for record_id in record_ids
            for each in indexes
            if (note := each.notes.get(record_id)) is not None
        ]
        if rows:
            await self._core.store.expire([row.record_id for row in rows])
            for row in rows:
                self._core.index.end(
                    replace(row, status=RecordStatus.EXPIRED), RecordStatus.EXPIRED
                )


def _alarm(note: Note, code: ConflictCode, reason: Exclusion) -> _Offered:
    """Leave out what no path should have offered."""
    _log.error("memory.alarm", code=code.value, record_id=note.row.record_id)
    short_id = note.row.short_id
    return _Offered(
        excluded=ExcludedNote(note_id=short_id, reason=reason.value),
        conflicts=(NoteConflict(code=code.value, note_ids=(short_id,)),),
    )
