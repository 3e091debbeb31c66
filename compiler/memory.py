"""Selected notes in the room that is left: whole notes only, each omission named.

The order of the notes is their rank, comes from selection, and is the order in which they stand.
Room goes to confirmed ones first, then to the others, then to summaries (``retention``); in each
class the best first. A note without room is passed over, not cut, and a smaller one behind it may
still go in.

Spec: CC "Memory", "Context budgets"; TR "Non-negotiable retention order".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

from compiler.blocks import BlockKind, Omission, OmissionReason, named_tuples
from compiler.fitting import Fit, FittedItem
from compiler.origin import Origin
from compiler.render import list_block, memory_items
from compiler.request import MemoryNote, MemorySelection
from compiler.retention import Retention, retention_of_note

_MEMORY = BlockKind.MEMORY
_BUDGET = OmissionReason.BUDGET
_OVERSIZED = OmissionReason.OVERSIZED
# A turn may name a thousand omissions; looking up an enum member for each would show.
_ORIGINS = {
    Retention.CONFIRMED: Origin.CONFIRMED_NOTE,
    Retention.MEMORY: Origin.INFERRED_NOTE,
    Retention.SUMMARY: Origin.SUMMARY_NOTE,
}


def fit_memory(selection: MemorySelection, limit_chars: int, room_chars: int) -> Fit:
    """Render the notes that fit; what selection itself excluded is accounted for as well.

    ``limit_chars`` is the memory's own limit, ``room_chars`` the part of it that is left.
    """
    frame = len(list_block(_MEMORY, ()))
    notes, forms = selection.notes, memory_items(selection.notes)
    sizes = list(map(len, forms))
    taken = _take(notes, sizes, room_chars - frame)
    own_limit = limit_chars - frame
    items = [
        FittedItem(notes[rank].note_id, forms[rank], rank, taken[rank]) for rank in sorted(taken)
    ]
    left = [rank for rank in range(len(notes)) if rank not in taken]
    omissions = named_tuples(  # there may be a thousand
        Omission,
        zip(
            repeat(_MEMORY, len(left)),
            [notes[rank].note_id for rank in left],
            [_OVERSIZED if sizes[rank] > own_limit else _BUDGET for rank in left],
            [sizes[rank] for rank in left],
            strict=True,
        ),
    )
    omissions += [
        Omission(block=_MEMORY, item_id=note.note_id, reason=note.reason, chars=0)
        for note in sorted(selection.excluded, key=lambda note: (note.reason, note.note_id))
    ]
    return Fit(
        content=list_block(_MEMORY, [item.form for item in items]) if items else "",
        omissions=tuple(omissions),
        items=tuple(items),
    )


def _take(
    notes: Sequence[MemoryNote], sizes: Sequence[int], room_chars: int
) -> Mapping[int, Origin]:
    """Choose the ranks that go in, by class and then by rank."""
    statuses = [note.status for note in notes]
    class_of = {status: retention_of_note(status) for status in set(statuses)}
    smallest = min(sizes, default=0)
    taken: dict[int, Origin] = {}
    for retention in sorted(set(class_of.values())):
        for rank, status in enumerate(statuses):
            if room_chars < smallest:
                return taken
            if class_of[status] is retention and sizes[rank] <= room_chars:
                taken[rank] = _ORIGINS[retention]
                room_chars -= sizes[rank] + 1
    return taken
