"""Look through a receipt for anything that does not belong into one (TR "Privacy-safe receipt").

The form is closed: each value is a number, a short code, an identity of ours, or 64 hex digits. On
top of that no text, id or hash of the compilation may occur, and no secret in any known form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from compiler.compile import CompiledContext
from compiler.plain_json import PlainValue
from compiler.plan import ContextPlan
from compiler.secrets import find_secret

_ALLOWED = re.compile(r"[0-9a-f]{64}|[A-Za-z][A-Za-z_-]{0,47}|inglenook\.[a-z-]+\.v\d+|")
_KEYS = frozenset(
    {
        "receiptSchema",
        "compilerVersion",
        "policyId",
        "policyHash",
        "planCommitment",
        "promptTokenCommitment",
        "modelIdentity",
        "modelHash",
        "configHash",
        "tokenizerIdentity",
        "tokenizerHash",
        "templateHash",
        "counting",
        "recordCounts",
        "currentUser",
        "recentDialogue",
        "profile",
        "memory",
        "summary",
        "briefing",
        "continuation",
        "houseRules",
        "carried",
        "excludedCounts",
        "charAllocation",
        "limit",
        "used",
        "tokenAllocation",
        "contextWindow",
        "outputReservation",
        "safetyMargin",
        "systemAndTemplate",
        "conversation",
        "selectedOther",
        "selectedRecordCommitments",
        "conflictCodes",
        "retrievalIndexIdentity",
        "retrievalIndexRevision",
        "staleIndex",
        "cache",
        "status",
        "reusedPrefixTokens",
        "stopReason",
        "boundedErrors",
    }
)
_SHORT = 3
"""Shorter ids occur in any hash."""


def scan_receipt(
    receipt: Mapping[str, PlainValue],
    compiled: CompiledContext | None = None,
    *,
    plan: ContextPlan | None = None,
) -> None:
    """Fail if a receipt holds more than it may; ``compiled`` and ``plan`` must not show in it."""
    told = json.dumps(receipt, ensure_ascii=False)
    for key, value in _leaves(receipt):
        assert key in _KEYS, f"an unknown field: {key}"
        if isinstance(value, str):
            assert _ALLOWED.fullmatch(value), f"a text in {key}"
            assert find_secret(value) is None or len(value) == 64, f"a secret in {key}"
    forbidden = [
        *(_of_compilation(compiled) if compiled else ()),
        *(_of_plan(plan) if plan else ()),
    ]
    for each in forbidden:
        assert len(each) <= _SHORT or each not in told, "something of the compilation shows"


def _leaves(value: PlainValue, key: str = "") -> Iterator[tuple[str, PlainValue]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if key == "excludedCounts":
                assert _ALLOWED.fullmatch(name), "a text as a reason"
                yield key, inner
            else:
                yield from _leaves(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, key)
    else:
        yield key, value


def _of_plan(plan: ContextPlan) -> Iterator[str]:
    yield plan.canonical_plan_hash
    yield plan.retrieval_index_id
    for row in plan.selected:
        yield row.record_hash
        yield row.source_lineage_hash
        yield row.record_id
    for group in plan.excluded:
        yield from group.record_ids


def _of_compilation(compiled: CompiledContext) -> Iterator[str]:
    request, scope = compiled.request, compiled.request.scope
    yield from _of_plan(compiled.plan)
    yield from (request.run_id, request.imp, compiled.system.sha256, compiled.input_sha256 or "")
    yield compiled.system.cache.route_key
    yield from (each.prefix_sha256 for each in compiled.system.cache.boundaries)
    ids = (scope.channel_id, scope.user_id, scope.guild_id, scope.message_id)
    yield from (each for each in ids if each)
    if request.message is not None:
        yield from (request.message.text, request.message.author_label)
        yield from (part.text for part in request.message.parts)
    if request.task is not None:
        yield request.task.text
