"""Filing a gate: from a proposed call to a row that waits for a person.

Where the same is already waiting, asked by the same person in the same conversation, that gate is
the answer: a model that repeats itself files nothing twice. The count of what waits in one
conversation is bounded, and of one person in all of them, so that nobody's questions bury an owner.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from compiler.canonical_json import JsonValue
from sessions.clock import ALPHABET, Clock, unix_ms
from sessions.gates import EffectKind, Gate, GateId, GateOrigin, GateRules, file_gate
from sessions.store.gates import GateStore

MAX_WAITING: Final = 20
"""Gates that wait in one conversation."""
MAX_OF_PERSON: Final = 40
"""Gates that wait for one person, in all conversations."""
_ID_LENGTH: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A call that has to wait."""

    origin: GateOrigin
    tool: str
    arguments: Mapping[str, JsonValue]
    effect: EffectKind
    intent: str
    """Words that may be shown in the channel."""
    rationale: str
    """Why, for those who decide."""


class GateFiler(Protocol):
    """Takes proposals."""

    async def file(self, proposal: Proposal) -> Gate | None:
        """Give the gate that stands for a proposal now; None if too much waits there already.

        Raises:
            StoreUnavailable: nothing was filed.
            ValueError: the arguments have no canonical form.
        """


class PlainFiler:
    """Files gates in the store and tells nobody."""

    def __init__(
        self, store: GateStore, *, clock: Clock, rules: Callable[[], GateRules] = GateRules
    ) -> None:
        self._store = store
        self._clock = clock
        self._rules = rules

    async def file(self, proposal: Proposal) -> Gate | None:
        """See ``GateFiler``."""
        gate = file_gate(
            fresh_gate_id(),
            proposal.origin,
            tool=proposal.tool,
            arguments=dict(proposal.arguments),
            effect=proposal.effect,
            intent=proposal.intent,
            rationale=proposal.rationale,
            now_ms=unix_ms(self._clock),
            rules=self._rules(),
        )
        return await self._store.file_once(
            gate, most_waiting=MAX_WAITING, most_of_person=MAX_OF_PERSON
        )


def fresh_gate_id() -> GateId:
    """Make an id that is read aloud and typed, such as ``g-7k2f9qxe``."""
    return GateId("g-" + "".join(secrets.choice(ALPHABET) for _ in range(_ID_LENGTH)))
