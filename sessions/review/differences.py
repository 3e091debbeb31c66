"""What changed from one turn to the next, by block: sizes and hashes, never content. Pure.

Spec: CC acceptance test 16; the owner's ``runs diff``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Final

from compiler.blocks import INPUT_KINDS, SYSTEM_KINDS, BlockKind
from sessions.review.inspection import turn_events
from sessions.review.plan_difference import PlanDifference, compare_plans
from sessions.review.prompts import compiled_turn, exact_prompts, latest_compiled
from sessions.traces.events import CompiledEvent
from sessions.traces.forms import TracedBlock
from sessions.traces.reader import TracedEvent, planned

_ORDER: Final = {kind: place for place, kind in enumerate((*SYSTEM_KINDS, *INPUT_KINDS))}


class Change(StrEnum):
    """What became of a block."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDifference:
    """One kind of block in two turns; sizes are None where the block is not there.

    ``first_difference`` counts characters from the start of the rendered block, label included,
    and ``first_byte`` the bytes of its UTF-8; None unless the block changed.
    """

    kind: str
    change: Change
    chars_before: int | None
    chars_after: int | None
    sha256_before: str | None
    sha256_after: str | None
    first_difference: int | None
    first_byte: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two turns compared; ``before`` is None for the first turn there ever was."""

    before: tuple[str, int] | None
    """Run and number of the turn before."""
    after: tuple[str, int]
    blocks: tuple[BlockDifference, ...]
    plan: PlanDifference | None = None
    """What came in, what went out, and why; None where there is no plan to compare with."""

    @property
    def stable_system(self) -> bool:
        """Whether the system prompt is the same, so that a provider's cache can be warm."""
        system = {kind.value for kind in SYSTEM_KINDS}
        return all(item.change is Change.SAME for item in self.blocks if item.kind in system)


def diff_turns(
    trace: tuple[TracedEvent, ...], turn: int | None, earlier: tuple[TracedEvent, ...] = ()
) -> Difference:
    """Compare a turn, by default the latest, with the compiled turn before it.

    The first turn of a run is compared with the last one of ``earlier``, the trace of the run
    before it in the same conversation.

    Raises:
        InspectionError: no such turn, or one that was not compiled.
        TraceDamaged: a text does not hash to what the trace says.
    """
    turns = turn_events(trace)
    number = (latest_compiled(turns) or 1) if turn is None else turn
    compiled_turn(turns, number)
    before = latest_compiled(turns[: number - 1])
    old, origin = (trace, before) if before else (earlier, latest_compiled(turn_events(earlier)))
    blocks_before = {} if origin is None else blocks_of_turn(old, origin)
    blocks_after = blocks_of_turn(trace, number)
    kinds = sorted({*blocks_before, *blocks_after}, key=_ORDER.__getitem__)
    return Difference(
        before=None if origin is None else (old[0].event.run_id, origin),
        after=(trace[0].event.run_id, number),
        blocks=tuple(
            _compare(kind, blocks_before.get(kind), blocks_after.get(kind)) for kind in kinds
        ),
        plan=None if origin is None else _plans(old, origin, trace, number),
    )


def _plans(
    old: tuple[TracedEvent, ...], origin: int, new: tuple[TracedEvent, ...], number: int
) -> PlanDifference | None:
    before = planned(compiled_turn(turn_events(old), origin))
    after = planned(compiled_turn(turn_events(new), number))
    return None if before is None or after is None else compare_plans(before, after)


def blocks_of_turn(trace: tuple[TracedEvent, ...], number: int) -> dict[BlockKind, TracedBlock]:
    """Give all blocks behind a turn, those of its session's start included, once they verify.

    Raises:
        InspectionError: no such turn, or one that was not compiled.
        TraceDamaged: a text does not hash to what the trace says.
    """
    exact_prompts(trace, number)
    event = compiled_turn(turn_events(trace), number)
    start = None if event.extends is None else trace[event.extends.seq].event
    of_start = start.blocks if isinstance(start, CompiledEvent) else ()
    return {block.kind: block for block in (*of_start, *event.blocks)}


def _compare(
    kind: BlockKind, before: TracedBlock | None, after: TracedBlock | None
) -> BlockDifference:
    change, first = Change.SAME, None
    if before is None or after is None:
        change = Change.ADDED if before is None else Change.REMOVED
    elif before.content != after.content:
        change, first = Change.CHANGED, _first_difference(before.content, after.content)
    return BlockDifference(
        kind=kind.value,
        change=change,
        chars_before=before.chars if before else None,
        chars_after=after.chars if after else None,
        sha256_before=before.sha256 if before else None,
        sha256_after=after.sha256 if after else None,
        first_difference=first,
        first_byte=_first_byte(before, after, first),
    )


def _first_difference(before: str, after: str) -> int:
    pairs = enumerate(zip_longest(before, after))
    return next(place for place, (old, new) in pairs if old != new)


def _first_byte(
    before: TracedBlock | None, after: TracedBlock | None, at: int | None
) -> int | None:
    """Count the bytes that both begin with: two characters may share their first bytes."""
    if before is None or after is None or at is None:
        return None
    old, new = before.content[at : at + 1].encode(), after.content[at : at + 1].encode()
    shared = next((place for place, (a, b) in enumerate(zip_longest(old, new)) if a != b), 0)
    return len(before.content[:at].encode()) + shared
