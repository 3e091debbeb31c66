"""Decisions and the fixed questions they carry (DG 4, 9 and 9.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict

from compiler.directives.values import State, StateMapping


class DecisionKind(StrEnum):
    """DG 4: what the host does next."""

    PASSTHROUGH = "passthrough"
    """Forward the text to the model; nothing changed."""
    UPDATE = "update"
    """Forward the text with the new state."""
    CLARIFY = "clarify"
    """Show the prompt; no model call, no change."""


class DecisionMapping(TypedDict):
    """DG 4's mapping form."""

    kind: str
    state: StateMapping | None
    prompt_to_user: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer to one input. Only an update carries a state, only a clarify a prompt (D25)."""

    kind: DecisionKind
    state: State | None = None
    prompt_to_user: str | None = None

    def as_dict(self) -> DecisionMapping:
        """Give DG 4's mapping; a fresh copy on every call."""
        return {
            "kind": self.kind.value,
            "state": None if self.state is None else self.state.as_dict(),
            "prompt_to_user": self.prompt_to_user,
        }


PASSTHROUGH = Decision(kind=DecisionKind.PASSTHROUGH)


def clarify(prompt: str) -> Decision:
    """Ask, and change nothing (DG 12.4)."""
    return Decision(kind=DecisionKind.CLARIFY, prompt_to_user=prompt)


def update(state: State) -> Decision:
    """Tell the state that now holds, changed or confirmed."""
    return Decision(kind=DecisionKind.UPDATE, state=state)


# The prompts of DG 9.1, in the order of DG 9. Two sentences are joined by one space (D1).
PREMISE_ALREADY_SET = "Premise already set. Use 'change premise to <value>' to modify it."
PREMISE_NOT_SET = "No premise is set. Use 'set premise <value>' to define one."
SET_PREMISE_EMPTY = (
    "Premise value cannot be empty. Use 'set premise <value>' with a non-empty value."
)
CHANGE_PREMISE_EMPTY = (
    "Premise value cannot be empty. Use 'change premise to <value>' with a non-empty value."
)
REMOVE_EMPTY = "Policy item cannot be empty. Use 'remove policy <item>' with a non-empty value."
USE_EMPTY = "Policy item cannot be empty. Use 'use <item>' with a non-empty value."
PROHIBIT_EMPTY = "Policy item cannot be empty. Use 'prohibit <item>' with a non-empty value."
REPLACEMENT_INCOMPLETE = (
    "Replacement requires both new and old items. "
    "Use 'use <new item> instead of <old item>' with non-empty values."
)
COMPOUND = "Multiple directives are not supported in one input. Submit each directive separately."


def use_of_prohibited(key: str) -> str:
    """DG 9 case 5; shows the normalized key (D2)."""
    return f'"{key}" is currently prohibited. Remove or replace it before using it.'


def prohibit_of_used(key: str) -> str:
    """DG 9 case 6; shows the normalized key (D2)."""
    return f'"{key}" is currently in use. Remove or replace it before prohibiting it.'


def not_in_use(operand: str) -> str:
    """DG 9 cases 7 and 10; shows the operand as typed (D2)."""
    return f"\"{operand}\" is not currently in use. Replacement requires an active 'use' policy."


def replacement_prohibited(operand: str) -> str:
    """DG 9 cases 8 and 9; shows the operand as typed (D2)."""
    return (
        f'"{operand}" is currently prohibited. '
        "Submit explicit directive(s) to remove it or use a different item."
    )
