"""The making of a plan: what an allocation decided, as rows in canonical order, hashed.

Spec: TR "Context-plan contract".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from compiler.blocks import SYSTEM_KINDS, BlockKind, CompiledBlock, named_tuples
from compiler.budget import Allocation
from compiler.conflict_codes import ConflictCode
from compiler.embedded import reads_like_instructions
from compiler.fitting import FittedItem
from compiler.hashing import sha256_text
from compiler.origin import ORIGIN_OF_BLOCK, STANDING, Origin
from compiler.plain_json import writable
from compiler.plan import (
    SYSTEM_RECORD,
    TEMPLATE_ID,
    ContextPlan,
    PlannedConflict,
    PlannedRecord,
    Reason,
    TruncationMode,
    block_key,
    excluded_records,
    plan_hash,
)
from compiler.request import (
    ContextRequest,
    HistoryMessage,
    MemorySelection,
    MessageInput,
    MessagePart,
)
from compiler.retention import RETENTION_OF_BLOCK, Retention, retention_of_note
from compiler.tokens import ModelIdentity, TokenAccount, TokenizerIdentity

_LINEAGE_TAG: Final = "inglenook-lineage-v1\x00"
_BLOCK_REASONS: Final = {
    BlockKind.MEMORY: Reason.RELEVANT,
    BlockKind.BRIEFING: Reason.BRIEFING,
    BlockKind.HISTORY: Reason.RECENT_DIALOGUE,
    BlockKind.STATE: Reason.HOUSE_RULES,
    BlockKind.TASK: Reason.CURRENT_TURN,
    BlockKind.MESSAGE: Reason.CURRENT_TURN,
}
_ADVISORY: Final = frozenset({BlockKind.MEMORY, BlockKind.BRIEFING, BlockKind.HISTORY})
_ITEM_CLASSES: Final = {
    Origin.CONTINUATION: (Retention.REQUIRED, Reason.CONTINUATION),
    Origin.HOST_FACT: (Retention.BRIEFING, Reason.BRIEFING),
    Origin.PERSON_MESSAGE: (Retention.DIALOGUE, Reason.RECENT_DIALOGUE),
    Origin.IMP_MESSAGE: (Retention.DIALOGUE, Reason.RECENT_DIALOGUE),
    Origin.CONFIRMED_NOTE: (Retention.CONFIRMED, Reason.CONFIRMED),
    Origin.INFERRED_NOTE: (Retention.MEMORY, Reason.RELEVANT),
    Origin.SUMMARY_NOTE: (Retention.SUMMARY, Reason.SUMMARY),
}
_ITEM_STANDINGS: Final = {
    origin: (*STANDING[origin], retention.name) for origin, (retention, _) in _ITEM_CLASSES.items()
}
_ITEM_REASONS: Final = {origin: reason for origin, (_, reason) in _ITEM_CLASSES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInputs:
    """What a plan is made of beside the allocation."""

    request: ContextRequest
    memory: MemorySelection
    history: tuple[HistoryMessage, ...]
    replaced_plan: str
    system_sha256: str
    used_chars: int
    model: ModelIdentity
    tokenizer: TokenizerIdentity | None = None
    tokens: TokenAccount | None = None


def make_plan(
    blocks: Sequence[CompiledBlock], allocation: Allocation, inputs: PlanInputs
) -> ContextPlan:
    """Write down what an allocation decided, in canonical order, and hash it."""
    plan = _unhashed(blocks, allocation, inputs)
    return replace(plan, canonical_plan_hash=plan_hash(plan))


def _unhashed(
    blocks: Sequence[CompiledBlock], allocation: Allocation, inputs: PlanInputs
) -> ContextPlan:
    memory, tokens, tokenizer = inputs.memory, inputs.tokens, inputs.tokenizer
    budgets = tokens.budgets if tokens else None
    return ContextPlan(
        phase=inputs.request.phase,
        selected=_selected(blocks, allocation, inputs),
        excluded=excluded_records(allocation.omissions),
        limit_chars=allocation.result.limit_chars,
        used_chars=inputs.used_chars,
        model_id=writable(inputs.model.model_id),
        model_artifact_hash=inputs.model.artifact_sha256,
        model_config_hash=inputs.model.config_sha256,
        tokenizer_id=tokenizer.name if tokenizer else "",
        tokenizer_hash=tokenizer.sha256 if tokenizer else "",
        special_token_map_hash=tokenizer.special_tokens_sha256 if tokenizer else "",
        chat_template_hash=tokenizer.template_sha256 if tokenizer else "",
        counting=tokenizer.counting if tokenizer else "",
        context_window_tokens=budgets.context_window if budgets else 0,
        output_reservation_tokens=budgets.output_reservation if budgets else 0,
        safety_margin_tokens=budgets.safety_margin if budgets else 0,
        used_tokens=tokens.used_tokens if tokens else 0,
        conflicts=_conflicts(allocation, inputs),
        retrieval_index_id=memory.index_id,
        retrieval_index_revision=memory.index_revision,
        stale_index=memory.stale_index,
    )


def _conflicts(allocation: Allocation, inputs: PlanInputs) -> tuple[PlannedConflict, ...]:
    """List what contradicts each other, what reads like instructions, and the plan replaced."""
    found = {
        PlannedConflict(each.code, tuple(map(writable, each.note_ids)), writable(each.kept))
        for each in inputs.memory.conflicts
    }
    code = ConflictCode.UNTRUSTED_EMBEDDED_INSTRUCTION.value
    found |= {
        PlannedConflict(code, (record_id,), "") for record_id in _embedded(allocation, inputs)
    }
    if inputs.replaced_plan:
        found.add(PlannedConflict(ConflictCode.SUPERSEDED_PLAN.value, (inputs.replaced_plan,), ""))
    return tuple(sorted(found))


def _embedded(allocation: Allocation, inputs: PlanInputs) -> Iterator[str]:
    """Name the records below A4 that are in and read like instructions (table "Conflicts")."""
    message, items = inputs.request.message, allocation.items
    if message is not None:
        for record_id, part in _parts(message):
            if reads_like_instructions(part.text):
                yield record_id
    told = {item.item_id for item in items.get(BlockKind.HISTORY, ())}
    for entry in inputs.history:
        if entry.message_id in told and reads_like_instructions(entry.text):
            yield writable(entry.message_id)
    suspects = [note for note in inputs.memory.notes if note.reads_like_instructions]
    noted = {item.item_id for item in items.get(BlockKind.MEMORY, ())} if suspects else set()
    for note in suspects:
        confirmed = retention_of_note(note.status) is Retention.CONFIRMED  # A4
        if note.note_id in noted and not confirmed:
            yield writable(note.note_id)


def _selected(
    blocks: Sequence[CompiledBlock], allocation: Allocation, inputs: PlanInputs
) -> tuple[PlannedRecord, ...]:
    rows: list[PlannedRecord] = []
    if not any(block.kind in SYSTEM_KINDS for block in blocks):
        rows.append(_standing_system(inputs))
    for block in blocks:
        rows.append(_block_row(block, inputs.tokens))
        if block.kind is BlockKind.MESSAGE:
            rows += _carried(inputs.request)
        else:
            rows += _items(block.kind, allocation.items.get(block.kind, ()))
    rows.sort()  # by order key; no two are the same
    return tuple(rows)


def _standing_system(inputs: PlanInputs) -> PlannedRecord:
    return PlannedRecord(
        "0.--",
        SYSTEM_RECORD,
        inputs.system_sha256,
        *STANDING[Origin.POLICY],
        Retention.RULES.name,
        inputs.tokens.system_tokens if inputs.tokens else 0,
        TruncationMode.NEVER,
        "whole",
        TEMPLATE_ID,
        Reason.STANDING_SYSTEM,
        _lineage(Origin.POLICY, SYSTEM_RECORD, inputs.system_sha256),
    )


def _block_row(block: CompiledBlock, tokens: TokenAccount | None) -> PlannedRecord:
    kind = block.kind
    source = writable(block.source)
    return PlannedRecord(
        block_key(kind),
        source,
        block.sha256,
        *STANDING[ORIGIN_OF_BLOCK[kind]],
        RETENTION_OF_BLOCK[kind].name,
        _allowance(kind, tokens),
        TruncationMode.ITEMS_LEAVE if kind in _ADVISORY else TruncationMode.NEVER,
        "whole",
        TEMPLATE_ID,
        _BLOCK_REASONS.get(kind, Reason.RULES),
        _lineage(kind, source, block.sha256),
    )


def _allowance(kind: BlockKind, tokens: TokenAccount | None) -> int:
    if tokens is None or kind in SYSTEM_KINDS:
        return 0  # of the system prompt only the whole is tokenized
    if kind in _ADVISORY:
        return tokens.discretionary_tokens
    return tokens.required_tokens if kind is BlockKind.STATE else tokens.current_tokens


def _items(kind: BlockKind, items: Sequence[FittedItem]) -> list[PlannedRecord]:
    section, name = block_key(kind), kind.value
    mode = TruncationMode.WHOLE_OR_OUT if kind is BlockKind.MEMORY else TruncationMode.BEGINNING
    head = _lineage_head(name)
    rows = []
    for item_id, form, rank, origin, shortened in items:  # there are hundreds
        record_id = item_id if item_id.isascii() else writable(item_id)
        form_hash = sha256_text(form)
        columns = (
            f"{section}.{rank:06}",
            record_id,
            form_hash,
            *_ITEM_STANDINGS[origin],
            0,
            mode,
            "beginning" if shortened else "whole",
            TEMPLATE_ID,
            _ITEM_REASONS[origin],
            sha256_text(f"{head}{len(record_id)}:{record_id}{form_hash}"),
        )
        rows.append(columns)
    return named_tuples(PlannedRecord, rows)


def _carried(request: ContextRequest) -> list[PlannedRecord]:
    """Name what a message carries: data of others, never more (A7)."""
    message = request.message
    if message is None:
        return []
    section = block_key(BlockKind.MESSAGE)
    rows = []
    for place, (record_id, part) in enumerate(_parts(message)):
        form_hash = sha256_text(part.text)
        rows.append(
            PlannedRecord(
                f"{section}.{place:06}",
                record_id,
                form_hash,
                *STANDING[Origin.CARRIED],
                Retention.CURRENT.name,
                0,
                TruncationMode.NEVER,
                "whole" if part.total_chars is None else "beginning",
                TEMPLATE_ID,
                Reason.CARRIED_BY_CURRENT,
                _lineage(part.kind, record_id, form_hash),
            )
        )
    return rows


def _parts(message: MessageInput) -> list[tuple[str, MessagePart]]:
    """Give each part that a message carries its record id."""
    own_id = writable(message.message_id or message.provider)
    return [(f"{own_id}/{part.kind}/{place}", part) for place, part in enumerate(message.parts)]


def _lineage(kind: str, record_id: str, form_hash: str) -> str:
    """Hash what a record is and where it came from; each length stands in front."""
    return sha256_text(f"{_lineage_head(kind)}{len(record_id)}:{record_id}{form_hash}")


def _lineage_head(kind: str) -> str:
    return f"{_LINEAGE_TAG}{len(kind)}:{kind}"
