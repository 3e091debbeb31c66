"""Make an input fit the window in tokens as well as in characters.

Characters are divided first (``budget.allocate``). Where the result has too many tokens, the same
division is made again with fewer characters, until it fits: so what leaves, leaves in the one
order of retention, and the same sources always end at the same plan. What must be in is never
touched; if it alone does not fit, the compilation fails before anything is sent.

Spec: TR "Token-budget equations", "Compilation algorithm" (deterministically revise or stop).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from compiler.blocks import (
    CURRENT_KINDS,
    MANDATORY_KINDS,
    SYSTEM_KINDS,
    OmissionReason,
    RenderedBlock,
)
from compiler.budget import Allocation, account
from compiler.errors import CurrentTurnOverflow, TokensTooLarge, WindowFull
from compiler.templates import INPUT_SEPARATOR
from compiler.tokens import (
    PromptIdentities,
    TokenAccount,
    Tokens,
    TokenScene,
    prompt_tokens_sha256,
)

Divide: TypeAlias = Callable[[int], Allocation]
"""Divide so many characters in total among the blocks; raises below what must be in."""

_MAX_STEPS: Final = 24
"""Each step takes off what the last one was over, so four are usual; then all advice leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFit:
    """A division that fits both budgets, and its account."""

    allocation: Allocation
    account: TokenAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemText:
    """The system prompt whose tokens count: its text and hash."""

    prompt: str
    sha256: str


def fit_tokens(
    divide: Divide,
    whole: Allocation,
    *,
    least_chars: int,
    system: SystemText,
    scene: TokenScene,
    identities: PromptIdentities,
) -> TokenFit:
    """Give the first division, from ``whole`` down, whose tokens fit.

    ``least_chars`` is the smallest total that ``divide`` can work with.

    Raises:
        CurrentTurnOverflow: the message or task alone is to blame.
        WindowFull: a session without what the engine holds would do.
        TokensTooLarge: what must be in does not fit.
    """
    fixed = _fixed(whole.blocks, system, scene)
    allocation, total_chars = whole, whole.result.used_chars
    step = 0
    while True:
        tokens = _whole_input(allocation.blocks, fixed, scene)
        over = fixed.total + tokens.count - fixed.mandatory_tokens - scene.budgets.input_limit
        if over <= 0 or total_chars == least_chars:
            break
        step += 1
        total_chars = _smaller(allocation, over, tokens.count - fixed.mandatory_tokens)
        if total_chars < least_chars or step == _MAX_STEPS:
            total_chars = least_chars
        allocation = divide(total_chars)
    if over > 0:
        _refuse(fixed, tokens, allocation.blocks, scene)
    return TokenFit(
        allocation=_renamed(allocation, whole),
        account=_account(fixed, tokens, scene, identities),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fixed:
    """Tokens of what must be in."""

    system: Tokens
    wrapper_tokens: int
    held_tokens: int
    mandatory: Tokens
    current_tokens: int

    @property
    def mandatory_tokens(self) -> int:
        return self.mandatory.count

    @property
    def total(self) -> int:
        return self.system.count + self.wrapper_tokens + self.held_tokens + self.mandatory.count


def _fixed(blocks: Sequence[RenderedBlock], system: SystemText, scene: TokenScene) -> _Fixed:
    """Count S, T, D, U and K.

    A session with turns reports all that it holds at once, so D is what is left of that without
    S and T; an empty one holds nothing.
    """
    of_system = scene.stable.tokenize(system.prompt, system.sha256)
    inputs = [block for block in blocks if block.kind not in SYSTEM_KINDS]
    mandatory = [block.content for block in inputs if block.kind in MANDATORY_KINDS]
    current = next((block.content for block in inputs if block.kind in CURRENT_KINDS), "")
    tokenize = scene.tokenizer.tokenize
    of_mandatory = tokenize(INPUT_SEPARATOR.join(mandatory))
    alone = len(mandatory) == 1
    return _Fixed(
        system=of_system,
        wrapper_tokens=scene.wrapper_tokens,
        held_tokens=max(0, scene.held_tokens - of_system.count - scene.wrapper_tokens),
        mandatory=of_mandatory,
        current_tokens=of_mandatory.count if alone else tokenize(current).count,
    )


def _whole_input(blocks: Sequence[RenderedBlock], fixed: _Fixed, scene: TokenScene) -> Tokens:
    texts = [block.content for block in blocks if block.kind not in SYSTEM_KINDS]
    if all(block.kind in MANDATORY_KINDS for block in blocks):
        return fixed.mandatory
    return scene.tokenizer.tokenize(INPUT_SEPARATOR.join(texts))


def _advice_chars(allocation: Allocation) -> int:
    return sum(
        len(block.content) + len(INPUT_SEPARATOR)
        for block in allocation.blocks
        if block.kind not in MANDATORY_KINDS
    )


def _smaller(allocation: Allocation, over_tokens: int, advice_tokens: int) -> int:
    """Take off the characters that so many tokens have on average, and at least one."""
    chars = _advice_chars(allocation)
    drop = -(-over_tokens * chars // max(advice_tokens, 1))
    return allocation.result.used_chars - min(max(drop, 1), chars)


def _refuse(
    fixed: _Fixed, tokens: Tokens, blocks: Sequence[RenderedBlock], scene: TokenScene
) -> None:
    limit = scene.budgets.input_limit
    used = fixed.total + tokens.count - fixed.mandatory_tokens
    sizes = tuple((block.kind.value, len(block.content)) for block in blocks)
    if fixed.held_tokens and used - fixed.held_tokens <= limit:
        raise WindowFull(held_tokens=fixed.held_tokens, tokens=used, limit_tokens=limit)
    alone = used - fixed.held_tokens
    room = limit - (alone - fixed.current_tokens)
    if room <= 0 or 2 * fixed.current_tokens <= alone:
        raise TokensTooLarge(tokens=used, limit_tokens=limit, sizes=sizes)
    block = next(block for block in blocks if block.kind in CURRENT_KINDS)
    raise CurrentTurnOverflow(
        block=block.kind.value,
        source=block.source,
        unit="tokens",
        size=fixed.current_tokens,
        limit=room,
        sizes=sizes,
    )


def _account(
    fixed: _Fixed, tokens: Tokens, scene: TokenScene, identities: PromptIdentities
) -> TokenAccount:
    ids = (fixed.system.ids, tokens.ids)
    exact = tuple(part for part in ids if part is not None)
    return TokenAccount(
        counting=scene.tokenizer.identity.counting,
        budgets=scene.budgets,
        system_tokens=fixed.system.count,
        wrapper_tokens=fixed.wrapper_tokens,
        held_tokens=fixed.held_tokens,
        current_tokens=fixed.current_tokens,
        required_tokens=fixed.mandatory_tokens - fixed.current_tokens,
        advisory_tokens=tokens.count - fixed.mandatory_tokens,
        prompt_sha256=(prompt_tokens_sha256(identities, exact) if len(exact) == len(ids) else None),
    )


def _renamed(allocation: Allocation, whole: Allocation) -> Allocation:
    """Say of what left for tokens alone that it did, and keep the limit in characters."""
    if allocation is whole:
        return whole
    for_chars = {(each.block, each.item_id, each.reason) for each in whole.omissions}
    omissions = tuple(
        each._replace(reason=OmissionReason.TOKEN_BUDGET)
        if each.reason == OmissionReason.BUDGET
        and (each.block, each.item_id, each.reason) not in for_chars
        else each
        for each in allocation.omissions
    )
    return replace(
        allocation,
        omissions=omissions,
        result=account(whole.result.limit_chars, allocation.result.used_chars),
    )
