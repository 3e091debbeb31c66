"""The receipt of a turn that anybody may see: counts, sizes, identities, codes, commitments.

It is made of a plan, which holds no content. What a plan still could tell somebody who guesses
(the hash of a short message, of a note) is in the receipt only as a keyed commitment: without the
key, which is random for each receipt and stays in the owner's trace, a guess cannot be checked.
No id of a person, a channel, a run, a record or an imp is in it.

Spec: TR "Privacy-safe receipt".
"""

from __future__ import annotations

import hmac
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from compiler.hashing import sha256_fields
from compiler.plain_json import PlainValue, plain_bytes
from compiler.plan import ContextPlan, PlannedRecord, Reason
from compiler.retention import Retention
from compiler.tokens import TokenAccount

RECEIPT_SCHEMA: Final = "inglenook.context-receipt.v1"
KEY_BYTES: Final = 32
GENERATION_STARTED: Final = "generation_started"
_CODE = re.compile(r"[A-Za-z][A-Za-z_-]{0,47}")
_COUNTED: Final[Mapping[str, Retention]] = {
    "recentDialogue": Retention.DIALOGUE,
    "profile": Retention.CONFIRMED,
    "memory": Retention.MEMORY,
    "summary": Retention.SUMMARY,
    "briefing": Retention.BRIEFING,
    "continuation": Retention.REQUIRED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is known beside the plan: how it went on, and what the engine held already."""

    stop_reason: str = GENERATION_STARTED
    errors: tuple[str, ...] = ()
    reused_prefix_tokens: int = 0
    """Held by the engine before this turn, so that a provider can have it warm; an expectation."""


def make_receipt(
    plan: ContextPlan, tokens: TokenAccount | None, *, key: bytes, ending: Ending | None = None
) -> dict[str, PlainValue]:
    """Make the receipt of one compilation.

    Raises:
        ValueError: the key is not of ``KEY_BYTES`` bytes.
    """
    if len(key) != KEY_BYTES:
        raise ValueError("a receipt needs a key of its own")
    ending = ending or Ending()
    return {
        "receiptSchema": RECEIPT_SCHEMA,
        "compilerVersion": plan.compiler_version,
        "policyId": plan.policy_id,
        "policyHash": plan.policy_hash,
        "planCommitment": _commit(key, "plan", plan.canonical_plan_hash),
        "promptTokenCommitment": (
            _commit(key, "tokens", tokens.prompt_sha256) if tokens and tokens.prompt_sha256 else ""
        ),
        "modelIdentity": {
            "modelHash": plan.model_artifact_hash,
            "configHash": plan.model_config_hash,
        },
        "tokenizerIdentity": {
            "tokenizerHash": plan.tokenizer_hash,
            "templateHash": plan.chat_template_hash,
            "counting": plan.counting,
        },
        "recordCounts": _counts(plan),
        "excludedCounts": _excluded(plan),
        "charAllocation": {"limit": plan.limit_chars, "used": plan.used_chars},
        "tokenAllocation": _tokens(tokens),
        "selectedRecordCommitments": sorted(
            _commit(key, "record", row.record_hash) for row in plan.selected
        ),
        "conflictCodes": sorted({_code(each.code) for each in plan.conflicts}),
        "retrievalIndexIdentity": (
            _commit(key, "index", plan.retrieval_index_id) if plan.retrieval_index_id else ""
        ),
        "retrievalIndexRevision": (
            _commit(key, "revision", plan.retrieval_index_revision)
            if plan.retrieval_index_revision
            else ""
        ),
        "staleIndex": plan.stale_index,
        "cache": {
            "status": "extends" if ending.reused_prefix_tokens else "cold",
            "reusedPrefixTokens": ending.reused_prefix_tokens,
        },
        "stopReason": _code(ending.stop_reason),
        "boundedErrors": [_code(error) for error in ending.errors],
    }


def receipt_hash(receipt: Mapping[str, PlainValue]) -> str:
    """Hash a receipt, so that the one that is shown can be told from another."""
    return sha256_fields(RECEIPT_SCHEMA, (plain_bytes(receipt),))


def opens(commitment: PlainValue, *, key: bytes, what: str, value: str) -> bool:
    """Whether a commitment is to this value; ``what`` is plan, tokens, record, index, revision."""
    return isinstance(commitment, str) and hmac.compare_digest(
        commitment, _commit(key, what, value)
    )


def _commit(key: bytes, what: str, value: str) -> str:
    return hmac.new(key, f"inglenook-{what}-v1\x00{value}".encode(), sha256).hexdigest()


def _counts(plan: ContextPlan) -> dict[str, PlainValue]:
    items = Counter(row.retention for row in plan.selected if not row.is_block)
    carried = sum(_is_carried(row) for row in plan.selected)
    counts: dict[str, PlainValue] = {
        name: items[retention.name] for name, retention in _COUNTED.items()
    }
    blocks = Counter(row.retention for row in plan.blocks)
    return counts | {
        "currentUser": blocks[Retention.CURRENT.name],
        "houseRules": blocks[Retention.STATE.name],
        "carried": carried,
    }


def _is_carried(row: PlannedRecord) -> bool:
    return row.inclusion_reason_code == Reason.CARRIED_BY_CURRENT


def _excluded(plan: ContextPlan) -> dict[str, PlainValue]:
    counts: Counter[str] = Counter()
    for group in plan.excluded:
        counts[_code(group.reason_code)] += len(group.record_ids)
    return dict(counts)


def _tokens(tokens: TokenAccount | None) -> dict[str, PlainValue]:
    if tokens is None:
        return {}
    return {
        "contextWindow": tokens.budgets.context_window,
        "outputReservation": tokens.budgets.output_reservation,
        "safetyMargin": tokens.budgets.safety_margin,
        "systemAndTemplate": tokens.system_tokens + tokens.wrapper_tokens,
        "conversation": tokens.held_tokens,
        "currentUser": tokens.current_tokens,
        "selectedOther": tokens.required_tokens + tokens.advisory_tokens,
    }


def _code(code: str) -> str:
    """Give a code as it is, or say that it is none: nothing else may pass as one."""
    return code if _CODE.fullmatch(code) else "other"
