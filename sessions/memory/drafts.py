"""Notes that have no identity yet, and which of the notes that stand they meet. Pure.

Spec: TR "Contradiction policy"; the table "Conflicts".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace

from compiler.audience import MemoryScope
from compiler.lifecycle import find_conflicts
from compiler.records import CreatorClass, RecordKind, RecordStatus, TrustClass
from compiler.terms import fold
from sessions.memory.notes import Claim, Note, NoteRow, owner_of, record_of
from sessions.memory.rules import MemoryContext, Placed, SourceMessage


def draft_of(
    ctx: MemoryContext,
    text: str,
    placed: Placed,
    *,
    explicit: bool,
    claim: Claim | None,
    now_ms: int,
    source: SourceMessage | None = None,
) -> Note:
    """Make a note that has no identity yet."""
    where = ctx.scope
    imp_wide = placed.binding.scope is MemoryScope.IMP
    person = CreatorClass.OWNER if imp_wide else CreatorClass.PERSON
    about_himself = explicit and placed.subject_id is not None
    row = NoteRow(
        record_id="",
        short_id="",
        kind=RecordKind.USER_PREFERENCE_ASSERTION
        if about_himself
        else RecordKind.LONG_TERM_MEMORY_RECORD,
        binding=placed.binding,
        subject_id=placed.subject_id,
        author_id=where.user_id,
        creator=person if explicit else CreatorClass.MODEL,
        trust=TrustClass.EXPLICIT if explicit else TrustClass.INFERRED,
        status=RecordStatus.ACTIVE,
        pinned=False,
        created_ms=now_ms,
        expires_ms=None,
        message_id=source.message_id if source else where.message_id or "",
        place_id=where.channel_id or "",
        run_id=ctx.run_id or "",
        turn_id=ctx.turn_id or "",
    )
    return Note(row=row, text=text, claim=None if claim is None else _tidy(claim))


def _tidy(claim: Claim) -> Claim:
    """Collapse the blanks of a claim: with them no two would be about the same thing."""
    return Claim(**{name: " ".join(part.split()) for name, part in asdict(claim).items()})


def expiring(note: Note, until_ms: int | None) -> Note:
    """Let a note end at a time, if it does not end sooner."""
    ends = [each for each in (note.row.expires_ms, until_ms) if each is not None]
    return replace(note, row=replace(note.row, expires_ms=min(ends, default=None)))


def twin_of(draft: Note, notes: Iterable[Note]) -> Note | None:
    """Find a note that says the same about the same person, by folded text."""
    folded = fold(draft.text).strip()
    return next(
        (
            note
            for note in notes
            if note.row.subject_id == draft.row.subject_id and fold(note.text).strip() == folded
        ),
        None,
    )


def outdone_by(draft: Note, notes: Iterable[Note]) -> dict[str, Note]:
    """Find what a new note outdoes by a rule: the same person's other word on the same thing."""
    if draft.claim is None or draft.row.status is not RecordStatus.ACTIVE:
        return {}
    record = record_of(draft)
    found: dict[str, Note] = {}
    for note in notes:
        if note.claim is None or owner_of(note.row) != owner_of(draft.row):
            continue
        if note.row.status is not RecordStatus.ACTIVE:
            continue
        values = {record.record_id: fold(draft.claim.value)}
        values[note.row.record_id] = fold(note.claim.value)
        other = record_of(note)
        for conflict in find_conflicts((record, other), values):
            if conflict.kept == record.record_id:
                found[note.row.record_id] = note
    return found
