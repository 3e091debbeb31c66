"""Model calls as the owner reads them: what each held, where, and how it ended; pure.

Ids, sizes, places, hashes and codes only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.blocks import INPUT_KINDS, SYSTEM_KINDS, BlockKind
from compiler.templates import INPUT_SEPARATOR, SYSTEM_SEPARATOR
from sessions.traces.events import CompiledEvent, UnobservedEvent, WireEvent
from sessions.traces.forms import TracedPlace
from sessions.traces.reader import TracedEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBlock:
    """A compiled block in a request: the item, from 0, and the character in its text."""

    kind: str
    item: int
    at_chars: int
    chars: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """One model call. ``problems`` is empty when it held exactly what was compiled."""

    number: int
    at: str
    turn_id: str | None
    api: str
    model: str
    body_sha256: str
    body_bytes: int
    extends_former: bool | None
    blocks: tuple[HeldBlock, ...]
    tools: int
    tools_sha256: str | None
    problems: tuple[str, ...]
    end: str
    refusal: str
    status: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    is_estimate: bool
    first_byte_us: int
    total_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WireView:
    """All calls of a run. ``observed`` is False when a process asked its provider by itself."""

    calls: tuple[CallView, ...]
    observed: bool

    def of_turn(self, turn_id: str | None) -> tuple[CallView, ...]:
        """The calls of one turn; of none, for None."""
        return tuple(call for call in self.calls if call.turn_id == turn_id)


def view_wire(trace: Sequence[TracedEvent]) -> WireView:
    """Read the calls of a trace, in their order."""
    start: CompiledEvent | None = None
    turns: dict[str, CompiledEvent] = {}
    calls: list[CallView] = []
    observed = True
    for traced in trace:
        event = traced.event
        if isinstance(event, CompiledEvent):
            turns[traced.mark.sha256] = event
            if event.extends is None:  # of a run of one input, that is its only compilation
                start = event
        elif isinstance(event, UnobservedEvent):
            observed = False
        elif isinstance(event, WireEvent):
            turn = turns.get(event.turn.sha256) if event.turn else None
            calls.append(_call(event, start, turn))
    return WireView(calls=tuple(calls), observed=observed)


def _call(event: WireEvent, start: CompiledEvent | None, turn: CompiledEvent | None) -> CallView:
    usage = event.usage
    return CallView(
        number=event.number,
        at=event.ts,
        turn_id=event.turn_id,
        api=event.api,
        model=event.model,
        body_sha256=event.body_sha256,
        body_bytes=event.body_bytes,
        extends_former=event.extends_former,
        blocks=(
            *_held(event.system, start, SYSTEM_KINDS, SYSTEM_SEPARATOR),
            *_held(event.input, turn, INPUT_KINDS, INPUT_SEPARATOR),
        ),
        tools=event.tools,
        tools_sha256=event.tools_sha256,
        problems=event.problems,
        end=event.end,
        refusal=event.refusal,
        status=event.status,
        input_tokens=usage.input_tokens if usage else None,
        cached_tokens=usage.cached_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        is_estimate=usage.is_estimate if usage else False,
        first_byte_us=event.first_byte_us,
        total_us=event.total_us,
    )


def _held(
    place: TracedPlace | None,
    compiled: CompiledEvent | None,
    kinds: tuple[BlockKind, ...],
    separator: str,
) -> Iterator[HeldBlock]:
    """Say where each block of a text that was found whole stands."""
    if place is None or compiled is None:
        return
    at_chars = place.at_chars
    for block in compiled.blocks:
        if block.kind in kinds:
            yield HeldBlock(
                kind=block.kind.value,
                item=place.item,
                at_chars=at_chars,
                chars=block.chars,
                sha256=block.sha256,
            )
            at_chars += block.chars + len(separator)
