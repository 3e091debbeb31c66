"""The plan of one compilation: what is in, what is out, by which rule, before any prompt is joined.

A plan holds ids, hashes, sizes and codes, never content. ``compiler.planning`` makes it from an
allocation; ``join_prompt`` only reads it: it takes the forms that the plan names, by their hashes,
in the plan's order. Nothing is chosen, cut or ordered after the plan.

The canonical hash covers ``plan_document`` as RFC 8785 JSON: no time, no duration, no address of
anything. Records are rows with the columns of ``PlannedRecord`` and ``ExcludedRecords``.

Spec: TR "Context-plan contract".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from compiler import templates
from compiler.blocks import INPUT_KINDS, ORDER, SYSTEM_KINDS, BlockKind, Omission, OmissionReason
from compiler.hashing import sha256_fields
from compiler.origin import STANDING, Origin
from compiler.plain_json import PlainValue, plain_bytes, writable
from compiler.request import ContextPhase
from compiler.retention import RETENTION_OF_BLOCK, TIE_BREAKERS, WHY

PLAN_SCHEMA: Final = "inglenook.context-plan.v1"
COMPILER_VERSION: Final = f"inglenook.compiler.v{templates.SCHEMA_VERSION}"
POLICY_ID: Final = f"inglenook.policy.v{templates.SCHEMA_VERSION}"
TEMPLATE_ID: Final = f"inglenook.render.v{templates.SCHEMA_VERSION}"
SYSTEM_RECORD: Final = "system-prompt"
"""Stands in a turn's plan for the system prompt of its session, which is not planned again."""

POLICY_SHA256: Final = sha256_fields(
    POLICY_ID,
    (
        templates.RUNTIME_POLICY,
        *(f"{retention.name}:{why}" for retention, why in WHY.items()),
        *(f"{tie.name}:{tie.where}" for tie in TIE_BREAKERS),
        *(f"{kind}:{RETENTION_OF_BLOCK[kind].name}" for kind in BlockKind),
        *(f"{origin}:{','.join(STANDING[origin])}" for origin in Origin),
    ),
)
"""What decides: the runtime policy, the table of retention, the standings."""

TEMPLATE_SHA256: Final = sha256_fields(
    TEMPLATE_ID,
    (
        templates.SYSTEM_SEPARATOR,
        templates.INPUT_SEPARATOR,
        templates.ENGINE_PREAMBLE,
        templates.CONNECTIONS_INTRO,
        templates.CHUNK_NOTE,
        templates.CHUNK_ANSWER,
        *(templates.label(kind) for kind in SYSTEM_KINDS),
        *INPUT_KINDS,
    ),
)
"""How it is written down. The model's own chat template is in the tokenizer's identity."""


class TruncationMode(StrEnum):
    """How a record may shrink."""

    NEVER = "never"
    """Whole, or the compilation fails."""
    WHOLE_OR_OUT = "whole-or-out"
    BEGINNING = "beginning"
    """May be kept as its beginning, with what was kept and a hash."""
    ITEMS_LEAVE = "items-leave"
    """A block that shrinks by its items."""


class Reason(StrEnum):
    """Why a record is in."""

    RULES = "rules"
    STANDING_SYSTEM = "standing-system"
    CURRENT_TURN = "current-turn"
    CARRIED_BY_CURRENT = "carried-by-current"
    HOUSE_RULES = "house-rules"
    CONTINUATION = "continuation"
    BRIEFING = "briefing"
    RECENT_DIALOGUE = "recent-dialogue"
    CONFIRMED = "confirmed"
    RELEVANT = "relevant"
    SUMMARY = "summary"


class PlannedRecord(NamedTuple):
    """One record that is in, as a row of the plan.

    ``record_hash`` covers the exact form in which it is rendered. ``order_key`` sorts as text:
    section (0 system prompt, 1 input), place of the block, and for an item its place among those
    offered. ``token_allowance`` is the room in tokens: what a block takes that fits or fails, the
    bound for an advisory one, 0 for an item (its block's) and where nobody counts. ``kept`` is
    ``whole`` or ``beginning``.
    """

    order_key: str
    record_id: str
    record_hash: str
    record_kind: str
    instruction_authority: str
    factual_authority: str
    state_authority: str
    retention: str
    token_allowance: int
    truncation_mode: str
    kept: str
    rendering_template: str
    inclusion_reason_code: str
    source_lineage_hash: str

    @property
    def is_block(self) -> bool:
        """Whether this is a block, and not an item of one."""
        return self.order_key.count(".") == 1


