"""The authority lattice: three axes that never mix and never combine upward.

A record has one value on each axis, fixed when it is made. Instruction authority (A0 strongest)
says whose word shapes the imp; factual authority (F3 strongest) says how far a statement counts
within its declared scope; state authority (S3 strongest) says what it may change. Review or
confirmation makes a *new* record that supersedes; nothing raises an existing one, and relevance
is no input to any function here.

Spec: TR "Authority lattice", "Non-combinable authorities".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Instruction(IntEnum):
    """Instruction tiers; a smaller number is never overridden by a larger one."""

    A0 = 0
    """The host's runtime policy, scope, connections."""
    A1 = 1
    """The owner: identity."""
    A2 = 2
    """The channel's trusted people: purpose."""
    A3 = 3
    """The person speaking now."""
    A4 = 4
    """A person, earlier and explicitly: house rules, confirmed preferences, retractions."""
    A5 = 5
    """The host's facts: briefing, trusted metadata."""
    A6 = 6
    """The model, earlier: inferred notes, summaries."""
    A7 = 7
    """Anyone else's content: quotes, files, tool results, pages."""


class Factual(IntEnum):
    """How far a statement counts within its declared scope."""

    F0 = 0
    F1 = 1
    F2 = 2
    F3 = 3


class StateAuthority(IntEnum):
    """What a record may change."""

    S0 = 0
    S1 = 1
    S2 = 2
    S3 = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A record's place on the three axes."""

    instruction: Instruction
    factual: Factual
    state: StateAuthority


NO_AUTHORITY = Authority(instruction=Instruction.A7, factual=Factual.F0, state=StateAuthority.S0)
"""Where nothing is known of a source."""


def combine(authorities: Iterable[Authority]) -> Authority:
    """Give the authority of something derived from several sources: the weakest on each axis.

    A summary of a policy is not a policy, a hundred copies are one copy, a signed page is a
    page. The order and number of sources never matter.
    """
    sources = tuple(authorities)
    if not sources:
        return NO_AUTHORITY
    return Authority(
        instruction=max(source.instruction for source in sources),
        factual=min(source.factual for source in sources),
        state=min(source.state for source in sources),
    )


def overrides(stronger: Authority, weaker: Authority) -> bool:
    """Whether one instruction may set aside another; equal tiers never do by themselves."""
    return stronger.instruction < weaker.instruction
