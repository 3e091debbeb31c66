"""The notes of the bindings in use, opened and indexed; the rest stays sealed on disk.

An index is loaded when a turn first reads its binding, changed by every write, and dropped when
there are too many notes in memory: the binding longest unused goes first. Only this binding's
contents are opened for it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from compiler.audience import Binding, Exclusion
from compiler.conflict_codes import ConflictCode
from compiler.embedded import reads_like_instructions
from compiler.hashing import sha256_fields
from compiler.lifecycle import Conflict, find_conflicts
from compiler.recall import Candidate, RecallIndex
from compiler.records import RecordKind, RecordStatus
from compiler.relevance import FULL_BP
from compiler.request import ExcludedNote, NoteConflict, UserId
from compiler.terms import fold
from sessions.errors import StoreUnavailable
from sessions.memory.corrections import awaiting
from sessions.memory.notes import Note, NoteRow, is_over, owner_of, record_of

MAX_NOTES: Final = 20_000
"""Notes held open at once, about 100 MB at their longest; a home's busy ones are far fewer."""
SUMMARY_APART: Final = "summary-not-needed"
"""A summary stands for messages or for nothing (``sessions.summaries``); its words rank nowhere."""
_INFERRED_BP: Final = 5_000
_LOAD_ATTEMPTS: Final = 5
_REVISION_TAG: Final = "inglenook-index-v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a binding holds, read from the stores."""

    notes: tuple[Note, ...]
    ended: tuple[NoteRow, ...]
    """Rows that can never be chosen."""
    refusing: frozenset[str]
    """Persons (and '' for nobody) whose notes may not be used here: they withdrew consent."""
    until_ms: int | None = None
    """When a consent ends by itself, so that all of this has to be read again."""


