"""The stable prefixes of a system prompt and the key that groups equal ones.

All of it is descriptive: it goes to the trace and, as the session id of the engine, to the
provider's cache routing; it is never part of a prompt.

Spec: CC "Prompt-cache contract"; WS puts connections into the imp's prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.blocks import (
    CACHE_CLASS,
    BlockKind,
    CacheBoundary,
    CacheClass,
    CachePlan,
    RenderedBlock,
)
from compiler.hashing import prefix_hashes, sha256_fields
from compiler.request import EngineIdentity
from compiler.templates import SCHEMA_VERSION, SYSTEM_SEPARATOR

ROUTE_KEY_PREFIX = "inglenook-pc-"
_ROUTE_KEY_DIGITS = 40
"""160 bits; with its prefix the key stays below the 64 characters that providers allow."""


def plan_cache(
    system_blocks: Sequence[RenderedBlock], prompt: str, engine: EngineIdentity
) -> CachePlan:
    """Find the end of each stable prefix of a rendered system prompt.

    A boundary stands after the last block of its class, before the separator that follows; the
    channel has one only with a purpose. Each hash covers the exact UTF-8 bytes from the first
    byte of the prompt to the boundary.
    """
    last_of: dict[CacheClass, tuple[BlockKind, int]] = {}
    end = -len(SYSTEM_SEPARATOR)
    for block in system_blocks:
        end += len(SYSTEM_SEPARATOR) + len(block.content)
        last_of[CACHE_CLASS[block.kind]] = (block.kind, end)
    hashes = prefix_hashes(prompt, (chars for _, chars in last_of.values()))
    boundaries = tuple(
        CacheBoundary(
            cache_class=cache_class, after_block=kind, prefix_chars=chars, prefix_sha256=sha256
        )
        for (cache_class, (kind, chars)), sha256 in zip(last_of.items(), hashes, strict=True)
    )
    return CachePlan(
        schema_version=SCHEMA_VERSION,
        route_key=route_key(engine, boundaries[0].prefix_sha256),
        boundaries=boundaries,
    )


def route_key(engine: EngineIdentity, imp_prefix_sha256: str) -> str:
    """Derive the opaque key of all requests that may share a provider's cache.

    In it: engine and its version, model, preamble, tools with schemas in their order, schema
    version, traffic shard, and the imp's stable prefix. No name and no id of a person, a channel,
    a run or a message. Charset ``[a-z0-9-]``, 53 characters.
    """
    tools = [part for tool in engine.tools for part in tool]
    digest = sha256_fields(
        "inglenook-route-key-v1",
        (
            engine.engine,
            engine.engine_version,
            engine.model,
            engine.preamble,
            str(SCHEMA_VERSION),
            engine.traffic_shard,
            imp_prefix_sha256,
            str(len(engine.tools)),
            *tools,
        ),
    )
    return ROUTE_KEY_PREFIX + digest[:_ROUTE_KEY_DIGITS]
