"""Fit the items of an advisory block into a number of characters.

Everything here counts rendered characters. Items come in order of worth; each goes in whole
while there is room. An item that could never go in whole, whatever it displaced, is kept as its
beginning instead, so that one over-long item never empties its block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.blocks import Omission
from compiler.origin import Origin

MIN_KEPT_CHARS = 40
"""A shorter beginning of a lesser item says nothing; the item leaves instead."""


class FittedItem(NamedTuple):
    """An item that went in: its id, its exact form, and its place among those offered (0 first).

    A named tuple, since a turn has hundreds of them.
    """

    item_id: str
    form: str
    rank: int
    origin: Origin
    shortened: bool = False
    """Kept as its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """An advisory block in its room: its final text, empty when nothing of it fits.

    ``items`` are those of ``content``, in the order in which they stand there.
    """

    content: str = ""
    omissions: tuple[Omission, ...] = ()
    items: tuple[FittedItem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An item offered to a block: its whole form, and how to render a beginning of its text."""

    item_id: str
    whole: str
    text_chars: int
    render_kept: Callable[[int], str]
    """Renders the item with that many characters of its text kept."""
    origin: Origin = Origin.HOST_FACT


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What went in: rendered items in the order offered, and the indices of shortened ones."""

    items: tuple[str, ...]
    shortened: tuple[int, ...]

    def fitted(self, candidates: Sequence[Candidate]) -> tuple[FittedItem, ...]:
        """Name the items that went in; ``candidates`` are those that were offered."""
        return tuple(
            FittedItem(each.item_id, form, rank, each.origin, rank in self.shortened)
            for rank, (each, form) in enumerate(zip(candidates, self.items, strict=False))
        )


def take_in_order(candidates: Sequence[Candidate], capacity_chars: int) -> Taken:
    """Take candidates, joined by commas, until the next one has no room.

    Those after the first that is left are left too, so what stays has no holes. The first is
    kept with any beginning at all; an over-long one takes at most half of the capacity while
    there are others.
    """
    items: list[str] = []
    shortened: list[int] = []
    room = capacity_chars
    for index, candidate in enumerate(candidates):
        item = candidate.whole
        if len(item) > capacity_chars:
            short = _beginning(candidate, capacity_chars, room, alone=len(candidates) == 1)
            if short is None:
                break
            item = short
            shortened.append(index)
        if len(item) > room:
            break
        items.append(item)
        room -= len(item) + 1
    return Taken(items=tuple(items), shortened=tuple(shortened))


def _beginning(
    candidate: Candidate, capacity_chars: int, room_chars: int, *, alone: bool
) -> str | None:
    """Render the longest beginning of an over-long candidate that is allowed to it."""
    share = capacity_chars if alone else capacity_chars // 2
    first = room_chars == capacity_chars
    kept = shorten(candidate, min(share, room_chars), 0 if first else MIN_KEPT_CHARS)
    if kept is None and first:
        kept = shorten(candidate, room_chars, 0)
    return kept


def shorten(candidate: Candidate, limit_chars: int, least_chars: int) -> str | None:
    """Render the longest beginning within a limit; None if even ``least_chars`` do not fit.

    A longer beginning never renders shorter, so the length is found by halving; it is below
    ``limit_chars``, since each character takes at least one.
    """
    low, high = least_chars, min(candidate.text_chars - 1, limit_chars)
    best: str | None = None
    while low <= high:
        middle = (low + high) // 2
        item = candidate.render_kept(middle)
        if len(item) <= limit_chars:
            best, low = item, middle + 1
        else:
            high = middle - 1
    return best