class BindingNotes:
    """The index of one binding, and what is known of each of its notes."""

    def __init__(self, loaded: Loaded, since_ms: int = 0) -> None:
        self._refusing = loaded.refusing
        self._since_ms = since_ms
        """When it was read; before that, were the clock set back, other consents may have held."""
        self._until_ms = loaded.until_ms
        self.notes: dict[str, Note] = {note.row.record_id: note for note in loaded.notes}
        self.ended = {row.record_id: row for row in loaded.ended}
        self.conflicts: dict[str, str] = {}
        """What to disclose of a note, by record id."""
        self._beaten: dict[str, Exclusion] = {}
        self.disputes: tuple[NoteConflict, ...] = ()
        """All contradictions here, settled or not."""
        self._told: dict[Exclusion, Mapping[str, ExcludedNote]] = {}
        self._summaries: tuple[ExcludedNote, ...] | None = None
        self._corrections: Mapping[str, tuple[Note, ...]] | None = None
        self._loud: dict[str, bool] = {}
        """Whether a note that was shown reads like instructions, by record id."""
        self._revision = ""
        self.index = RecallIndex()
        self._resolve()
        for note in loaded.notes:
            self._index(note)

    def __len__(self) -> int:
        return len(self.notes) + len(self.ended)

    @property
    def revision(self) -> str:
        """A hash of what is here, the same for the same content whatever happened elsewhere.

        Made anew after a change, so a turn does not pay for it.
        """
        if not self._revision:
            states = sorted(
                f"{note.row.record_id} {note.row.status} {note.row.pinned}"
                for note in self.notes.values()
            )
            self._revision = sha256_fields(_REVISION_TAG, states)
        return self._revision

    def holds(self, now_ms: int) -> bool:
        """Whether the consents that it was read with are those of a moment."""
        return self._since_ms <= now_ms and (self._until_ms is None or now_ms < self._until_ms)

    def may_be_given(self, record_id: str, now_ms: int) -> bool:
        """Whether a note here could be chosen, were it what a turn is about."""
        note = self.notes.get(record_id)
        return (
            note is not None
            and note.row.status is RecordStatus.ACTIVE
            and record_id not in self._beaten
            and (note.row.subject_id or "") not in self._refusing
            and not is_over(note.row, now_ms)
        )

    def excluded(self, reason: Exclusion) -> Mapping[str, ExcludedNote]:
        """Give the account of each note here, were it left out for this reason.

        A turn leaves out all but a few of its notes, so these are made once and not for each turn.
        """
        known = self._told.get(reason)
        if known is None:
            known = self._told[reason] = {
                record_id: ExcludedNote(note_id=note.row.short_id, reason=reason.value)
                for record_id, note in self.notes.items()
            }
        return known

    def drafts_of(self, note: Note, speaker: UserId | None, now_ms: int) -> tuple[str, ...]:
        """Name the corrections of the speaker's own note that wait for his click."""
        if owner_of(note.row) != speaker:
            return ()
        if self._corrections is None:
            self._corrections = awaiting(self.notes.values())
        waiting = self._corrections.get(note.row.record_id, ())
        return tuple(sorted(each.row.short_id for each in waiting if not is_over(each.row, now_ms)))

    def doubt_of(self, note: Note, speaker: UserId | None, now_ms: int) -> str:
        """Say what to disclose of a note to the model: codes, and the ids that say otherwise."""
        told = self.conflicts.get(note.row.record_id, "")
        drafts = self.drafts_of(note, speaker, now_ms)
        code = ConflictCode.CURRENT_USER_CORRECTION.value
        return " ".join(filter(None, (told, code, *drafts))) if drafts else told

    def reads_like_instructions(self, note: Note) -> bool:
        """Look through a note of this binding, once for as long as it is held."""
        found = self._loud.get(note.row.record_id)
        if found is None:
            found = self._loud[note.row.record_id] = reads_like_instructions(note.text)
        return found

    def summaries(self) -> tuple[ExcludedNote, ...]:
        """Give the account of the summaries, which are never chosen for what they say."""
        if self._summaries is None:
            self._summaries = tuple(
                ExcludedNote(note_id=note.row.short_id, reason=SUMMARY_APART)
                for _, note in sorted(self.notes.items())
                if note.row.kind is RecordKind.SHORT_TERM_SUMMARY
            )
        return self._summaries

    def ended_notes(self) -> list[ExcludedNote]:
        """Give the account of the notes that can never be chosen."""
        return [
            ExcludedNote(note_id=row.short_id, reason=row.status.value)
            for _, row in sorted(self.ended.items())
        ]

    def beaten(self) -> dict[Exclusion, list[str]]:
        """Name the notes that another one outdoes by a rule."""
        left: dict[Exclusion, list[str]] = {}
        for record_id, reason in sorted(self._beaten.items()):
            left.setdefault(reason, []).append(record_id)
        return left

    def _changed(self) -> None:
        self._told.clear()
        self._summaries = self._corrections = None
        self._revision = ""

    def put(self, note: Note) -> None:
        """Add or replace a note."""
        self._changed()
        self.notes[note.row.record_id] = note
        self.ended.pop(note.row.record_id, None)
        self._index(note)
        if note.claim is not None:
            self._resolve_again()

    def end(self, record_id: str, status: RecordStatus) -> None:
        """Let a note leave selection for good, keeping its row for the account of it."""
        self._changed()
        note = self.notes.pop(record_id, None)
        self._loud.pop(record_id, None)
        self.index.drop(record_id)
        if note is None:
            return
        if status is not RecordStatus.TOMBSTONED:
            self.ended[record_id] = replace(note.row, status=status)
        if note.claim is not None:
            self._resolve_again()

    def drop(self, record_id: str) -> None:
        """Remove every trace of a record."""
        self.ended.pop(record_id, None)
        self.end(record_id, RecordStatus.TOMBSTONED)

    def _resolve_again(self) -> None:
        before = set(self._beaten)
        self._resolve()
        for record_id in before ^ set(self._beaten):
            if (note := self.notes.get(record_id)) is not None:
                self._index(note)

    def _resolve(self) -> None:
        """Settle contradictions among the claims of what is active here (TR)."""
        claims = [
            note
            for note in self.notes.values()
            if note.claim is not None and note.row.status is RecordStatus.ACTIVE
        ]
        values = {note.row.record_id: fold(note.claim.value) for note in claims if note.claim}
        self.conflicts, self._beaten = {}, {}
        partners: dict[str, list[str]] = {}
        disputes: list[NoteConflict] = []
        for conflict in find_conflicts(map(record_of, claims), values):
            one, two = conflict.record_ids
            disputes.append(self._told_of(conflict))
            if conflict.kept is None:
                partners.setdefault(one, []).append(self.notes[two].row.short_id)
                partners.setdefault(two, []).append(self.notes[one].row.short_id)
            else:
                loser = two if conflict.kept == one else one
                same = conflict.code is ConflictCode.DUPLICATE_EQUIVALENT
                self._beaten[loser] = Exclusion.DUPLICATE if same else Exclusion.SUPERSEDED
        self.disputes = tuple(disputes)
        for record_id, others in partners.items():
            code = ConflictCode.AUTHORITATIVE_DATE_DIVERGENCE.value
            self.conflicts[record_id] = " ".join((code, *sorted(others)))

    def _told_of(self, conflict: Conflict) -> NoteConflict:
        """Give a contradiction in the ids that people and prompts know."""
        names = {each: self.notes[each].row.short_id for each in conflict.record_ids}
        return NoteConflict(
            code=conflict.code.value,
            note_ids=tuple(sorted(names.values())),
            kept=names[conflict.kept] if conflict.kept else "",
        )

    def _index(self, note: Note) -> None:
        if note.row.kind is not RecordKind.SHORT_TERM_SUMMARY:
            self.index.put(self._candidate(note))

    def _candidate(self, note: Note) -> Candidate:
        row = note.row
        beaten = row.record_id in self._beaten
        return Candidate(
            record_id=row.record_id,
            text=note.text,
            created_ms=row.created_ms,
            status=RecordStatus.SUPERSEDED if beaten else row.status,
            expires_ms=row.expires_ms,
            consented=(row.subject_id or "") not in self._refusing,
            pinned=row.pinned,
            confirmed=note.confirmed,
            quality_bp=FULL_BP if note.confirmed else _INFERRED_BP,
        )


