"""The kinds of blocks, their fixed order, and what is recorded of each.

Order is the cache order: the bytes that change least come first (CC "Goal", WS "The blocks").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat
from types import MappingProxyType
from typing import NamedTuple, TypeVar


class BlockKind(StrEnum):
    """All kinds of blocks, in canonical rendering order."""

    IDENTITY = "identity"
    RUNTIME_POLICY = "runtime-policy"
    CONNECTIONS = "connections"
    PURPOSE = "purpose"
    RUNTIME_SCOPE = "runtime-scope"
    MEMORY = "memory"
    BRIEFING = "briefing"
    HISTORY = "history"
    STATE = "state"
    TASK = "task"
    MESSAGE = "message"


ORDER = {kind: place for place, kind in enumerate(BlockKind)}
"""Each kind's place in the canonical order."""
SYSTEM_KINDS = (
    BlockKind.IDENTITY,
    BlockKind.RUNTIME_POLICY,
    BlockKind.CONNECTIONS,
    BlockKind.PURPOSE,
    BlockKind.RUNTIME_SCOPE,
)
INPUT_KINDS = (
    BlockKind.MEMORY,
    BlockKind.BRIEFING,
    BlockKind.HISTORY,
    BlockKind.STATE,
    BlockKind.TASK,
    BlockKind.MESSAGE,
)
CURRENT_KINDS = frozenset({BlockKind.TASK, BlockKind.MESSAGE})
"""What was asked just now; an input has one of them."""
MANDATORY_KINDS = frozenset({*SYSTEM_KINDS, BlockKind.STATE, BlockKind.TASK, BlockKind.MESSAGE})
"""Never cut: they fit or the compilation fails (CC "Context budgets")."""


class BlockAuthority(StrEnum):
    """Whose word a block is."""

    TRUSTED_DIRECTIVE = "trusted-directive"
    CHANNEL_DIRECTIVE = "trusted-channel-directive"
    RUNTIME_DIRECTIVE = "trusted-runtime-directive"
    USER_DIRECTIVE = "user-directive"
    ADVISORY = "advisory"
    CONTENT = "content"


class CacheClass(StrEnum):
    """How long the bytes of a block stay the same."""

    IMP_STABLE = "imp-stable"
    CHANNEL_STABLE = "channel-stable"
    SURFACE_STABLE = "surface-stable"
    VOLATILE = "volatile"


AUTHORITY: Mapping[BlockKind, BlockAuthority] = MappingProxyType(
    {
        BlockKind.IDENTITY: BlockAuthority.TRUSTED_DIRECTIVE,
        BlockKind.RUNTIME_POLICY: BlockAuthority.RUNTIME_DIRECTIVE,
        BlockKind.CONNECTIONS: BlockAuthority.RUNTIME_DIRECTIVE,
        BlockKind.PURPOSE: BlockAuthority.CHANNEL_DIRECTIVE,
        BlockKind.RUNTIME_SCOPE: BlockAuthority.RUNTIME_DIRECTIVE,
        BlockKind.MEMORY: BlockAuthority.ADVISORY,
        BlockKind.BRIEFING: BlockAuthority.ADVISORY,
        BlockKind.HISTORY: BlockAuthority.CONTENT,
        BlockKind.STATE: BlockAuthority.USER_DIRECTIVE,
        BlockKind.TASK: BlockAuthority.CONTENT,
        BlockKind.MESSAGE: BlockAuthority.CONTENT,
    }
)
"""Authority belongs to the kind of a block; nothing inside it can raise it (CC "Blocks")."""

CACHE_CLASS: Mapping[BlockKind, CacheClass] = MappingProxyType(
    {
        BlockKind.IDENTITY: CacheClass.IMP_STABLE,
        BlockKind.RUNTIME_POLICY: CacheClass.IMP_STABLE,
        BlockKind.CONNECTIONS: CacheClass.IMP_STABLE,
        BlockKind.PURPOSE: CacheClass.CHANNEL_STABLE,
        BlockKind.RUNTIME_SCOPE: CacheClass.SURFACE_STABLE,
    }
    | dict.fromkeys(INPUT_KINDS, CacheClass.VOLATILE)
)


class OmissionReason(StrEnum):
    """Why something offered is not in the prompt."""

    BUDGET = "budget"
    TOKEN_BUDGET = "token_budget"  # noqa: S105  (tokens of a model)
    """There were characters enough for it, but not tokens."""
    ITEM_LIMIT = "item_limit"
    OVERSIZED = "oversized"
    """A memory note that would not fit even as the only one."""
    SHORTENED = "shortened"
    """Kept as its beginning, with "kept n of m characters" and a hash (history, briefing)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedBlock:
    """A block in its final form, not yet admitted; ``content`` as in ``CompiledBlock``."""

    kind: BlockKind
    source: str
    content: str
    neutralized: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledBlock:
    """One admitted block.

    ``content`` is the exact rendered text, label included; ``chars`` counts its Unicode code
    points; ``sha256`` (hex) covers its UTF-8 bytes.
    """

    kind: BlockKind
    authority: BlockAuthority
    cache_class: CacheClass
    source: str
    content: str
    chars: int
    sha256: str
    neutralized: int = 0
    """Marks in a system text that were escaped because they could pass for structure."""


class Omission(NamedTuple):
    """Something offered that is not (wholly) in the prompt; an id and a reason, never text.

    A named tuple: a turn may make a thousand, and a frozen dataclass takes three times as long.
    """

    block: BlockKind
    item_id: str
    reason: str
    chars: int
    """Rendered size that it would have taken."""


_Row = TypeVar("_Row", bound=tuple[object, ...])


def named_tuples(kind: type[_Row], rows: Iterable[tuple[object, ...]]) -> list[_Row]:
    """Make many named tuples of rows that are complete, at a third of the cost of ``_make``."""
    return list(map(tuple.__new__, repeat(kind), rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBoundary:
    """The end of a stable prefix of the system prompt."""

    cache_class: CacheClass
    after_block: BlockKind
    prefix_chars: int
    prefix_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePlan:
    """Descriptive cache metadata; never part of a prompt (CC "Outputs")."""

    schema_version: int
    route_key: str
    boundaries: tuple[CacheBoundary, ...]
