"""What the page draws of a run: bars, lines, groups, made of ``sessions.review.views``; pure.

No text of a conversation is in these values but for ``Excerpt``, which is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Final

from bot.inspector.bars import Part, stack
from compiler.blocks import SYSTEM_KINDS, BlockAuthority, CacheClass, OmissionReason
from compiler.request import TurnId
from sessions.review.block_tokens import BlockTokens, block_tokens
from sessions.review.cache_report import CacheFigures
from sessions.review.views import BlockView, BoundaryView, CompilationView, RunView, TurnView
from sessions.review.wire_calls import CallView
from sessions.traces.plan import TracedTokens

STEPS: Final = MappingProxyType(
    {
        "wait": "waiting",
        "compile": "compile",
        "trace": "trace",
        "first": "until the first word",
        "model": "model",
        "deliver": "delivery",
    }
)
"""The steps of a turn in their order."""
AUTHORITIES: Final = MappingProxyType(
    {
        BlockAuthority.TRUSTED_DIRECTIVE.value: "who the imp is",
        BlockAuthority.RUNTIME_DIRECTIVE.value: "the host's rules",
        BlockAuthority.CHANNEL_DIRECTIVE.value: "the channel's purpose",
        BlockAuthority.USER_DIRECTIVE.value: "house rules of people",
        BlockAuthority.ADVISORY.value: "to be weighed, never obeyed",
        BlockAuthority.CONTENT.value: "what people said",
    }
)
CLASSES: Final = MappingProxyType(
    {
        CacheClass.IMP_STABLE.value: "the same for the whole imp",
        CacheClass.CHANNEL_STABLE.value: "the same in this channel",
        CacheClass.SURFACE_STABLE.value: "the same in this place",
        CacheClass.VOLATILE.value: "of this turn",
    }
)
REASONS: Final = MappingProxyType(
    {
        OmissionReason.BUDGET.value: "no room left, in characters",
        OmissionReason.TOKEN_BUDGET.value: "no room left, in tokens",
        OmissionReason.ITEM_LIMIT.value: "more than may be offered",
        OmissionReason.OVERSIZED.value: "too large even alone",
        OmissionReason.SHORTENED.value: "only its beginning is in",
    }
)
LISTED_TURNS: Final = 100
"""Turns in one timeline; the ones before are a link away."""
LISTED_IDS: Final = 200
AROUND_CHARS: Final = 240
"""Of a text on each side of the first difference."""


# --- turns in time


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLine:
    """One turn of the timeline."""

    turn: TurnView
    outcome: str
    bar: tuple[Part, ...]
    total_us: int
    first_text_us: int | None = None
    """Of a turn that runs: when its first word came, None while there is none."""


def steps_of(turn: TurnView, first_text_us: int | None = None) -> tuple[tuple[str, str, int], ...]:
    """Divide a turn's time; all steps together are the time until the last message was posted.

    What lies between trace and first word is the engine's and the provider's start of it, and the
    reading of sources. A turn without a first word was the model's throughout. ``first_text_us`` is
    of a turn that still runs.
    """
    times = turn.times
    if times is None or not turn.outcome:
        compilation = turn.compilation
        before = compilation.waited_us + compilation.compile_us
        first = max(0, (first_text_us or 0) - before)
        durations = [compilation.waited_us, compilation.compile_us, 0, first, 0, 0]
    else:
        before = times.wait_us + times.compile_us + times.trace_us
        first = max(0, times.first_text_us - before)
        durations = [
            times.wait_us,
            times.compile_us,
            times.trace_us,
            first,
            max(0, times.total_us - before - first),
            times.deliver_us,
        ]
    return tuple(
        (kind, label, micros)
        for (kind, label), micros in zip(STEPS.items(), durations, strict=True)
    )


def timeline(
    turns: Sequence[TurnView], spoken: Callable[[TurnId], int | None] = lambda _: None
) -> tuple[TurnLine, ...]:
    """Draw turns on one scale, that of the longest.

    ``spoken`` tells when the first word of a running turn came.
    """
    words = [first_word(turn, spoken) for turn in turns]
    steps = [steps_of(turn, word) for turn, word in zip(turns, words, strict=True)]
    longest = max((sum(micros for _, _, micros in each) for each in steps), default=0)
    return tuple(
        TurnLine(
            turn=turn,
            outcome=outcome_of(turn),
            bar=stack(each, longest),
            total_us=sum(micros for _, _, micros in each),
            first_text_us=word,
        )
        for turn, each, word in zip(turns, steps, words, strict=True)
    )


def first_word(turn: TurnView, spoken: Callable[[TurnId], int | None]) -> int | None:
    """Tell when the first word of a turn came that still runs; None for any other."""
    if turn.outcome or turn.turn_id is None:
        return None
    return spoken(TurnId(turn.turn_id))


def outcome_of(turn: TurnView) -> str:
    """Name how a turn ended; one word."""
    return turn.outcome or ("not compiled" if turn.compilation.failure else "running")


# --- blocks of a turn


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLine:
    """One block with its share of everything and its tokens, where they are counted."""

    block: BlockView
    share: float
    tokens: BlockTokens | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place on a bar."""

    label: str
    value: int
    at_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BlocksView:
    """All blocks behind a turn: one bar by authority, one by cache class, and a line each."""

    lines: tuple[BlockLine, ...]
    by_authority: tuple[Part, ...]
    by_class: tuple[Part, ...]
    boundaries: tuple[Mark, ...]
    chars: int


