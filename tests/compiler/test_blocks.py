"""The canonical order and what belongs to the kind of a block."""

from __future__ import annotations

from compiler.blocks import (
    AUTHORITY,
    CACHE_CLASS,
    INPUT_KINDS,
    MANDATORY_KINDS,
    SYSTEM_KINDS,
    BlockAuthority,
    BlockKind,
    CacheClass,
)


def test_canonical_order() -> None:
    """WS "The blocks, in order", with the state before the content that it applies to."""
    assert [kind.value for kind in BlockKind] == [
        "identity",
        "runtime-policy",
        "connections",
        "purpose",
        "runtime-scope",
        "memory",
        "briefing",
        "history",
        "state",
        "task",
        "message",
    ]
    assert (*SYSTEM_KINDS, *INPUT_KINDS) == tuple(BlockKind)


def test_every_kind_has_one_authority_and_one_cache_class() -> None:
    assert set(AUTHORITY) == set(CACHE_CLASS) == set(BlockKind)


def test_only_system_blocks_may_instruct_on_the_hosts_behalf() -> None:
    """CC "Security invariants": identity and purpose are apart from untrusted input."""
    untrusted = {BlockAuthority.ADVISORY, BlockAuthority.CONTENT, BlockAuthority.USER_DIRECTIVE}
    assert {AUTHORITY[kind] for kind in INPUT_KINDS} == untrusted
    assert not untrusted & {AUTHORITY[kind] for kind in SYSTEM_KINDS}


def test_stability_never_rises_again_along_the_order() -> None:
    """CC: the bytes that change least come first."""
    rank = list(CacheClass)
    ranks = [rank.index(CACHE_CLASS[kind]) for kind in BlockKind]
    assert ranks == sorted(ranks)


def test_mandatory_are_all_but_memory_briefing_and_history() -> None:
    elastic = {BlockKind.MEMORY, BlockKind.BRIEFING, BlockKind.HISTORY}
    assert set(BlockKind) - MANDATORY_KINDS == elastic
