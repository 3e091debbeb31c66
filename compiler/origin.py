"""Where a planned record comes from, and the three authorities that follow from that alone.

Spec: TR "Authority lattice"; the tiers are our decision in place of TR's lost table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from compiler.blocks import BlockKind


class Origin(StrEnum):
    """The sources that a prompt can have."""

    POLICY = "policy"
    OWNER = "owner"
    CHANNEL = "channel"
    SPEAKER = "speaker"
    RULES = "rules"
    HOST_FACT = "host-fact"
    CONTINUATION = "continuation"
    CONFIRMED_NOTE = "confirmed-note"
    INFERRED_NOTE = "inferred-note"
    SUMMARY_NOTE = "summary-note"
    PERSON_MESSAGE = "person-message"
    IMP_MESSAGE = "imp-message"
    CARRIED = "carried"
    """What a message quotes, forwards or attaches."""
    MIXED = "mixed"
    """A block of several items: the weakest that may stand in it."""


class Standing(NamedTuple):
    """Record kind (``records.RecordKind``) and instruction, factual and state authority."""

    record_kind: str
    instruction: str
    factual: str
    state: str


STANDING: Final[Mapping[Origin, Standing]] = MappingProxyType(
    {
        Origin.POLICY: Standing("trusted_metadata", "A0", "F3", "S1"),
        Origin.OWNER: Standing("source_claim", "A1", "F2", "S0"),
        Origin.CHANNEL: Standing("source_claim", "A2", "F2", "S0"),
        Origin.SPEAKER: Standing("role_tagged_message", "A3", "F2", "S0"),
        Origin.RULES: Standing("user_preference_assertion", "A4", "F2", "S2"),
        Origin.HOST_FACT: Standing("session_fact", "A5", "F3", "S1"),
        Origin.CONTINUATION: Standing("session_fact", "A5", "F3", "S1"),
        Origin.CONFIRMED_NOTE: Standing("long_term_memory_record", "A4", "F2", "S0"),
        Origin.INFERRED_NOTE: Standing("long_term_memory_record", "A6", "F0", "S0"),
        Origin.SUMMARY_NOTE: Standing("short_term_summary", "A6", "F0", "S0"),
        Origin.PERSON_MESSAGE: Standing("role_tagged_message", "A7", "F2", "S0"),
        Origin.IMP_MESSAGE: Standing("role_tagged_message", "A6", "F0", "S0"),
        Origin.CARRIED: Standing("untrusted_content_block", "A7", "F0", "S0"),
        Origin.MIXED: Standing("untrusted_content_block", "A7", "F0", "S0"),
    }
)
"""Nothing here looks at a text: a page that calls itself a policy is carried content."""

ORIGIN_OF_BLOCK: Final[Mapping[BlockKind, Origin]] = MappingProxyType(
    {
        BlockKind.IDENTITY: Origin.OWNER,
        BlockKind.RUNTIME_POLICY: Origin.POLICY,
        BlockKind.CONNECTIONS: Origin.POLICY,
        BlockKind.PURPOSE: Origin.CHANNEL,
        BlockKind.RUNTIME_SCOPE: Origin.POLICY,
        BlockKind.MEMORY: Origin.MIXED,
        BlockKind.BRIEFING: Origin.HOST_FACT,
        BlockKind.HISTORY: Origin.MIXED,
        BlockKind.STATE: Origin.RULES,
        BlockKind.TASK: Origin.SPEAKER,
        BlockKind.MESSAGE: Origin.SPEAKER,
    }
)