def blocks_of(run: RunView, compilation: CompilationView) -> tuple[BlockView, ...]:
    """Give all blocks behind a compilation, those of the session's start included."""
    own = compilation.blocks
    has_system = any(block.kind in SYSTEM_KINDS for block in own)
    of_start = run.start.blocks if run.start is not None and not has_system else ()
    return (*of_start, *own)


def draw_blocks(
    blocks: Sequence[BlockView],
    boundaries: Sequence[BoundaryView],
    account: TracedTokens | None,
) -> BlocksView:
    """Draw the blocks in proportion to their characters."""
    chars = sum(block.chars for block in blocks)
    tokens = {each.kind: each for each in block_tokens(account, blocks)}
    parts = [(block.authority, block.kind, block.chars) for block in blocks]
    by_authority = stack(parts, chars)
    ends = {part.label: part.at_percent + part.percent for part in by_authority}
    return BlocksView(
        lines=tuple(
            BlockLine(
                block=block,
                share=block.chars / chars if chars else 0.0,
                tokens=tokens.get(block.kind),
            )
            for block in blocks
        ),
        by_authority=by_authority,
        by_class=stack([(block.cache_class, block.kind, block.chars) for block in blocks], chars),
        boundaries=tuple(
            Mark(label=each.cache_class, value=each.prefix_chars, at_percent=ends[each.after_block])
            for each in boundaries
            if each.after_block in ends
        ),
        chars=chars,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OmissionGroup:
    """What of one block was left out for one reason."""

    block: str
    reason: str
    why: str
    count: int
    chars: int
    ids: tuple[str, ...]


def omissions_of(*compilations: CompilationView | None) -> tuple[OmissionGroup, ...]:
    """Group what was left out, in the order of the blocks."""
    groups: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for compilation in compilations:
        for item in compilation.omissions if compilation else ():
            groups.setdefault((item.block, item.reason), []).append((item.item_id, item.chars))
    return tuple(
        OmissionGroup(
            block=block,
            reason=reason,
            why=REASONS.get(reason, reason.replace("_", " ").replace("-", " ")),
            count=len(items),
            chars=sum(chars for _, chars in items),
            ids=tuple(item_id for item_id, _ in items[:LISTED_IDS]),
        )
        for (block, reason), items in groups.items()
    )


# --- the wire and its cache


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLine:
    """One model call. The bar is its prompt in tokens: what came from the cache, and the rest.

    ``marks`` are where the stable prefixes end, worked out from their characters.
    """

    call: CallView
    bar: tuple[Part, ...]
    marks: tuple[Mark, ...]
    expected_tokens: int | None
    expected_percent: float


def draw_calls(
    calls: Sequence[CallView],
    boundaries: Sequence[BoundaryView],
    account: TracedTokens | None,
    figures: Mapping[tuple[str, int], CacheFigures],
) -> tuple[CallLine, ...]:
    """Draw what the provider counted, and had, of each call's prompt."""
    return tuple(
        _call(call, boundaries, account, figures.get((call.at, call.number))) for call in calls
    )


def _call(
    call: CallView,
    boundaries: Sequence[BoundaryView],
    account: TracedTokens | None,
    figures: CacheFigures | None,
) -> CallLine:
    whole, cached = call.input_tokens or 0, min(call.cached_tokens or 0, call.input_tokens or 0)
    bar = stack([("cached", "from the cache", cached), ("fresh", "read anew", whole - cached)], 0)
    expected = figures.expected_tokens if figures else None
    return CallLine(
        call=call,
        bar=bar,
        marks=_token_marks(boundaries, account, whole),
        expected_tokens=expected,
        expected_percent=100 * expected / whole if expected and whole else 0.0,
    )


def _token_marks(
    boundaries: Sequence[BoundaryView], account: TracedTokens | None, whole: int
) -> tuple[Mark, ...]:
    """Place boundaries among tokens: the engine's own words come first, then the system prompt."""
    if account is None or not whole or not boundaries:
        return ()
    system_chars = boundaries[-1].prefix_chars
    return tuple(
        Mark(label=each.cache_class, value=tokens, at_percent=min(100.0, 100 * tokens / whole))
        for each in boundaries
        if (tokens := account.system_tokens * each.prefix_chars // max(1, system_chars)) <= whole
    )


# --- texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A text around one character of it; ``cut_*`` count what is left away at either end."""

    cut_before: int
    before: str
    marked: str
    after: str
    cut_after: int


def excerpt(text: str, at_char: int, around: int = AROUND_CHARS) -> Excerpt:
    """Cut a text to the surroundings of a character; past its end, nothing is marked."""
    begin, end = max(0, at_char - around), min(len(text), at_char + 1 + around)
    return Excerpt(
        cut_before=begin,
        before=text[begin:at_char],
        marked=text[at_char : at_char + 1],
        after=text[at_char + 1 : end],
        cut_after=len(text) - end,
    )


def byte_to_char(text: str, at_byte: int) -> int:
    """Find the character that a byte of a text's UTF-8 belongs to; its length for one behind."""
    ends = accumulate(len(character.encode()) for character in text)
    return next((place for place, end in enumerate(ends) if at_byte < end), len(text))
