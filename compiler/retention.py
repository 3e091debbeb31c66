"""What stays when not everything can: one table of classes and one of tie-breakers.

Spec: TR "Non-negotiable retention order" (its table is lost; ours is below) and its tie-breaking.
Relevance never moves anything from one class to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from compiler.blocks import BlockKind


class Retention(IntEnum):
    """Classes of retention; a smaller number stays longer."""

    RULES = 0
    CURRENT = 1
    REQUIRED = 2
    STATE = 3
    BRIEFING = 4
    DIALOGUE = 5
    CONFIRMED = 6
    MEMORY = 7
    SUMMARY = 8


WHY: Final[Mapping[Retention, str]] = MappingProxyType(
    {
        Retention.RULES: "Runtime policy, identity, purpose and scope say who speaks and what is "
        "allowed; without them everything below means something else. Fit or fail.",
        Retention.CURRENT: "The message or task is what was asked. Fit or fail, never cut.",
        Retention.REQUIRED: "A continuation is the reason of its run, and its markers keep it "
        "apart from a request.",
        Retention.STATE: "House rules are people's own standing word. Fit or fail.",
        Retention.BRIEFING: "What happens now; a gate that is forgotten is decided twice.",
        Retention.DIALOGUE: "What was just said; answers refer to it. The newest stays longest.",
        Retention.CONFIRMED: "What a person confirmed of himself outlasts what was guessed.",
        Retention.MEMORY: "What the model once noted: useful, may be wrong.",
        Retention.SUMMARY: "Stands for something that exists elsewhere, and may be stale.",
    }
)
"""Every class and its reason, highest first."""


class TieBreaker(NamedTuple):
    """What decides within a class, why, and where it is decided."""

    name: str
    why: str
    where: str


TIE_BREAKERS: Final = (
    TieBreaker("mandatory", "what must be there is never weighed", "budget.allocate"),
    TieBreaker("direct_relevance", "it answers what was asked", "recall.select"),
    TieBreaker("explicit_pin", "a person said that it matters", "recall.select"),
    TieBreaker("validity_and_recency", "the newer is more often true", "recall.select, history"),
    TieBreaker("source_reliability", "a person's own word before a guess", "recall.select"),
    TieBreaker("source_diversity", "the same twice says no more", "relevance.diversify"),
    TieBreaker("record_hash", "ascending: no clock, no locale, no order of arrival", "recall"),
)
"""TR's seven, in their order. Selection has weighed two to six when notes arrive here, so their
place among the offered ones stands for them (``request.MemorySelection``)."""

RETENTION_OF_BLOCK: Final[Mapping[BlockKind, Retention]] = MappingProxyType(
    {
        BlockKind.IDENTITY: Retention.RULES,
        BlockKind.RUNTIME_POLICY: Retention.RULES,
        BlockKind.CONNECTIONS: Retention.RULES,
        BlockKind.PURPOSE: Retention.RULES,
        BlockKind.RUNTIME_SCOPE: Retention.RULES,
        BlockKind.TASK: Retention.CURRENT,
        BlockKind.MESSAGE: Retention.CURRENT,
        BlockKind.STATE: Retention.STATE,
        BlockKind.BRIEFING: Retention.BRIEFING,
        BlockKind.HISTORY: Retention.DIALOGUE,
        BlockKind.MEMORY: Retention.MEMORY,
    }
)

CONFIRMED_STATUS: Final = "confirmed"
SUMMARY_STATUS: Final = "summary"
_OF_STATUS: Final[Mapping[str, Retention]] = MappingProxyType(
    {CONFIRMED_STATUS: Retention.CONFIRMED, SUMMARY_STATUS: Retention.SUMMARY}
)


def retention_of_note(status: str) -> Retention:
    """Give the class of a memory note by the status that its record has."""
    return _OF_STATUS.get(status, Retention.MEMORY)
