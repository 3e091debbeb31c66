"""Plan, token account and startup package as they stand in a trace, and back again.

Everything here is ids, sizes, hashes and codes. What a plan excluded is not repeated: the event's
omissions say it, and the plan's hash proves that they say it completely.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TypeAlias

from compiler.blocks import Omission
from compiler.plan import ContextPlan, PlannedConflict, PlannedRecord, excluded_records
from compiler.request import ContextPhase
from compiler.startup import StartupPackage
from compiler.tokens import Counting, TokenAccount, TokenBudgets
from sessions.traces.forms import Count, Form, Sha256

Row: TypeAlias = tuple[str, str, Sha256, str, str, str, str, str, int, str, str, str, str, Sha256]
"""The columns of ``compiler.plan.PlannedRecord``."""


class TracedPlan(Form):
    """``compiler.plan.ContextPlan`` without what it excluded."""

    phase: ContextPhase
    selected: tuple[Row, ...]
    limit_chars: Count
    used_chars: Count
    plan_schema: str
    compiler_version: str
    policy_id: str
    policy_hash: Sha256
    model_id: str
    model_artifact_hash: str
    model_config_hash: str
    tokenizer_id: str
    tokenizer_hash: str
    special_token_map_hash: str
    chat_template_hash: str
    counting: str
    rendering_template_id: str
    rendering_template_hash: Sha256
    context_window_tokens: Count
    output_reservation_tokens: int
    safety_margin_tokens: int
    used_tokens: Count
    conflicts: tuple[tuple[str, tuple[str, ...], str], ...]
    retrieval_index_id: str
    retrieval_index_revision: str
    stale_index: bool
    canonical_plan_hash: Sha256


class TracedTokens(Form):
    """``compiler.tokens.TokenAccount``."""

    counting: Counting
    context_window: int
    output_reservation: int
    safety_margin: int
    system_tokens: Count
    wrapper_tokens: Count
    held_tokens: Count
    current_tokens: int
    required_tokens: int
    advisory_tokens: int
    prompt_sha256: Sha256 | None


class TracedStartup(Form):
    """``compiler.startup.StartupPackage``."""

    sources: tuple[tuple[str, tuple[str, ...]], ...]
    sha256: Sha256


_PLAIN = tuple(
    field.name
    for field in fields(ContextPlan)
    if field.name not in {"selected", "excluded", "conflicts"}
)


def traced_plan(plan: ContextPlan) -> TracedPlan:
    """Write a plan down."""
    values = {name: getattr(plan, name) for name in _PLAIN}
    return TracedPlan(
        selected=tuple(tuple(map(_plain, row)) for row in plan.selected),  # type: ignore[misc]  # a row's columns
        conflicts=tuple((each.code, each.record_ids, each.kept) for each in plan.conflicts),
        **values,
    )


def plan_of(traced: TracedPlan, omissions: Iterable[Omission]) -> ContextPlan:
    """Rebuild a plan; whether it is the one that was written, its hash tells."""
    values = {name: getattr(traced, name) for name in _PLAIN}
    return ContextPlan(
        selected=tuple(PlannedRecord(*row) for row in traced.selected),
        excluded=excluded_records(omissions),
        conflicts=tuple(PlannedConflict(*each) for each in traced.conflicts),
        **values,
    )


def traced_tokens(account: TokenAccount) -> TracedTokens:
    """Write an account down."""
    budgets = account.budgets
    return TracedTokens(
        counting=account.counting,
        context_window=budgets.context_window,
        output_reservation=budgets.output_reservation,
        safety_margin=budgets.safety_margin,
        system_tokens=account.system_tokens,
        wrapper_tokens=account.wrapper_tokens,
        held_tokens=account.held_tokens,
        current_tokens=account.current_tokens,
        required_tokens=account.required_tokens,
        advisory_tokens=account.advisory_tokens,
        prompt_sha256=account.prompt_sha256,
    )


def account_of(traced: TracedTokens) -> TokenAccount:
    """Rebuild an account."""
    return TokenAccount(
        counting=traced.counting,
        budgets=TokenBudgets(
            context_window=traced.context_window,
            output_reservation=traced.output_reservation,
            safety_margin=traced.safety_margin,
        ),
        system_tokens=traced.system_tokens,
        wrapper_tokens=traced.wrapper_tokens,
        held_tokens=traced.held_tokens,
        current_tokens=traced.current_tokens,
        required_tokens=traced.required_tokens,
        advisory_tokens=traced.advisory_tokens,
        prompt_sha256=traced.prompt_sha256,
    )


def traced_startup(package: StartupPackage) -> TracedStartup:
    """Write a startup package down."""
    return TracedStartup(sources=package.sources, sha256=package.sha256)


def _plain(value: object) -> str | int:
    """Give a code as plain text: a strict form takes no member of an enumeration for one."""
    return value if isinstance(value, int) else str(value)
