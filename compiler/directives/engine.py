"""The stateful surface of the directive grammar: step, export, import (DG 4, 5, 10, 11).

The engine makes no clock reading, keeps no history and asks no model: the same inputs give the
same states and decisions (DG 12.2). Import replaces the whole state or raises and changes
nothing (DG 11). Whatever was exported can be imported; how much a conversation may hold, and how
long a file may be that is read at all, are for the host to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Self, TypedDict

from compiler.directives import grammar
from compiler.directives import state as transitions
from compiler.directives.decision import Decision, DecisionKind
from compiler.directives.values import STATE_VERSION, Policy, State, StateMapping
from compiler.errors import SafeError
from compiler.normalize import normalize_item, sanitize_premise

CHECKPOINT_VERSION: Final = 1

_AFFIRMATIVE = frozenset({"yes", "yes please", "yep", "yeah", "sure", "ok", "okay"})
_NEGATIVE = frozenset({"no", "nope", "no thanks"})
_BLANKS = re.compile(r"\s+")


class CheckpointMapping(TypedDict):
    """DG 11's checkpoint object."""

    checkpoint_version: int
    authoritative_state: StateMapping
    pending: None


class ImportErrorCode(StrEnum):
    """Why an import was refused."""

    INVALID_JSON = "invalid_json"
    INVALID_STATE = "invalid_state"
    INVALID_CHECKPOINT = "invalid_checkpoint"


class StateImportError(SafeError, ValueError):
    """A payload that is no valid state or checkpoint; the old state is kept."""


class Confirmation(StrEnum):
    """What a text means to a pending clarification (DG 10)."""

    AFFIRMATIVE = "affirmative"
    NEGATIVE = "negative"
    OTHER = "other"


def confirmation(text: str) -> Confirmation:
    """Classify a confirmation token by DG 10's normalization.

    No canonical operation leaves a pending clarification (D20), so ``step`` never asks this;
    it stands for the boundary that DG 10 reserves.
    """
    token = _BLANKS.sub(" ", text.strip().lower()).rstrip(".,!?").rstrip()
    if token in _AFFIRMATIVE:
        return Confirmation.AFFIRMATIVE
    return Confirmation.NEGATIVE if token in _NEGATIVE else Confirmation.OTHER


class Engine:
    """One conversation's directive state.

    ``state`` is DG 5's mapping (a fresh copy); ``current`` is the same as an immutable value.
    """

    def __init__(self, state: Mapping[str, object] | None = None) -> None:
        self._state = State() if state is None else _state_from(state)

    @classmethod
    def holding(cls, state: State) -> Self:
        """Continue from a state as it is, its keys normalized already (D8: once, not twice)."""
        engine = cls()
        engine._state = state
        return engine

    @property
    def state(self) -> StateMapping:
        """DG 5's mapping of the current state."""
        return self._state.as_dict()

    @property
    def current(self) -> State:
        """The current state as an immutable value."""
        return self._state

    def step(self, text: str) -> Decision:
        """Process one user input: at most one directive is applied (DG 12.9)."""
        decision = transitions.apply(self._state, grammar.parse(text))
        if decision.kind is DecisionKind.UPDATE and decision.state is not None:
            self._state = decision.state
        return decision

    def export_json(self) -> str:
        """Serialize the state: sorted keys, no spaces (D24)."""
        return _dump(self._state.as_dict())

    def import_json(self, payload: str) -> None:
        """Replace the state by a JSON text.

        Raises:
            StateImportError: the text is no JSON, or no valid state; nothing changes.
        """
        self._state = _state_from(_load(payload))

    def export_checkpoint(self) -> CheckpointMapping:
        """Give the checkpoint object; ``pending`` is always null in this contract."""
        return {
            "checkpoint_version": CHECKPOINT_VERSION,
            "authoritative_state": self._state.as_dict(),
            "pending": None,
        }

    def import_checkpoint(self, payload: object) -> None:
        """Restore a checkpoint object, all or nothing.

        Raises:
            StateImportError: the payload is no valid checkpoint; nothing changes.
        """
        self._state = _state_from_checkpoint(payload)

    def export_checkpoint_json(self) -> str:
        """Serialize the checkpoint object like ``export_json``."""
        return _dump(self.export_checkpoint())

    def import_checkpoint_json(self, payload: str) -> None:
        """Restore a checkpoint from its JSON text, all or nothing.

        Raises:
            StateImportError: the text is no JSON, or no valid checkpoint; nothing changes.
        """
        self._state = _state_from_checkpoint(_load(payload))


def _dump(value: StateMapping | CheckpointMapping) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _load(payload: str) -> object:
    if not isinstance(payload, str):
        raise _bad_json("not a text")
    try:
        return json.loads(payload, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise _bad_json("nested too deeply") from None
    except ValueError as error:
        if isinstance(error, StateImportError):
            raise
        raise _bad_json("not valid JSON") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _bad_json("a key stands twice")
    return mapping


def _no_constant(_name: str) -> object:
    raise _bad_json("a number is not finite")


def _state_from(payload: object) -> State:
    """Validate and canonicalize DG 5's mapping; keys that collide: the later wins (D21)."""
    if not isinstance(payload, Mapping) or set(payload) != {"premise", "policies", "version"}:
        raise _bad_state("it needs exactly premise, policies and version")
    if type(payload["version"]) is not int or payload["version"] != STATE_VERSION:
        raise _bad_state(f"its version is not {STATE_VERSION}")
    premise = payload["premise"]
    if premise is not None and not isinstance(premise, str):
        raise _bad_state("the premise is neither text nor null")
    return State(
        # D22: an imported empty premise is kept, and is set.
        premise=None if premise is None else sanitize_premise(premise),
        policies=_policies_from(payload["policies"]),
    )


def _policies_from(payload: object) -> Mapping[str, Policy]:
    if not isinstance(payload, Mapping):
        raise _bad_state("policies are not a mapping")
    policies: dict[str, Policy] = {}
    for item, value in payload.items():
        key = normalize_item(item) if isinstance(item, str) else ""
        if not key:
            raise _bad_state("a policy item is empty")
        if not isinstance(value, str) or value not in {"use", "prohibit"}:
            raise _bad_state("a policy is neither use nor prohibit")
        policies[key] = Policy(value)
    return MappingProxyType(policies)


def _state_from_checkpoint(payload: object) -> State:
    allowed = {"checkpoint_version", "authoritative_state", "pending"}
    required = allowed - {"pending"}  # D23
    if not isinstance(payload, Mapping) or not required <= set(payload) <= allowed:
        raise _bad_checkpoint("it needs checkpoint_version, authoritative_state and pending")
    version = payload["checkpoint_version"]
    if type(version) is not int or version != CHECKPOINT_VERSION:
        raise _bad_checkpoint(f"its version is not {CHECKPOINT_VERSION}")
    if payload.get("pending") is not None:
        raise _bad_checkpoint("it holds a pending clarification")
    return _state_from(payload["authoritative_state"])


def _bad_json(reason: str) -> StateImportError:
    return StateImportError(
        ImportErrorCode.INVALID_JSON, f"The state was not imported: {reason}. Nothing changed."
    )


def _bad_state(reason: str) -> StateImportError:
    return StateImportError(
        ImportErrorCode.INVALID_STATE, f"The state was not imported: {reason}. Nothing changed."
    )


def _bad_checkpoint(reason: str) -> StateImportError:
    return StateImportError(
        ImportErrorCode.INVALID_CHECKPOINT,
        f"The checkpoint was not imported: {reason}. Nothing changed.",
    )
