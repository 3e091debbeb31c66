"""One run, told to people in the shell and in Discord alike: plain text, at most 60 wide.

Pure, and without content: ids, sizes, hashes, codes and sources only.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from bot.runs.forms import WIDTH, bare_id, clock, duration, fit, grouped, moment, nameless, short
from bot.runs.tool_text import tool_lines, unlisted_lines
from bot.runs.verify_text import verdict_line
from compiler.blocks import OmissionReason
from compiler.normalize import one_line
from compiler.tokens import Counting
from sessions.inbound import OutcomeKind, Usage
from sessions.review.views import (
    BlockView,
    CompilationView,
    RuleView,
    RunView,
    TokensView,
    TurnView,
)
from sessions.review.wire_calls import CallView
from sessions.traces.proof import VerifyReport

FEW_TURNS: Final = 3
"""Up to so many turns are told in full; of more, only the latest is."""
_HEAD: Final = 8
"""Columns of a heading before its value."""


def run_text(
    view: RunView,
    report: VerifyReport,
    *,
    turn: int | None = None,
    name_of: Callable[[str], str] = nameless,
) -> str:
    """Tell a run: its system prompt, its turns, the latest or the named one in full.

    ``name_of`` names a channel by its id, with nothing where it knows no name.
    """
    parts = [_head(view, report, name_of)]
    if view.start is not None:
        parts.append(_start(view, view.start))
    whole = _in_full(view.turns, turn)
    others = [item for item in view.turns if item not in whole]
    if others:
        parts.append("\n".join(["TURNS", *map(_turn_line, others)]))
    parts += [_whole_turn(view, item) for item in whole]
    if len(view.turns) > 1:
        parts.append("\n".join(["ALL TURNS", *_usage(view.usage)]))
    if view.house_rules:
        parts.append("\n".join(["HOUSE RULES", *map(_rule_line, view.house_rules)]))
    return "\n\n".join(parts)


def _whole_turn(view: RunView, turn: TurnView) -> str:
    if turn.turn_id is None:
        return _turn(turn)
    tools = tool_lines(item for item in view.tools if item.turn_id == turn.turn_id)
    unlisted = unlisted_lines(item for item in view.unlisted if item.turn_id == turn.turn_id)
    calls = _calls(view.wire.of_turn(turn.turn_id))
    return "\n".join([_turn(turn), *calls, *tools, *unlisted])


def _in_full(turns: Sequence[TurnView], turn: int | None) -> Sequence[TurnView]:
    if turn is not None:
        return [item for item in turns if item.number == turn]
    return turns if len(turns) <= FEW_TURNS else turns[-1:]


def _place(view: RunView, name_of: Callable[[str], str]) -> str:
    """Say where a run was: the kind of place, Discord's number, and a name if one is known."""
    if view.channel_id is None:
        return str(view.place)
    name = name_of(view.channel_id)
    known = (f"{view.place} {bare_id(view.channel_id)}", name)
    return one_line(", ".join(filter(None, known)), WIDTH - _HEAD)


def _head(view: RunView, report: VerifyReport, name_of: Callable[[str], str]) -> str:
    pairs = [
        ("Run", view.run_id),
        ("Imp", f"{view.imp}, {view.surface}"),
        ("Where", _place(view, name_of)),
        ("Began", moment(view.started_at)),
        ("Ended", f"{moment(view.ended_at)}, {view.end_reason}" if view.ended_at else "not yet"),
        ("Turns", str(len(view.turns))),
        ("Trace", verdict_line(report)),
    ]
    pairs += [("Wire", line) for line in _wire_lines(view)]
    pairs += [("Resumed", moment(at)) for at in view.resumed_at]
    pairs += [("Gap", f"torn bytes are in {name}") for name in view.gaps]
    return "\n".join(f"{name:<{_HEAD}}{value}" for name, value in pairs)


def _wire_lines(view: RunView) -> list[str]:
    """Tell of the model calls of a run: whether each held what was compiled."""
    wire = view.wire
    if not wire.observed:
        return ["not observed, the engine asks its provider itself"]
    if not wire.calls:
        return []
    altered = sum(bool(call.problems) for call in wire.calls)
    calls = "1 call" if len(wire.calls) == 1 else f"{len(wire.calls)} calls"
    if altered:
        return [f"{calls}, {altered} NOT AS COMPILED"]
    return [f"{calls}, exactly as compiled"]


def _calls(calls: Sequence[CallView]) -> list[str]:
    lines: list[str] = []
    for call in calls:
        sent = f"{grouped(call.body_bytes)} bytes  {short(call.body_sha256)}"
        lines.append(f"  sent {sent}  {_ended_call(call)}")
        if call.problems:
            lines.append(f"    ✗ {', '.join(call.problems)}")
        elif call.blocks:
            going_on = "" if call.extends_former is None else ", extends the call before"
            lines.append(f"    holds all {len(call.blocks)} blocks{going_on}")
    return lines


def _ended_call(call: CallView) -> str:
    if call.refusal:
        return f"kept back ({call.refusal})"
    return f"{call.end} {call.status}" if call.status else call.end


def _start(view: RunView, start: CompilationView) -> str:
    if start.failure is not None:
        return "\n".join(["SYSTEM PROMPT was not compiled", *_failure(start)])
    used = start.budget.used_chars if start.budget else 0
    lines = [f"SYSTEM PROMPT {grouped(used)} characters  {short(start.system_prompt_sha256)}"]
    lines += _blocks(start.blocks)
    lines += _omissions(start)
    lines.append("  stable prefixes, for the provider's cache:")
    lines += [
        f"    {item.cache_class:<15}{grouped(item.prefix_chars):>8}  {short(item.prefix_sha256)}"
        f"  to {item.after_block}"
        for item in view.boundaries
    ]
    lines += ["  route key, for the provider's routing:", f"    {view.route_key or '-'}"]
    return "\n".join(lines)