class MemoryIndex:
    """The indexes of the bindings in use."""

    def __init__(
        self,
        load: Callable[[Binding], Awaitable[Loaded]],
        *,
        max_notes: int = MAX_NOTES,
        on_drop: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take what reads a binding, and who is told of each record that goes for good."""
        self._load = load
        self._on_drop = on_drop
        self._max_notes = max_notes
        self._bindings: OrderedDict[Binding, BindingNotes] = OrderedDict()
        self._loading = asyncio.Lock()
        self._wanted: Binding | None = None
        """The binding that is being loaded, and whether it changed since that began."""
        self._changed = False
        self._held = 0
        self.revision = 0
        """Grows with every change; part of a cleanup proof."""

    def __len__(self) -> int:
        return self._held

    async def get(self, binding: Binding, now_ms: int) -> BindingNotes:
        """Give the index of a binding, loaded if need be.

        Raises:
            StoreUnavailable: it cannot be read just now.
        """
        found = self._bindings.get(binding)
        if found is not None and found.holds(now_ms):
            self._bindings.move_to_end(binding)
            return found
        async with self._loading:
            found = self._bindings.get(binding)
            if found is None or not found.holds(now_ms):
                found = await self._read(binding, now_ms)
        return found

    async def _read(self, binding: Binding, now_ms: int) -> BindingNotes:
        """Load a binding; what changes meanwhile makes it begin anew."""
        self.forget_binding(binding)
        self._wanted = binding
        for _ in range(_LOAD_ATTEMPTS):
            self._changed = False
            notes = await asyncio.to_thread(BindingNotes, await self._load(binding), now_ms)
            if not self._changed:
                self._keep(binding, notes)
                return notes
        raise StoreUnavailable("memory changes too fast")

    def put(self, note: Note) -> None:
        """Tell of a new or changed note."""
        self._change(note.row.binding, lambda notes: notes.put(note))

    def end(self, row: NoteRow, status: RecordStatus) -> None:
        """Tell that a note left selection."""
        self._change(row.binding, lambda notes: notes.end(row.record_id, status))

    def drop(self, rows: Iterable[NoteRow]) -> None:
        """Remove every trace of records."""
        for row in rows:
            self._drop(row)

    def _drop(self, row: NoteRow) -> None:
        self._on_drop(row.record_id)
        self._change(row.binding, lambda notes: notes.drop(row.record_id))

    def forget_binding(self, binding: Binding) -> None:
        """Drop an index; it is read again when it is next wanted."""
        self.revision += 1
        self._note_change(binding)
        gone = self._bindings.pop(binding, None)
        if gone is not None:
            self._held -= len(gone)

    def clear(self) -> None:
        """Drop every index: records went that nobody here can name the binding of."""
        for binding in [*self._bindings, *([self._wanted] if self._wanted else [])]:
            self.forget_binding(binding)

    def _change(self, binding: Binding, change: Callable[[BindingNotes], None]) -> None:
        self.revision += 1
        self._note_change(binding)
        found = self._bindings.get(binding)
        if found is not None:
            self._held -= len(found)
            change(found)
            self._held += len(found)

    def _note_change(self, binding: Binding) -> None:
        if binding == self._wanted:
            self._changed = True

    def _keep(self, binding: Binding, notes: BindingNotes) -> None:
        self._held += len(notes)
        self._bindings[binding] = notes
        while self._held > self._max_notes and len(self._bindings) > 1:
            _, gone = self._bindings.popitem(last=False)
            self._held -= len(gone)


def account_of(
    left: Mapping[Exclusion, Sequence[str]], indexes: Sequence[BindingNotes]
) -> list[ExcludedNote]:
    """Account for what was left out: by selection, by a rule, or long before."""
    told: list[ExcludedNote] = []
    beaten = {
        record_id: reason
        for each in indexes
        for reason, ids in each.beaten().items()
        for record_id in ids
    }
    for reason, ids in left.items():
        others = ids if not beaten else [each for each in ids if each not in beaten]
        for each in indexes:
            known = each.excluded(reason)
            told += [known[record_id] for record_id in others if record_id in known]
    for record_id, reason in sorted(beaten.items()):
        told += (
            note for each in indexes if (note := each.excluded(reason).get(record_id)) is not None
        )
    for each in indexes:
        told += each.summaries()
        told += each.ended_notes()
    return told
