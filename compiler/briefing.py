"""The briefing: what the host knows about proposed actions, bounded and counted.

Order: the outcome that caused a continuation, then open gates by filing time and id. Lesser items
leave from the end and are counted; the continuation never leaves, at worst the beginning of its
detail is kept.

Spec: CC "Briefing", "Context budgets".
"""

from __future__ import annotations

from functools import partial
from typing import Final

from compiler.blocks import BlockKind, Omission, OmissionReason
from compiler.fitting import Candidate, Fit, take_in_order
from compiler.origin import Origin
from compiler.render import continuation_item, gate_item, list_block
from compiler.request import Briefing

CONTINUATION_REQUEST: Final = (
    "An action that you proposed here has come to its end; what became of it stands first in the "
    "briefing. Tell the person who asked for it, in a sentence or two, and go on with what waited "
    "for it. Do not propose it again unless somebody asks you to."
)
"""The host's words where a turn is caused by a gate's end and by no message."""


def minimum_chars(briefing: Briefing) -> int:
    """Count what the briefing takes at the very least: 0, or its continuation without detail."""
    gate = briefing.continuation
    if gate is None:
        return 0
    whole = continuation_item(gate)
    least = continuation_item(gate, 0) if gate.detail else whole
    return _frame_chars(briefing) + min(len(least), len(whole))


def fit_briefing(briefing: Briefing, room_chars: int) -> Fit:
    """Render the briefing in its room; of what has no room, the count is in the block."""
    candidates = _candidates(briefing)
    if not candidates:
        return Fit()
    capacity = room_chars - _frame_chars(briefing)
    if capacity < 0:
        return Fit(omissions=tuple(_left(each, OmissionReason.BUDGET) for each in candidates))
    taken = take_in_order(candidates, capacity)
    left = candidates[len(taken.items) :]
    omissions = [_left(candidates[index], OmissionReason.SHORTENED) for index in taken.shortened]
    omissions += [_left(each, OmissionReason.BUDGET) for each in left]
    return Fit(
        content=list_block(BlockKind.BRIEFING, taken.items, omitted=len(left)),
        omissions=tuple(omissions),
        items=taken.fitted(candidates),
    )


def _candidates(briefing: Briefing) -> list[Candidate]:
    gates = sorted(briefing.open_gates, key=lambda gate: (gate.filed_at, gate.gate_id, gate.intent))
    candidates = [
        Candidate(
            item_id=gate.gate_id,
            whole=gate_item(gate),
            text_chars=len(gate.intent),
            render_kept=partial(gate_item, gate),
        )
        for gate in gates
    ]
    resolved = briefing.continuation
    if resolved is not None:
        first = Candidate(
            item_id=resolved.gate_id,
            whole=continuation_item(resolved),
            text_chars=len(resolved.detail),
            render_kept=partial(continuation_item, resolved),
            origin=Origin.CONTINUATION,
        )
        candidates.insert(0, first)
    return candidates


def _frame_chars(briefing: Briefing) -> int:
    """Count the block around its items, with the widest count that it may need."""
    offered = len(briefing.open_gates) + (briefing.continuation is not None)
    return len(list_block(BlockKind.BRIEFING, (), omitted=offered))


def _left(candidate: Candidate, reason: OmissionReason) -> Omission:
    return Omission(
        block=BlockKind.BRIEFING,
        item_id=candidate.item_id,
        reason=reason,
        chars=len(candidate.whole),
    )
