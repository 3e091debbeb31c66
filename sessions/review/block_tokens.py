"""What each block of a turn takes in tokens, as far as its trace says it; pure.

The system prompt is counted as a whole, and so is everything advisory: there a block has the share
that its characters have, and says that it is an estimate. A message, a task and house rules are
counted for themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from compiler.blocks import SYSTEM_KINDS, BlockKind
from compiler.tokens import Counting
from sessions.review.views import BlockView
from sessions.traces.plan import TracedTokens

_OWN: Final[frozenset[str]] = frozenset({BlockKind.MESSAGE, BlockKind.TASK, BlockKind.STATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTokens:
    """Tokens of one block. ``is_exact`` is False for a share and for an estimating tokenizer."""

    kind: str
    tokens: int
    is_exact: bool


def block_tokens(
    account: TracedTokens | None, blocks: Iterable[BlockView]
) -> tuple[BlockTokens, ...]:
    """Share the counts of a turn among all its blocks; empty where nobody counted."""
    if account is None:
        return ()
    exact = account.counting is Counting.EXACT
    groups: list[tuple[int, list[BlockView], bool]] = [
        (account.system_tokens, [], False),
        (account.current_tokens, [], exact),
        (account.required_tokens, [], exact),
        (account.advisory_tokens, [], False),
    ]
    given = tuple(blocks)
    for block in given:
        groups[_group(block.kind)][1].append(block)
    found = {
        kind: BlockTokens(kind=kind, tokens=tokens, is_exact=counted)
        for total, members, counted in groups
        for kind, tokens in _shares(total, members)
    }
    return tuple(found[block.kind] for block in given)


def _group(kind: str) -> int:
    if kind in SYSTEM_KINDS:
        return 0
    if kind not in _OWN:
        return 3
    return 2 if kind == BlockKind.STATE else 1


def _shares(total: int, members: list[BlockView]) -> Iterable[tuple[str, int]]:
    """Divide a total by characters; the shares add up to it."""
    chars = sum(block.chars for block in members)
    so_far = given = 0
    for block in members:
        so_far += block.chars
        upto = total * so_far // max(1, chars)
        yield block.kind, upto - given
        given = upto