class ExcludedRecords(NamedTuple):
    """The records of a block that are not in for one reason, in the order of their rank.

    ``chars`` are the sizes that they would have had, 0 where selection left them out before they
    had any. They are kept together, since a turn may leave out a thousand.
    """

    block: str
    reason_code: str
    record_ids: tuple[str, ...]
    chars: tuple[int, ...]


class PlannedConflict(NamedTuple):
    """Records that contradict each other; ``kept`` is empty where all are shown."""

    code: str
    record_ids: tuple[str, ...]
    kept: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPlan:
    """TR's ContextPlan. Token figures are 0 and the tokenizer empty where nobody counts."""

    phase: ContextPhase
    selected: tuple[PlannedRecord, ...]
    excluded: tuple[ExcludedRecords, ...]
    limit_chars: int
    used_chars: int
    plan_schema: str = PLAN_SCHEMA
    compiler_version: str = COMPILER_VERSION
    policy_id: str = POLICY_ID
    policy_hash: str = POLICY_SHA256
    model_id: str = ""
    model_artifact_hash: str = ""
    model_config_hash: str = ""
    tokenizer_id: str = ""
    tokenizer_hash: str = ""
    special_token_map_hash: str = ""
    chat_template_hash: str = ""
    counting: str = ""
    rendering_template_id: str = TEMPLATE_ID
    rendering_template_hash: str = TEMPLATE_SHA256
    context_window_tokens: int = 0
    output_reservation_tokens: int = 0
    safety_margin_tokens: int = 0
    used_tokens: int = 0
    conflicts: tuple[PlannedConflict, ...] = ()
    retrieval_index_id: str = ""
    retrieval_index_revision: str = ""
    stale_index: bool = False
    canonical_plan_hash: str = ""
    """Over everything else; set by ``compiler.planning.make_plan``."""

    @property
    def blocks(self) -> tuple[PlannedRecord, ...]:
        """The rows that are blocks."""
        return tuple(row for row in self.selected if row.is_block)

    def block_of(self, row: PlannedRecord) -> str:
        """Name the block that a row is or belongs to."""
        kind = _KIND_OF_KEY.get(row.order_key[:4])
        return SYSTEM_RECORD if kind is None else kind.value


def plan_document(plan: ContextPlan) -> dict[str, PlainValue]:
    """Give a plan as plain JSON; without its own hash."""
    document: dict[str, PlainValue] = {
        field.name: getattr(plan, field.name)
        for field in fields(ContextPlan)
        if field.name != "canonical_plan_hash"
    }
    return document


def plan_hash(plan: ContextPlan) -> str:
    """Give the canonical hash of a plan, whatever it says of itself."""
    return sha256_fields(PLAN_SCHEMA, (plain_bytes(plan_document(plan)),))


def join_prompt(
    plan: ContextPlan, forms: Mapping[str, str], kinds: Iterable[BlockKind], separator: str
) -> str | None:
    """Join the blocks that the plan names for a section; None if it names none.

    ``forms`` maps hashes to exact texts. A record without its form is a fault of ours and raises
    KeyError: no prompt is joined from anything else.
    """
    wanted = {block_key(kind) for kind in kinds}
    texts = [forms[row.record_hash] for row in plan.selected if row.order_key in wanted]
    return separator.join(texts) if texts else None


def excluded_records(omissions: Iterable[Omission]) -> tuple[ExcludedRecords, ...]:
    """Group what was left out by block and reason; a shortened record is in, as its beginning."""
    groups: dict[tuple[BlockKind, str], list[Omission]] = {}
    for key, run in groupby(omissions, attrgetter("block", "reason")):  # they come in runs
        groups.setdefault(key, []).extend(run)
    return tuple(
        ExcludedRecords(
            block,
            reason,
            _writable_all([each.item_id for each in group]),
            tuple([each.chars for each in group]),
        )
        for (block, reason), group in sorted(groups.items())
        if reason != OmissionReason.SHORTENED
    )


def _writable_all(ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(ids) if "".join(ids).isascii() else tuple(map(writable, ids))


def block_key(kind: BlockKind) -> str:
    """Give the order key of a block: its section and its place among the kinds."""
    return f"{0 if kind in SYSTEM_KINDS else 1}.{ORDER[kind]:02}"


_KIND_OF_KEY: Final = {block_key(kind): kind for kind in BlockKind}
