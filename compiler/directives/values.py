"""The authoritative state (DG 5): a premise, and one word on each item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypedDict

STATE_VERSION = 2
"""DG 5: the 0.5 design maps to schema version 2."""


class Policy(StrEnum):
    """DG 5: the authoritative word on one item."""

    USE = "use"
    PROHIBIT = "prohibit"


class StateMapping(TypedDict):
    """DG 5's mapping form."""

    premise: str | None
    policies: dict[str, str]
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Premise and policies; keys are normalized items, their order means nothing."""

    premise: str | None = None
    policies: Mapping[str, Policy] = field(default_factory=lambda: MappingProxyType({}))

    def as_dict(self) -> StateMapping:
        """Give DG 5's mapping with sorted keys; a fresh copy on every call."""
        return {
            "premise": self.premise,
            "policies": {key: self.policies[key].value for key in sorted(self.policies)},
            "version": STATE_VERSION,
        }
