"""The division of characters: mandatory first, then by retention, never over the total."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.blocks import BlockKind, Omission, RenderedBlock
from compiler.budget import (
    ContextBudgets,
    ElasticDemand,
    account,
    allocate,
    block_sizes,
    injected_chars,
    own_limit,
    refuse_hopeless,
)
from compiler.errors import BlockTooLarge, ContextTooLarge, CurrentTurnOverflow
from compiler.fitting import Fit

LIMITS = ContextBudgets(
    max_injected_chars=100,
    identity_max_chars=20,
    purpose_max_chars=21,
    connections_max_chars=22,
    state_max_chars=23,
    task_max_chars=24,
)


def block(kind: BlockKind, chars: int) -> RenderedBlock:
    return RenderedBlock(kind=kind, source=f"source:{kind}", content="x" * chars)


def demand(
    kind: BlockKind,
    wanted: int,
    *,
    limit: int = 1000,
    minimum: int = 0,
    seen: list[int] | None = None,
) -> ElasticDemand:
    """Want so many characters; take the room that is given, or nothing of less than one."""

    def fit(room: int) -> Fit:
        if seen is not None:
            seen.append(room)
        omitted = Omission(block=kind, item_id="i", reason="budget", chars=wanted)
        return Fit(content="y" * min(wanted, room), omissions=(omitted,) if wanted > room else ())

    return ElasticDemand(
        kind=kind, source=f"store:{kind}", limit_chars=limit, fit=fit, minimum_chars=minimum
    )


MESSAGE = block(BlockKind.MESSAGE, 10)


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        (BlockKind.IDENTITY, 20),
        (BlockKind.PURPOSE, 21),
        (BlockKind.CONNECTIONS, 22),
        (BlockKind.STATE, 23),
        (BlockKind.TASK, 24),
        (BlockKind.MESSAGE, 24),
        (BlockKind.RUNTIME_POLICY, 100),
        (BlockKind.RUNTIME_SCOPE, 100),
    ],
)
def test_each_mandatory_block_is_whole_up_to_its_limit_and_fails_above(
    kind: BlockKind, limit: int
) -> None:
    """CC: mandatory blocks are never silently truncated."""
    assert own_limit(kind, LIMITS) == limit
    fits = block(kind, limit)
    assert allocate((fits,), (), LIMITS).blocks == (fits,)
    with pytest.raises(BlockTooLarge) as caught:
        allocate((block(kind, limit + 1),), (), LIMITS)
    assert caught.value.source == f"source:{kind}"
    assert caught.value.sizes == ((kind.value, limit + 1),)


def test_separators_count_towards_the_total() -> None:
    """Two characters between system blocks, one between input blocks."""
    blocks = (
        block(BlockKind.IDENTITY, 5),
        block(BlockKind.PURPOSE, 5),
        block(BlockKind.STATE, 5),
        MESSAGE,
    )
    assert injected_chars(blocks) == 5 + 2 + 5 + 5 + 1 + 10
    assert injected_chars(()) == 0
    exact = replace(LIMITS, max_injected_chars=28)
    assert allocate(blocks, (), exact).result.remaining_chars == 0
    with pytest.raises(ContextTooLarge) as caught:
        allocate(blocks, (), replace(LIMITS, max_injected_chars=27))
    assert caught.value.sizes == block_sizes(blocks)
    assert caught.value.facts == {"chars": 28, "limit_chars": 27}


def test_a_message_that_is_most_of_a_full_total_is_to_blame_with_the_room_it_had() -> None:
    """Issue "Overflow": it may be read in parts, which have to fit into exactly that room."""
    said = block(BlockKind.MESSAGE, 20)
    for system_chars, limit_chars, room in ((10, 29, 19), (19, 20, 1)):
        with pytest.raises(CurrentTurnOverflow) as caught:
            allocate(
                (said,),
                (),
                replace(LIMITS, max_injected_chars=limit_chars),
                system_chars=system_chars,
            )
        assert (caught.value.size, caught.value.limit) == (20, room)
    for system_chars in (20, 21):  # no room at all, and a message that is not most of it
        with pytest.raises(ContextTooLarge):
            allocate((said,), (), replace(LIMITS, max_injected_chars=19), system_chars=system_chars)
    with pytest.raises(ContextTooLarge):
        allocate((said,), (), replace(LIMITS, max_injected_chars=19), system_chars=19)


def test_a_system_prompt_that_stands_already_counts() -> None:
    """System and input are bounded together."""
    assert allocate((MESSAGE,), (), LIMITS, system_chars=90).result.used_chars == 100
    with pytest.raises(ContextTooLarge):
        allocate((MESSAGE,), (), LIMITS, system_chars=91)


def test_demands_get_what_is_left_in_order() -> None:
    """CC allocation steps 3 and 4; each block costs its separator too."""
    seen: list[int] = []
    elastic = (
        demand(BlockKind.BRIEFING, 20, seen=seen),
        demand(BlockKind.HISTORY, 20, limit=15, seen=seen),
        demand(BlockKind.MEMORY, 500, seen=seen),
    )
    allocation = allocate((MESSAGE,), elastic, LIMITS)
    assert seen == [89, 15, 100 - 10 - 21 - 16 - 1]
    assert allocation.result.used_chars == 100
    assert [each.block for each in allocation.omissions] == [BlockKind.HISTORY, BlockKind.MEMORY]


def test_admitted_blocks_are_in_canonical_order() -> None:
    elastic = (demand(BlockKind.HISTORY, 5), demand(BlockKind.MEMORY, 5))
    allocation = allocate((MESSAGE, block(BlockKind.IDENTITY, 5)), elastic, LIMITS)
    assert [each.kind for each in allocation.blocks] == [
        BlockKind.IDENTITY,
        BlockKind.MEMORY,
        BlockKind.HISTORY,
        BlockKind.MESSAGE,
    ]
    assert allocation.blocks[1].source == "store:memory"


def test_an_empty_block_costs_nothing() -> None:
    allocation = allocate((MESSAGE,), (demand(BlockKind.MEMORY, 0),), LIMITS)
    assert allocation.blocks == (MESSAGE,)
    assert allocation.result.used_chars == 10


def test_a_minimum_is_reserved_against_earlier_demands() -> None:
    seen: list[int] = []
    elastic = (
        demand(BlockKind.HISTORY, 500, seen=seen),
        demand(BlockKind.BRIEFING, 30, minimum=30, seen=seen),
    )
    assert allocate((MESSAGE,), elastic, LIMITS).result.used_chars == 100
    assert seen == [100 - 10 - 31 - 1, 30]


def test_a_minimum_is_as_mandatory_as_a_block() -> None:
    """The continuation never leaves: without room for it the compilation fails."""
    with pytest.raises(ContextTooLarge) as total:
        allocate((MESSAGE,), (demand(BlockKind.BRIEFING, 90, minimum=90),), LIMITS)
    assert total.value.facts["chars"] == 101
    with pytest.raises(BlockTooLarge) as own:
        allocate((MESSAGE,), (demand(BlockKind.BRIEFING, 9, minimum=9, limit=8),), LIMITS)
    assert own.value.facts["block"] == "briefing"
    assert own.value.sizes == (("message", 10),)


@given(st.integers(0, 24), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=3))
def test_the_total_is_never_exceeded(chars: int, wishes: list[tuple[int, int]]) -> None:
    kinds = (BlockKind.BRIEFING, BlockKind.HISTORY, BlockKind.MEMORY)
    elastic = [
        demand(kind, wanted, limit=limit)
        for kind, (wanted, limit) in zip(kinds, wishes, strict=False)
    ]
    allocation = allocate((block(BlockKind.MESSAGE, chars),), elastic, LIMITS)
    assert injected_chars(allocation.blocks) == allocation.result.used_chars <= 100
    for each in allocation.blocks[:-1]:
        assert (
            len(each.content)
            <= dict(zip(kinds, (limit for _, limit in wishes), strict=False))[each.kind]
        )


def test_an_account_over_its_limit_is_refused() -> None:
    """CC allocation step 5: verify the total."""
    assert account(10, 10).remaining_chars == 0
    with pytest.raises(ContextTooLarge):
        account(10, 11)


def test_a_hopeless_text_fails_before_rendering_with_all_known_sizes() -> None:
    texts = [(BlockKind.IDENTITY, "i", 20), (BlockKind.PURPOSE, "p", 22)]
    with pytest.raises(BlockTooLarge) as caught:
        refuse_hopeless(texts, LIMITS)
    assert caught.value.source == "p"
    assert caught.value.sizes == (("identity", 20), ("purpose", 22))
    refuse_hopeless(texts[:1], LIMITS)
