"""Read a run's ``context.jsonl``: its events, and from an event back to what was compiled.

    SafeError
    +-- TraceDamaged    owner: the trace is missing, cannot be read, or does not verify

What is given out was checked against its hash; whether all of a trace is whole is for
``sessions.traces.proof`` to say.

Functions that take a path block; call them in a thread where a loop runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from compiler.blocks import INPUT_KINDS, SYSTEM_KINDS, BlockKind, CacheBoundary, CachePlan, Omission
from compiler.errors import SafeError
from compiler.hashing import sha256_text
from compiler.plain_json import PlainValue
from compiler.plan import ContextPlan
from compiler.templates import INPUT_SEPARATOR, SYSTEM_SEPARATOR
from sessions.traces.events import (
    CompiledEvent,
    TraceEvent,
    TraceMark,
    chain_root,
    decode_event,
    line_hash,
)
from sessions.traces.forms import TracedBlock, TracedMark
from sessions.traces.plan import account_of, plan_of
from sessions.traces.writing import receipt_of

_MAX_TRACE_BYTES: Final = 1 << 30
"""Far above any session; a larger file is not one of ours."""


class TraceReadCode(StrEnum):
    """Stable names of the failures of a reader."""

    DAMAGED = "trace_damaged"


class TraceDamaged(SafeError):
    """The trace cannot be relied upon; ``line`` counts from 1, 0 for the file as a whole."""

    def __init__(self, reason: str, *, line: int = 0) -> None:
        super().__init__(
            TraceReadCode.DAMAGED,
            f"The trace cannot be relied upon ({reason}).",
            facts={"reason": reason, "line": line},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedEvent:
    """An event with its place in the chain."""

    mark: TraceMark
    event: TraceEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedPrompts:
    """Exactly what the model received in one compilation; ``input_prompt`` is None for a start."""

    system_prompt: str
    input_prompt: str | None


def read_trace(path: Path) -> tuple[TracedEvent, ...]:
    """Read all events, oldest first; a torn last line is left out.

    Raises:
        TraceDamaged: the file or one of its whole lines cannot be read, or the chain is broken.
    """
    content = content_of(path)
    lines = content.split(b"\n")[:-1]
    events: list[TracedEvent] = []
    previous: str | None = None
    for number, line in enumerate(lines, start=1):
        try:
            event = decode_event(line)
        except ValueError as error:
            raise TraceDamaged("a line cannot be read", line=number) from error
        expected = chain_root(event.run_id) if previous is None else previous
        if event.seq != number - 1 or event.prev_sha256 != expected:
            raise TraceDamaged("the chain of lines is broken", line=number)
        previous = line_hash(line)
        events.append(TracedEvent(mark=TraceMark(seq=event.seq, sha256=previous), event=event))
    return tuple(events)


def system_of(event: CompiledEvent) -> str | None:
    """Join the system prompt from an event's blocks; None for a turn, which only extends one."""
    return _joined(event.blocks, SYSTEM_KINDS, SYSTEM_SEPARATOR)


def input_of(event: CompiledEvent) -> str | None:
    """Join the input from an event's blocks; None for a start."""
    return _joined(event.blocks, INPUT_KINDS, INPUT_SEPARATOR)


def prompts_of(events: tuple[TracedEvent, ...], event: CompiledEvent) -> TracedPrompts:
    """Give the exact prompts of one compilation, after a check against its hashes.

    Raises:
        TraceDamaged: a hash does not match, or the start that the turn extends is not there.
    """
    owner = event if event.extends is None else _extended(events, event.extends)
    system = None if owner is None else system_of(owner)
    if system is None:
        raise TraceDamaged("the start of the session is missing", line=event.seq + 1)
    text = input_of(event)
    hashes = (sha256_text(system), None if text is None else sha256_text(text))
    if hashes != (event.system_prompt_sha256, event.input_prompt_sha256):
        raise TraceDamaged("a prompt does not match its hash", line=event.seq + 1)
    return TracedPrompts(system_prompt=system, input_prompt=text)


def planned(event: CompiledEvent) -> ContextPlan | None:
    """Rebuild the plan of a compilation; None where the trace is older than plans."""
    if event.plan is None:
        return None
    omissions = (
        Omission(block=each.block, item_id=each.item_id, reason=each.reason, chars=each.chars)
        for each in event.omissions
    )
    return plan_of(event.plan, omissions)


def receipted(event: CompiledEvent) -> dict[str, PlainValue] | None:
    """Make the receipt of a compilation again; None where the trace is older than receipts."""
    plan = planned(event)
    if plan is None or not event.receipt_key:
        return None
    tokens = None if event.tokens is None else account_of(event.tokens)
    return receipt_of(plan, tokens, bytes.fromhex(event.receipt_key))


def cache_plan(event: CompiledEvent) -> CachePlan:
    """Give the cache plan that an event names."""
    return CachePlan(
        schema_version=event.cache.schema_version,
        route_key=event.cache.route_key,
        boundaries=tuple(
            CacheBoundary(
                cache_class=each.cache_class,
                after_block=each.after_block,
                prefix_chars=each.prefix_chars,
                prefix_sha256=each.prefix_sha256,
            )
            for each in event.cache.boundaries
        ),
    )


def content_of(path: Path) -> bytes:
    """Give the bytes of a file of a run.

    Raises:
        TraceDamaged: it cannot be read, or is far too large.
    """
    try:
        if path.stat().st_size > _MAX_TRACE_BYTES:
            raise TraceDamaged("the file is too large to be a trace")
        return path.read_bytes()
    except OSError as error:
        raise TraceDamaged(f"the file cannot be read: {type(error).__name__}") from error


def _extended(events: tuple[TracedEvent, ...], mark: TracedMark) -> CompiledEvent | None:
    if mark.seq >= len(events):
        return None
    traced = events[mark.seq]
    if traced.mark.sha256 != mark.sha256 or not isinstance(traced.event, CompiledEvent):
        return None
    return traced.event


def _joined(
    blocks: tuple[TracedBlock, ...], kinds: tuple[BlockKind, ...], separator: str
) -> str | None:
    texts = [block.content for block in blocks if block.kind in kinds]
    return separator.join(texts) if texts else None
