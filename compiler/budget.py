"""Character limits and their division among blocks.

Spec: CC "Context budgets"; WS "Budgets" adds history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from compiler.blocks import CURRENT_KINDS, ORDER, SYSTEM_KINDS, BlockKind, Omission, RenderedBlock
from compiler.errors import (
    BlockSizes,
    BlockTooLarge,
    CompileError,
    ContextTooLarge,
    CurrentTurnOverflow,
)
from compiler.fitting import Fit, FittedItem
from compiler.templates import INPUT_SEPARATOR, SYSTEM_SEPARATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBudgets:
    """The owner's limits, in Unicode code points of rendered text (``org.toml [context]``)."""

    max_injected_chars: int = 48_000
    identity_max_chars: int = 12_000
    purpose_max_chars: int = 8_000
    connections_max_chars: int = 4_000
    memory_max_chars: int = 12_000
    briefing_max_chars: int = 4_000
    history_max_chars: int = 6_000
    history_max_messages: int = 25
    state_max_chars: int = 4_000
    task_max_chars: int = 24_000
    """Limit of the task block and of the message block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBudgetResult:
    """What a compilation used of the total, system prompt and input together."""

    limit_chars: int
    used_chars: int
    remaining_chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticDemand:
    """An advisory block that wants room.

    ``minimum_chars`` is the part of it that may not be lost; ``fit`` renders the block in the
    room that it is given, or gives an empty one.
    """

    kind: BlockKind
    source: str
    limit_chars: int
    fit: Callable[[int], Fit]
    minimum_chars: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The admitted blocks in canonical order, what was left out, and the sum."""

    blocks: tuple[RenderedBlock, ...]
    omissions: tuple[Omission, ...]
    result: ContextBudgetResult
    items: Mapping[BlockKind, tuple[FittedItem, ...]] = field(default_factory=dict)
    """The items of each advisory block, in the order in which they stand in it."""


def allocate(
    mandatory: Sequence[RenderedBlock],
    elastic: Sequence[ElasticDemand],
    budgets: ContextBudgets,
    *,
    system_chars: int = 0,
) -> Allocation:
    """Divide the injected characters of one compilation among its blocks.

    Sizes are Unicode code points of rendered blocks, labels and JSON escapes included; the
    separators between blocks count towards the total. Mandatory blocks are reserved first, with
    ``system_chars`` for a system prompt that stands already, and with the minimum of every
    demand. Then ``elastic``, in order of retention, get what is left, each at most its own limit.

    Raises:
        BlockTooLarge: a mandatory block exceeds its own limit; nothing is ever cut for it.
        CurrentTurnOverflow: it is the message or task that does.
        ContextTooLarge: the mandatory blocks together exceed the total.

    Spec: CC "Context budgets", allocation steps 1-4.
    """
    sizes = block_sizes(mandatory)
    _checkown_limits(mandatory, elastic, budgets, sizes)
    limit = budgets.max_injected_chars
    spent = system_chars + injected_chars(mandatory)
    reserved = sum(map(_reserve, elastic))
    if spent + reserved > limit:
        raise _too_much(mandatory, spent + reserved, limit, sizes)
    admitted = list(mandatory)
    omissions: list[Omission] = []
    items: dict[BlockKind, tuple[FittedItem, ...]] = {}
    for demand in elastic:
        reserved -= _reserve(demand)
        rest = limit - spent - reserved - len(INPUT_SEPARATOR)
        fitted = demand.fit(min(demand.limit_chars, rest))
        omissions += fitted.omissions
        if fitted.content:
            admitted.append(
                RenderedBlock(kind=demand.kind, source=demand.source, content=fitted.content)
            )
            spent += len(fitted.content) + len(INPUT_SEPARATOR)
            items[demand.kind] = fitted.items
    admitted.sort(key=lambda block: ORDER[block.kind])
    return Allocation(
        blocks=tuple(admitted),
        omissions=tuple(omissions),
        result=account(limit, spent),
        items=MappingProxyType(items),
    )


def least_chars(
    mandatory: Sequence[RenderedBlock],
    elastic: Sequence[ElasticDemand],
    *,
    system_chars: int = 0,
) -> int:
    """Count the smallest total that ``allocate`` can work with."""
    return system_chars + injected_chars(mandatory) + sum(map(_reserve, elastic))