def _turn_line(turn: TurnView) -> str:
    budget = turn.compilation.budget
    used = f"{grouped(budget.used_chars):>7} chars" if budget else "not compiled"
    return f"  {turn.number:>3}  {clock(turn.compilation.at)}  {used:<13}  {_outcome(turn)}"


def _turn(turn: TurnView) -> str:
    compilation = turn.compilation
    lines = [f"TURN {turn.number}  {moment(compilation.at)}  {_outcome(turn)}"]
    if turn.turn_id:
        lines.append(f"  {turn.turn_id}")
    if turn.user_id:
        lines.append(f"  from {turn.user_id}")
    if turn.steers is not None:
        lines.append(f"  goes into turn {turn.steers}, with {turn.message_id}")
    lines += [f"  with the words of {message_id}" for message_id in turn.joined]
    lines += [f"  ahead of {message_id}, which waits" for message_id in turn.passed]
    if compilation.failure is not None:
        return "\n".join([*lines, *_failure(compilation)])
    if compilation.budget is not None:
        budget = compilation.budget
        lines.append(
            f"  {grouped(budget.used_chars)} of {grouped(budget.limit_chars)} characters used, "
            f"{grouped(budget.remaining_chars)} left"
        )
    lines += _tokens(compilation.tokens)
    lines += _blocks(compilation.blocks)
    lines.append(f"  input {short(compilation.input_prompt_sha256)}")
    lines += _omissions(compilation)
    lines += _usage(turn.usage) if turn.outcome else []
    lines += _times(turn)
    return "\n".join(lines)


def _tokens(tokens: TokensView | None) -> list[str]:
    """Tell the other budget, and how good the count is."""
    if tokens is None:
        return []
    how = "counted exactly" if tokens.counting == Counting.EXACT else "estimated"
    by = f"{tokens.counted_by}, {grouped(tokens.held_tokens)} held by the session"
    return [
        f"  {grouped(tokens.used_tokens)} of {grouped(tokens.limit_tokens)} tokens, {how}",
        fit(f"    by {by}", WIDTH),
    ]


def _rule_line(rule: RuleView) -> str:
    by = (rule.user_id or "").removeprefix("discord:")
    code = f" ({rule.code})" if rule.code else ""
    return f"  {clock(rule.at)} {by:<19} {rule.kind}{code}"


def _outcome(turn: TurnView) -> str:
    outcome = turn.outcome or ("not delivered" if turn.compilation.failure else "running")
    if outcome == OutcomeKind.OVERFLOW:
        return "too long"  # the code says no more, and does not fit
    return f"{outcome} ({turn.error_code})" if turn.error_code else outcome


def _failure(compilation: CompilationView) -> list[str]:
    failure = compilation.failure
    if failure is None:
        return []
    lines = textwrap.wrap(
        f"{failure.message} [{failure.code}]",
        WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )
    if failure.source:
        lines.append(f"  source {failure.source}")
    return [*lines, *(f"  {kind:<16}{grouped(chars):>8}" for kind, chars in failure.sizes)]


def _blocks(blocks: Iterable[BlockView]) -> list[str]:
    lines = [f"  {'block':<16}{'chars':>8}  sha256    kept as"]
    for block in blocks:
        size = f"{grouped(block.chars):>8}  {short(block.sha256)}"
        lines.append(f"  {block.kind:<16}{size}  {block.cache_class}")
        lines.append(f"    {fit(block.source, WIDTH - 4)}")
    return lines


def _omissions(compilation: CompilationView) -> list[str]:
    """Tell what was left out, by block and reason; the ids are in the JSON form."""
    counts: Counter[tuple[str, str]] = Counter()
    chars: Counter[tuple[str, str]] = Counter()
    for item in compilation.omissions:
        counts[item.block, item.reason] += 1
        chars[item.block, item.reason] += item.chars
    return [
        f"  {block}: {count} {_told(reason)}, {grouped(chars[block, reason])} chars"
        for (block, reason), count in counts.items()
    ]


def _told(reason: str) -> str:
    return "shortened" if reason == OmissionReason.SHORTENED else f"left out ({reason})"


def _usage(usage: Usage) -> list[str]:
    if not usage.model_calls:
        return ["  the model was not called"]
    calls = "1 call" if usage.model_calls == 1 else f"{usage.model_calls} calls"
    read, written = grouped(usage.cache_read_tokens), grouped(usage.cache_write_tokens)
    return [
        f"  tokens: {grouped(usage.input_tokens)} in, {grouped(usage.output_tokens)} out, {calls}",
        f"  cache: {read} read, {written} written",
        f"  cost: ${usage.cost_usd:.6f}",
    ]


def _times(turn: TurnView) -> list[str]:
    """Tell how long things took, as far as the turn came."""
    times = turn.times
    if times is None:
        return []
    steps = (
        ("waited", times.wait_us),
        ("compiled in", times.compile_us),
        ("traced in", times.trace_us),
        ("first text after", times.first_text_us),
        ("all after", times.total_us),
    )
    told = ", ".join(f"{name} {duration(micros)}" for name, micros in steps if micros)
    return textwrap.wrap(told, WIDTH, initial_indent="  ", subsequent_indent="  ")
