"""The history of a fresh session's first turn: newest kept, oldest leave first, counted.

What stays is always the end of the conversation without holes. An over-long message that would
push out everything else is kept as its beginning.

Spec: WS "The blocks", "Budgets" (25 messages in 6k by default).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from compiler.blocks import BlockKind, Omission, OmissionReason
from compiler.fitting import Candidate, Fit, take_in_order
from compiler.origin import Origin
from compiler.render import history_item, list_block
from compiler.request import HistoryMessage


def fit_history(messages: Sequence[HistoryMessage], max_messages: int, room_chars: int) -> Fit:
    """Render the newest messages in their room, oldest first; ``messages`` are oldest first."""
    if not messages:
        return Fit()
    newest_first = messages[::-1]
    candidates = [_candidate(message) for message in newest_first[: max(max_messages, 0)]]
    over = [
        _left(message.message_id, len(history_item(message)), OmissionReason.ITEM_LIMIT)
        for message in newest_first[len(candidates) :]
    ]
    capacity = room_chars - len(list_block(BlockKind.HISTORY, (), omitted=len(messages)))
    taken = take_in_order(candidates, capacity)
    kept = len(taken.items)
    omissions = [
        *(_cut(candidates[index], OmissionReason.SHORTENED) for index in taken.shortened),
        *(_cut(each, OmissionReason.BUDGET) for each in candidates[kept:]),
        *over,
    ]
    if not kept:
        return Fit(omissions=tuple(omissions))
    return Fit(
        content=list_block(BlockKind.HISTORY, taken.items[::-1], omitted=len(messages) - kept),
        omissions=tuple(omissions),
        items=taken.fitted(candidates)[::-1],
    )


def _candidate(message: HistoryMessage) -> Candidate:
    return Candidate(
        item_id=message.message_id,
        whole=history_item(message),
        text_chars=len(message.text),
        render_kept=partial(history_item, message),
        origin=Origin.IMP_MESSAGE if message.is_imp else Origin.PERSON_MESSAGE,
    )


def _cut(candidate: Candidate, reason: OmissionReason) -> Omission:
    return _left(candidate.item_id, len(candidate.whole), reason)


def _left(item_id: str, chars: int, reason: OmissionReason) -> Omission:
    return Omission(block=BlockKind.HISTORY, item_id=item_id, reason=reason, chars=chars)
