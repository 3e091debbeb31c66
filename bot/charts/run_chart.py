"""A turn as a picture: how full its budget is, and which blocks fill it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from bot.charts.canvas import Canvas, Chart, described
from bot.charts.colours import AUTHORITIES, BAD, CACHED, EMBER, FRESH, SOFT
from sessions.inbound import Usage
from sessions.review.views import BlockView, CompilationView, RunView, TurnView

MAX_BLOCKS: Final = 14
MAX_OMISSIONS: Final = 6


def run_chart(view: RunView, turn: int | None = None) -> Chart:
    """Draw a turn of a run, the latest if none is named; without turns, its start."""
    shown = next((each for each in view.turns if each.number == turn), None)
    if shown is None and view.turns:
        shown = view.turns[-1]
    compilation = shown.compilation if shown else view.start
    blocks = _blocks(view, shown)
    canvas = Canvas()
    what = f"Turn {shown.number}" if shown else "System prompt"
    canvas.title(what, _outcome(shown) if shown else "")
    canvas.text(f"run {view.run_id} · {view.imp}")
    _budget(canvas, compilation)
    if compilation is not None and compilation.failure is not None:
        canvas.head("Not compiled", compilation.failure.code)
        for kind, chars in compilation.failure.sizes[:MAX_BLOCKS]:
            canvas.item(BAD, kind, right=f"{chars:,}")
    elif blocks:
        _draw_blocks(canvas, blocks)
    _omissions(canvas, compilation)
    if shown is not None:
        _cache(canvas, shown.usage)
    return Chart(
        name=f"{view.run_id}.png",
        png=canvas.png(),
        description=_description(view, what, compilation, blocks),
    )


def _blocks(view: RunView, turn: TurnView | None) -> list[BlockView]:
    """All that the model was given, in its order; a one-shot run has both parts in its turn."""
    start = view.start.blocks if view.start else ()
    return [*start, *(turn.compilation.blocks if turn else ())]


def _outcome(turn: TurnView) -> str:
    return turn.outcome or ("not delivered" if turn.compilation.failure else "running")


def _budget(canvas: Canvas, compilation: CompilationView | None) -> None:
    budget = compilation.budget if compilation else None
    if budget is not None:
        canvas.gap(10)
        share = f"{100 * budget.used_chars / max(1, budget.limit_chars):.1f}%"
        canvas.text(f"{budget.used_chars:,} of {budget.limit_chars:,} characters", share)
        canvas.bar([(EMBER, budget.used_chars)], budget.limit_chars, height=22)
    tokens = compilation.tokens if compilation else None
    if tokens is not None:
        share = f"{100 * tokens.used_tokens / max(1, tokens.limit_tokens):.1f}%"
        canvas.text(
            f"{tokens.used_tokens:,} of {tokens.limit_tokens:,} tokens, {tokens.counting}", share
        )
        canvas.bar([(EMBER, tokens.used_tokens)], tokens.limit_tokens, height=22)


def _draw_blocks(canvas: Canvas, blocks: Sequence[BlockView]) -> None:
    whole = sum(block.chars for block in blocks)
    canvas.head("Blocks", f"{whole:,} characters")
    canvas.bar([(_colour(block), block.chars) for block in blocks], whole)
    for block in blocks[:MAX_BLOCKS]:
        canvas.item(_colour(block), block.kind, block.cache_class, f"{block.chars:,}")
    if len(blocks) > MAX_BLOCKS:
        canvas.text(f"and {len(blocks) - MAX_BLOCKS} more")
    canvas.gap(6)
    canvas.text("Colours: whose word it is")
    for authority, colour in AUTHORITIES.items():
        if any(block.authority == authority for block in blocks):
            canvas.item(colour, authority)


def _colour(block: BlockView) -> str:
    return AUTHORITIES.get(block.authority, SOFT)


def _omissions(canvas: Canvas, compilation: CompilationView | None) -> None:
    found = compilation.omissions if compilation else ()
    if not found:
        return
    canvas.head("Left out or shortened", f"{len(found):,}")
    counts = Counter((item.block, item.reason) for item in found)
    for (block, reason), count in counts.most_common(MAX_OMISSIONS):
        canvas.text(f"{block}: {reason}", f"{count:,}")


def _cache(canvas: Canvas, usage: Usage) -> None:
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    if not prompt:
        return
    share = f"{100 * usage.cache_read_tokens / prompt:.1f}%"
    canvas.head("From the provider's cache", share)
    canvas.bar(
        [(CACHED, usage.cache_read_tokens), (FRESH, prompt - usage.cache_read_tokens)],
        prompt,
        height=22,
    )
    canvas.item(CACHED, "read from the cache", right=f"{usage.cache_read_tokens:,} tokens")
    canvas.item(FRESH, "read anew", right=f"{prompt - usage.cache_read_tokens:,} tokens")


def _description(
    view: RunView, what: str, compilation: CompilationView | None, blocks: Sequence[BlockView]
) -> str:
    budget = compilation.budget if compilation else None
    used = "" if budget is None else f"{budget.used_chars:,} of {budget.limit_chars:,} characters."
    listed = ", ".join(f"{block.kind} {block.chars:,}" for block in blocks)
    return described(f"{what} of run {view.run_id}.", used, listed and f"Blocks: {listed}.")
