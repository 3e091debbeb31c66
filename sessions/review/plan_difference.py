"""What one plan has that another has not, and by which rule: ids, sizes and codes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from compiler.plan import ContextPlan, PlannedRecord

NOT_OFFERED: Final = "not-offered"
"""The reason of a record of which a plan knows nothing."""
_IDENTITIES: Final = (
    "compiler_version",
    "policy_hash",
    "model_id",
    "model_artifact_hash",
    "model_config_hash",
    "tokenizer_id",
    "tokenizer_hash",
    "chat_template_hash",
    "rendering_template_hash",
    "limit_chars",
    "context_window_tokens",
    "output_reservation_tokens",
    "safety_margin_tokens",
    "retrieval_index_revision",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A record that came in or went out. ``reason`` is why it is in, or why it is not."""

    block: str
    record_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Records of a block that are in neither plan, by why not: before, and after."""

    block: str
    before: str
    after: str
    record_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDifference:
    """Two plans compared.

    ``changed`` are records in both whose form is another; ``identities`` are name, before, after.
    A record that is no longer offered at all has gone for the reason ``not-offered``.
    """

    came_in: tuple[Moved, ...]
    went_out: tuple[Moved, ...]
    changed: tuple[Moved, ...]
    left_out: tuple[LeftOut, ...]
    identities: tuple[tuple[str, str, str], ...]
    used_chars: tuple[int, int]
    used_tokens: tuple[int, int]

    @property
    def is_empty(self) -> bool:
        """Whether both plans select and leave out the same records under the same identities."""
        return not (
            self.came_in
            or self.went_out
            or self.changed
            or self.identities
            or any(each.before != each.after for each in self.left_out)
        )


def compare_plans(before: ContextPlan, after: ContextPlan) -> PlanDifference:
    """Compare two plans record by record, in the order of the later one."""
    old, new = _records(before), _records(after)
    out = _reasons(after)
    return PlanDifference(
        came_in=tuple(_moved(key, row) for key, row in new.items() if key not in old),
        went_out=tuple(
            Moved(block=key[0], record_id=key[1], reason=out.get(key, NOT_OFFERED))
            for key in old
            if key not in new
        ),
        changed=tuple(
            _moved(key, row)
            for key, row in new.items()
            if key in old and old[key].record_hash != row.record_hash
        ),
        left_out=_left_out(_reasons(before), out, in_either=old.keys() | new.keys()),
        identities=tuple(
            (name, str(getattr(before, name)), str(getattr(after, name)))
            for name in _IDENTITIES
            if getattr(before, name) != getattr(after, name)
        ),
        used_chars=(before.used_chars, after.used_chars),
        used_tokens=(before.used_tokens, after.used_tokens),
    )


def _reasons(plan: ContextPlan) -> dict[tuple[str, str], str]:
    """Give the reason of each record that a plan leaves out, by block and id."""
    return {
        (group.block, record_id): str(group.reason_code)
        for group in plan.excluded
        for record_id in group.record_ids
    }


def _left_out(
    before: Mapping[tuple[str, str], str],
    after: Mapping[tuple[str, str], str],
    *,
    in_either: AbstractSet[tuple[str, str]],
) -> tuple[LeftOut, ...]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for block, record_id in sorted((before.keys() | after.keys()) - in_either):
        key = block, record_id
        reasons = before.get(key, NOT_OFFERED), after.get(key, NOT_OFFERED)
        groups.setdefault((block, *reasons), []).append(record_id)
    return tuple(
        LeftOut(block=block, before=was, after=now, record_ids=tuple(ids))
        for (block, was, now), ids in sorted(groups.items())
    )


def _records(plan: ContextPlan) -> dict[tuple[str, str], PlannedRecord]:
    """Give the rows by block and id; a block that consists of items is its items."""
    with_items = {row.order_key[:4] for row in plan.selected if not row.is_block}
    return {
        (plan.block_of(row), row.record_id): row
        for row in plan.selected
        if not (row.is_block and row.order_key in with_items)
    }


def _moved(key: tuple[str, str], row: PlannedRecord) -> Moved:
    return Moved(block=key[0], record_id=key[1], reason=str(row.inclusion_reason_code))
