"""Tokens of blocks: shares that add up, and counts that are the trace's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compiler.blocks import AUTHORITY, CACHE_CLASS, BlockKind
from compiler.tokens import Counting
from sessions.review.block_tokens import block_tokens
from sessions.review.views import BlockView
from sessions.traces.plan import TracedTokens

ADVISORY = (BlockKind.MEMORY, BlockKind.BRIEFING, BlockKind.HISTORY)


def block(kind: BlockKind, chars: int) -> BlockView:
    return BlockView(
        kind=kind.value,
        authority=AUTHORITY[kind].value,
        cache_class=CACHE_CLASS[kind].value,
        source="test",
        chars=chars,
        sha256="a" * 64,
    )


def account(
    counting: Counting = Counting.EXACT,
    *,
    system: int = 0,
    current: int = 0,
    required: int = 0,
    advisory: int = 0,
) -> TracedTokens:
    return TracedTokens(
        counting=counting,
        context_window=8192,
        output_reservation=512,
        safety_margin=64,
        system_tokens=system,
        wrapper_tokens=0,
        held_tokens=0,
        current_tokens=current,
        required_tokens=required,
        advisory_tokens=advisory,
        prompt_sha256=None,
    )


@given(chars=st.lists(st.integers(0, 5000), min_size=5, max_size=5), total=st.integers(0, 9000))
def test_shares_add_up_to_the_count_of_the_whole(chars: list[int], total: int) -> None:
    kinds = (BlockKind.IDENTITY, BlockKind.RUNTIME_POLICY, *ADVISORY)
    blocks = [block(kind, size) for kind, size in zip(kinds, chars, strict=True)]
    shares = block_tokens(account(system=total, advisory=total // 2), blocks)
    assert [share.kind for share in shares] == [kind.value for kind in kinds]
    assert not any(share.is_exact for share in shares)
    assert sum(share.tokens for share in shares[:2]) in {total, 0}
    assert sum(share.tokens for share in shares[2:]) in {total // 2, 0}
    assert all(share.tokens >= 0 for share in shares)


def test_a_message_has_its_own_count() -> None:
    blocks = [block(BlockKind.STATE, 10), block(BlockKind.MESSAGE, 400)]
    state, message = block_tokens(account(system=9, current=63, required=4), blocks)
    assert (state.tokens, state.is_exact) == (4, True)
    assert (message.tokens, message.is_exact) == (63, True)
    guessed = block_tokens(account(Counting.ESTIMATE, current=63, required=4), blocks)
    assert not any(each.is_exact for each in guessed)


def test_where_nobody_counts_there_is_nothing_to_tell() -> None:
    assert block_tokens(None, [block(BlockKind.MESSAGE, 4)]) == ()
