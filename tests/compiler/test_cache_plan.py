"""Stable prefixes and the key that groups them (CC "Prompt-cache contract")."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import pytest

from compiler.blocks import SYSTEM_KINDS, BlockKind, CacheClass, RenderedBlock
from compiler.cache_plan import ROUTE_KEY_PREFIX, plan_cache, route_key
from compiler.request import EngineIdentity
from compiler.templates import SCHEMA_VERSION, SYSTEM_SEPARATOR
from support.compiler_factories import ENGINE

TOOLED = replace(ENGINE, tools=(("read", "hash-1"), ("remember", "hash-2")), traffic_shard="a")


def blocks(*kinds: BlockKind) -> list[RenderedBlock]:
    return [RenderedBlock(kind=kind, source="s", content=f"[{kind}] é🔥") for kind in kinds]


def joined(parts: list[RenderedBlock]) -> str:
    return SYSTEM_SEPARATOR.join(part.content for part in parts)


def test_three_boundaries_of_a_full_prompt() -> None:
    """WS: connections belong to the imp's prefix."""
    parts = blocks(*SYSTEM_KINDS)
    plan = plan_cache(parts, joined(parts), ENGINE)
    assert plan.schema_version == SCHEMA_VERSION
    assert [(each.cache_class, each.after_block) for each in plan.boundaries] == [
        (CacheClass.IMP_STABLE, BlockKind.CONNECTIONS),
        (CacheClass.CHANNEL_STABLE, BlockKind.PURPOSE),
        (CacheClass.SURFACE_STABLE, BlockKind.RUNTIME_SCOPE),
    ]


def test_each_hash_covers_exactly_its_prefix() -> None:
    parts = blocks(*SYSTEM_KINDS)
    prompt = joined(parts)
    for boundary in plan_cache(parts, prompt, ENGINE).boundaries:
        prefix = prompt[: boundary.prefix_chars]
        assert prefix.endswith(f"[{boundary.after_block}] é🔥")
        assert boundary.prefix_sha256 == hashlib.sha256(prefix.encode()).hexdigest()
    assert boundary.prefix_chars == len(prompt)


def test_without_connections_the_imps_prefix_ends_after_the_policy() -> None:
    parts = blocks(BlockKind.IDENTITY, BlockKind.RUNTIME_POLICY, BlockKind.RUNTIME_SCOPE)
    boundaries = plan_cache(parts, joined(parts), ENGINE).boundaries
    assert [each.after_block for each in boundaries] == [
        BlockKind.RUNTIME_POLICY,
        BlockKind.RUNTIME_SCOPE,
    ]


def test_the_key_is_opaque_and_fits_every_provider() -> None:
    """Charset and length of pi's session id and of OpenAI's cache key."""
    key = route_key(TOOLED, "0" * 64)
    assert re.fullmatch(r"inglenook-pc-[0-9a-f]{40}", key)
    assert len(key) <= 64
    assert key.startswith(ROUTE_KEY_PREFIX)


@pytest.mark.parametrize(
    "changed",
    [
        replace(TOOLED, engine="other"),
        replace(TOOLED, engine_version="1.6.1"),
        replace(TOOLED, model="m2"),
        replace(TOOLED, preamble="pi"),
        replace(TOOLED, traffic_shard="b"),
        replace(TOOLED, tools=()),
        replace(TOOLED, tools=TOOLED.tools[::-1]),
        replace(TOOLED, tools=(("read", "hash-9"), ("remember", "hash-2"))),
        replace(TOOLED, tools=(("readhash-1", ""), ("remember", "hash-2"))),
    ],
)
def test_any_part_of_the_engine_changes_the_key(changed: EngineIdentity) -> None:
    """CC acceptance test 11: also the order of tools and each schema."""
    assert route_key(changed, "0" * 64) != route_key(TOOLED, "0" * 64)


def test_the_imps_prefix_and_the_schema_change_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = route_key(TOOLED, "0" * 64)
    assert route_key(TOOLED, "1" * 64) != before
    monkeypatch.setattr("compiler.cache_plan.SCHEMA_VERSION", SCHEMA_VERSION + 1)
    assert route_key(TOOLED, "0" * 64) != before


def test_purpose_and_scope_do_not_change_the_key() -> None:
    """Channels of one imp share the key."""
    some = blocks(BlockKind.IDENTITY, BlockKind.RUNTIME_POLICY, BlockKind.RUNTIME_SCOPE)
    more = blocks(*(kind for kind in SYSTEM_KINDS if kind is not BlockKind.CONNECTIONS))
    assert (
        plan_cache(some, joined(some), ENGINE).route_key
        == plan_cache(more, joined(more), ENGINE).route_key
    )