def injected_chars(blocks: Sequence[RenderedBlock]) -> int:
    """Count the blocks as they stand in their prompts, separators between them included."""
    system = [len(block.content) for block in blocks if block.kind in SYSTEM_KINDS]
    dynamic = [len(block.content) for block in blocks if block.kind not in SYSTEM_KINDS]
    return _joined_chars(system, SYSTEM_SEPARATOR) + _joined_chars(dynamic, INPUT_SEPARATOR)


def account(limit_chars: int, used_chars: int) -> ContextBudgetResult:
    """Give the account of a compilation.

    Raises:
        ContextTooLarge: more is used than the limit allows.
    """
    if used_chars > limit_chars:
        raise ContextTooLarge(chars=used_chars, limit_chars=limit_chars)
    return ContextBudgetResult(
        limit_chars=limit_chars, used_chars=used_chars, remaining_chars=limit_chars - used_chars
    )


def block_sizes(blocks: Sequence[RenderedBlock]) -> BlockSizes:
    """Give kind and characters of each block, as an error carries them into the trace."""
    return tuple((block.kind.value, len(block.content)) for block in blocks)


def _checkown_limits(
    mandatory: Sequence[RenderedBlock],
    elastic: Sequence[ElasticDemand],
    budgets: ContextBudgets,
    sizes: BlockSizes,
) -> None:
    demanded = [
        (block.kind, block.source, len(block.content), own_limit(block.kind, budgets))
        for block in mandatory
    ]
    demanded += [(each.kind, each.source, each.minimum_chars, each.limit_chars) for each in elastic]
    for kind, source, chars, limit in demanded:
        if chars > limit:
            raise _too_large(kind, source, chars, limit, sizes)


def _too_large(
    kind: BlockKind, source: str, chars: int, limit_chars: int, sizes: BlockSizes
) -> BlockTooLarge:
    """Say that a block is over its limit; what was asked just now may be taken in chunks."""
    if kind in CURRENT_KINDS:
        return CurrentTurnOverflow(
            block=kind.value,
            source=source,
            unit="characters",
            size=chars,
            limit=limit_chars,
            sizes=sizes,
        )
    return BlockTooLarge(
        block=kind.value, source=source, chars=chars, limit_chars=limit_chars, sizes=sizes
    )


def _too_much(
    mandatory: Sequence[RenderedBlock], chars: int, limit_chars: int, sizes: BlockSizes
) -> CompileError:
    """Blame what was asked just now if it is more than everything else, and else the total.

    A short message that finds no room is not to be read in chunks: something else is wrong.
    """
    for block in mandatory:
        own_chars = len(block.content)
        room = limit_chars - (chars - own_chars)
        if block.kind in CURRENT_KINDS and room > 0 and 2 * own_chars > chars:
            return _too_large(block.kind, block.source, own_chars, room, sizes)
    return ContextTooLarge(chars=chars, limit_chars=limit_chars, sizes=sizes)


def refuse_hopeless(texts: Sequence[tuple[BlockKind, str, int]], budgets: ContextBudgets) -> None:
    """Fail before rendering a text that is over the limit of its block already.

    ``texts`` are kind, source and characters. No text renders shorter than it is, and looking
    through megabytes for marks and escapes only to refuse them would hold up every other
    conversation.

    Raises:
        BlockTooLarge: with the size of the text, which its block could only exceed.
    """
    for kind, source, chars in texts:
        limit = own_limit(kind, budgets)
        if chars > limit:
            sizes = tuple((each.value, size) for each, _, size in texts)
            raise _too_large(kind, source, chars, limit, sizes)


def own_limit(kind: BlockKind, budgets: ContextBudgets) -> int:
    """Give the own limit of a mandatory block; the host's templates have only the total."""
    match kind:
        case BlockKind.IDENTITY:
            return budgets.identity_max_chars
        case BlockKind.CONNECTIONS:
            return budgets.connections_max_chars
        case BlockKind.PURPOSE:
            return budgets.purpose_max_chars
        case BlockKind.STATE:
            return budgets.state_max_chars
        case BlockKind.TASK | BlockKind.MESSAGE:
            return budgets.task_max_chars
        case _:
            return budgets.max_injected_chars


def _reserve(demand: ElasticDemand) -> int:
    return demand.minimum_chars + len(INPUT_SEPARATOR) if demand.minimum_chars else 0


def _joined_chars(lengths: Sequence[int], separator: str) -> int:
    return sum(lengths) + len(separator) * max(len(lengths) - 1, 0)
