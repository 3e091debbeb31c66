"""A run as its owner sees it: ids, sizes, hashes, codes and sources; no text of anybody. Pure.

``RunView`` > ``TurnView`` > ``CompilationView`` > ``BlockView``, ``OmissionView``, ``BudgetView``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sessions.inbound import Usage
from sessions.review.tool_calls import ToolView, UnlistedView
from sessions.review.wire_calls import WireView

_NO_WIRE: Final = WireView(calls=(), observed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockView:
    """One admitted block, without its content."""

    kind: str
    authority: str
    cache_class: str
    source: str
    chars: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OmissionView:
    """One thing that was offered and is not, or not wholly, in the prompt."""

    block: str
    item_id: str
    reason: str
    chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryView:
    """The end of a stable prefix."""

    cache_class: str
    after_block: str
    prefix_chars: int
    prefix_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetView:
    """Characters of system prompt and input together."""

    limit_chars: int
    used_chars: int
    remaining_chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensView:
    """Tokens of everything that the window holds; ``counting`` is ``exact`` or ``estimate``."""

    limit_tokens: int
    used_tokens: int
    held_tokens: int
    counting: str
    counted_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureView:
    """Why a compilation failed, and the sizes known by then."""

    code: str
    message: str
    source: str
    sizes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilationView:
    """One compilation: a start, or the input of a turn. ``failure`` is None when it succeeded."""

    at: str
    blocks: tuple[BlockView, ...]
    omissions: tuple[OmissionView, ...]
    budget: BudgetView | None
    system_prompt_sha256: str | None
    input_prompt_sha256: str | None
    compile_us: int
    waited_us: int
    failure: FailureView | None
    tokens: TokensView | None = None
    """None where nobody counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesView:
    """Durations of a turn in microseconds; 0 where it did not come so far.

    ``first_text_us`` and ``total_us`` count from the message's arrival, ``deliver_us`` from the
    outcome until the last message was in the channel.
    """

    wait_us: int
    compile_us: int
    trace_us: int
    first_text_us: int
    total_us: int
    deliver_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """One turn. ``number`` counts from 1 in the order of the trace.

    ``outcome`` is None while it runs. ``times`` come from the database, None without it.
    """

    number: int
    turn_id: str | None
    user_id: str | None
    compilation: CompilationView
    outcome: str | None
    error_code: str
    reply_sha256: str | None
    usage: Usage
    times: TimesView | None
    message_id: str | None = None
    joined: tuple[str, ...] = ()
    """Of a burst: the messages whose words are in this input."""
    passed: tuple[str, ...] = ()
    """Earlier messages that waited on, where senders alternate."""
    steers: int | None = None
    """Of a further input of a running turn: the number of the one that it follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleView:
    """What befell the conversation's house rules while the run was open, without their texts."""

    at: str
    kind: str
    code: str
    user_id: str | None
    message_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run: its start, its turns, and what befell it."""

    run_id: str
    imp: str
    surface: str
    place: str
    channel_id: str | None
    is_dm: bool
    started_at: str
    ended_at: str | None
    end_reason: str | None
    start: CompilationView | None
    """None for a one-shot run, whose only turn has both prompts."""
    route_key: str | None
    boundaries: tuple[BoundaryView, ...]
    turns: tuple[TurnView, ...]
    resumed_at: tuple[str, ...]
    gaps: tuple[str, ...]
    """Names of the files that hold torn bytes."""
    wire: WireView = _NO_WIRE
    """What left for the provider."""
    house_rules: tuple[RuleView, ...] = ()
    tools: tuple[ToolView, ...] = ()
    """What the model wanted to do, in the order of judging."""
    unlisted: tuple[UnlistedView, ...] = ()
    """What it wanted beyond that, and nobody looked at."""

    @property
    def usage(self) -> Usage:
        """Provider figures of all turns together."""
        return total_usage(turn.usage for turn in self.turns)


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Add up provider figures."""
    total = Usage()
    for usage in usages:
        total = Usage(
            input_tokens=total.input_tokens + usage.input_tokens,
            output_tokens=total.output_tokens + usage.output_tokens,
            cache_read_tokens=total.cache_read_tokens + usage.cache_read_tokens,
            cache_write_tokens=total.cache_write_tokens + usage.cache_write_tokens,
            cost_usd=total.cost_usd + usage.cost_usd,
            model_calls=total.model_calls + usage.model_calls,
        )
    return total
