"""Corrections that wait: a person's confirmed word stands until he confirms what replaces it. Pure.

In a turn the model may note that somebody corrects himself. The person's current message wins in
that conversation; the note that he confirmed once stays until his click, and whoever is shown it
is told that it is in doubt.

Spec: the table "Conflicts", CURRENT_USER_CORRECTION.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from compiler.records import ClaimKey, RecordStatus
from compiler.terms import fold
from sessions.memory.notes import Note, claim_key, owner_of


def awaiting(notes: Iterable[Note]) -> Mapping[str, tuple[Note, ...]]:
    """Give the corrections that wait, by the record id of the note that each would replace.

    A correction names that note, or claims something else of the same thing as one of its owner's.
    """
    found = sorted(notes, key=lambda note: note.row.record_id)
    waiting = [note for note in found if note.row.status is RecordStatus.PENDING]
    if not waiting:
        return {}
    standing = [note for note in found if note.row.status is RecordStatus.ACTIVE]
    keys = {note.row.record_id: claim_key(note) for note in found}
    corrections: dict[str, tuple[Note, ...]] = {}
    for draft, note in product(waiting, standing):
        if draft.row.supersedes == note.row.record_id or _says_otherwise(draft, note, keys):
            known = corrections.get(note.row.record_id, ())
            corrections[note.row.record_id] = (*known, draft)
    return corrections


def _says_otherwise(draft: Note, note: Note, keys: Mapping[str, ClaimKey | None]) -> bool:
    mine, its = keys[draft.row.record_id], keys[note.row.record_id]
    return (
        owner_of(draft.row) == owner_of(note.row)
        and mine is not None
        and its is not None
        and mine.overlaps(its)
        and _value(draft) != _value(note)
    )


def _value(note: Note) -> str:
    return "" if note.claim is None else fold(note.claim.value)
