"""What becomes of a text in a conversation with house rules. Pure.

``judge`` joins the reading, the engine's step and the host's own bounds: who may set rules, and
how large they may grow. Only an update changes anything; a clarify, a question and a refusal are
told in fixed words and call no model (DG 4, 12.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compiler.directives.decision import DecisionKind
from compiler.directives.engine import Engine
from compiler.directives.values import State
from sessions.house.reading import QUESTIONS, Doubtful, Reading
from sessions.house.rules import block_chars, tell_change

NOT_TRUSTED: Final = (
    "Only people whom this channel trusts can change its house rules. Nothing was changed."
)
TOO_LARGE: Final = (
    "There is no room for this house rule: all of them together may take {limit:,} characters, "
    "and would take {chars:,}. Remove one first; nothing was changed."
)


class RulingKind(StrEnum):
    """What the host does with a text."""

    ORDINARY = "ordinary"
    """It is no directive: on to the model, with the rules as they stand."""
    UPDATED = "updated"
    CLARIFIED = "clarified"
    """Asked back by the fixed prompt; no model call, no change."""
    REFUSED = "refused"
    """Told why not; no model call, no change."""


class RulingCode(StrEnum):
    """Why a text changed nothing; the doubts of ``reading`` are codes as well."""

    CLARIFY = "clarify"
    NOT_TRUSTED = "not_trusted"
    TOO_LARGE = "state_too_large"
    NOT_IMPORTED = "not_imported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One decision. ``text`` is for the people; ``state`` is set for an update alone."""

    kind: RulingKind
    text: str = ""
    code: str = ""
    state: State | None = None

    @property
    def is_final(self) -> bool:
        """Whether the text goes no further than this."""
        return self.kind in {RulingKind.CLARIFIED, RulingKind.REFUSED}


ORDINARY: Final = Ruling(kind=RulingKind.ORDINARY)


def judge(state: State, reading: Reading, *, trusted: bool, limit_chars: int) -> Ruling:
    """Decide over one reading.

    ``limit_chars`` bounds the rendered ``state`` block. A change that makes an over-long state
    smaller passes, so that a lowered limit never locks anybody in.
    """
    if reading is None:
        return ORDINARY
    if not trusted:
        return refused(RulingCode.NOT_TRUSTED, NOT_TRUSTED)
    if isinstance(reading, Doubtful):
        return Ruling(
            kind=RulingKind.CLARIFIED, text=QUESTIONS[reading.doubt], code=reading.doubt.value
        )
    decision = Engine.holding(state).step(reading.text)
    if decision.kind is DecisionKind.PASSTHROUGH:
        return ORDINARY
    if decision.state is None:
        return Ruling(
            kind=RulingKind.CLARIFIED,
            text=decision.prompt_to_user or "",
            code=RulingCode.CLARIFY.value,
        )
    return changed(state, decision.state, limit_chars=limit_chars)


def changed(before: State, after: State, *, limit_chars: int) -> Ruling:
    """Take over a state if it fits."""
    chars = block_chars(after)
    if chars > limit_chars and chars > block_chars(before):
        told = TOO_LARGE.format(limit=limit_chars, chars=chars)
        return refused(RulingCode.TOO_LARGE, told)
    return Ruling(kind=RulingKind.UPDATED, text=tell_change(before, after), state=after)


def refused(code: RulingCode, text: str) -> Ruling:
    """Refuse, in fixed words."""
    return Ruling(kind=RulingKind.REFUSED, text=text, code=code.value)
