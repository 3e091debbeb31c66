"""What ``[context]`` must say so that every part of a prompt can fit at all. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from compiler.budget import ContextBudgets
from config.findings import Finding, Path

POLICY_CHARS: Final = 3_500
"""Room kept for what the host itself writes: the runtime policy (at most 2,500 characters), the
runtime scope and the labels."""
MIN_INJECTED_CHARS: Final = POLICY_CHARS + 500
"""Below this no message fits beside the policy."""
_WITHIN_TOTAL = (
    "identity_max_chars",
    "purpose_max_chars",
    "connections_max_chars",
    "state_max_chars",
    "task_max_chars",
)
_ADVISORY = ("memory_max_chars", "briefing_max_chars", "history_max_chars")


def check_context(section: Path, budgets: ContextBudgets) -> Iterator[Finding]:
    """Find what is too small to mean anything, or more than can ever fit."""
    total = budgets.max_injected_chars
    total_path = (*section, "max_injected_chars")
    if total < MIN_INJECTED_CHARS:
        yield Finding(
            paths=(total_path,),
            message=f"must be at least {MIN_INJECTED_CHARS}",
            hint=f"The runtime policy alone takes up to {POLICY_CHARS} characters.",
        )
    for limit in fields(budgets):
        value = getattr(budgets, limit.name)
        path = (*section, limit.name)
        least = 1 if limit.name in _WITHIN_TOTAL else 0
        if value < least:
            yield Finding(paths=(path,), message=f"must be at least {least}")
        elif total < MIN_INJECTED_CHARS:
            continue
        elif limit.name in _WITHIN_TOTAL and value > total - POLICY_CHARS:
            yield Finding(
                paths=(path, total_path),
                message=f"can never fit: max_injected_chars is {total}, and {POLICY_CHARS} "
                f"characters of it are kept for the runtime policy and scope",
                hint=f"Use at most {total - POLICY_CHARS}, or raise max_injected_chars.",
            )
        elif limit.name in _ADVISORY and value > total:
            yield Finding(
                paths=(path, total_path),
                message=f"is more than max_injected_chars ({total})",
            )
