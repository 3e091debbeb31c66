"""The startup package: what the first turn of a session starts from, as pointers.

A fixed list of named sources in a fixed order, and one canonical hash over it. It holds ids,
hashes, codes and counts, and never a record itself.

Spec: TR "Deterministic startup package" (its list is lost; the order is our decision).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from compiler.blocks import BlockKind
from compiler.compile import CompiledContext
from compiler.hashing import sha256_fields
from compiler.plain_json import plain_bytes, writable
from compiler.request import SourceSnapshot
from compiler.retention import Retention, retention_of_note

STARTUP_SCHEMA: Final = "inglenook.startup.v1"
NAMES: Final = (
    "policy",
    "scope",
    "identity",
    "purpose",
    "house-rules",
    "consent",
    "continuation",
    "open-gates",
    "confirmed-preferences",
    "memory-pointers",
    "conflicts",
    "history",
    "index",
)
"""All sources, in their order; those that are not there have no values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupPackage:
    """Each source with its values, and the hash over all of it."""

    sources: tuple[tuple[str, tuple[str, ...]], ...]
    sha256: str


def startup_package(
    compiled: CompiledContext, snapshot: SourceSnapshot, consent: Iterable[str] = ()
) -> StartupPackage:
    """Name what a first turn was compiled from; ``consent`` are codes of the speaker's state."""
    hashes = dict(compiled.system.block_hashes)
    plan = compiled.plan
    briefing, notes = snapshot.briefing, snapshot.memory.notes
    continued = briefing.continuation
    confirmed = [note for note in notes if retention_of_note(note.status) is Retention.CONFIRMED]
    blocks = {row.record_id: row.record_hash for row in plan.blocks}
    values: dict[str, Iterable[str]] = {
        "policy": (plan.policy_id, plan.policy_hash),
        "scope": (hashes.get(BlockKind.RUNTIME_SCOPE, compiled.system.sha256),),
        "identity": _one(hashes.get(BlockKind.IDENTITY)),
        "purpose": _one(hashes.get(BlockKind.PURPOSE)),
        "house-rules": _one(blocks.get("store:house-rules")),
        "consent": sorted(consent),
        "continuation": () if continued is None else (continued.gate_id,),
        "open-gates": sorted(gate.gate_id for gate in briefing.open_gates),
        "confirmed-preferences": (note.note_id for note in confirmed),
        "memory-pointers": (note.note_id for note in notes),
        "conflicts": ("/".join((each.code, *each.record_ids)) for each in plan.conflicts),
        "history": _span(snapshot),
        "index": (
            (plan.retrieval_index_id, plan.retrieval_index_revision)
            if plan.retrieval_index_id
            else ()
        ),
    }
    sources = tuple((name, tuple(map(writable, values[name]))) for name in NAMES)
    return StartupPackage(sources=sources, sha256=startup_hash(sources))


def startup_hash(sources: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    """Give the canonical hash of a source list."""
    return sha256_fields(STARTUP_SCHEMA, (plain_bytes(sources),))


def _one(value: str | None) -> tuple[str, ...]:
    return (value,) if value else ()


def _span(snapshot: SourceSnapshot) -> tuple[str, ...]:
    history = snapshot.history
    if not history:
        return ()
    return (history[0].message_id, history[-1].message_id, str(len(history)))
