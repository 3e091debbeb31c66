"""The exact text that the model was given, shown only when it hashes to what the trace says. Pure.

Spec: CC "Trace and owner interface", acceptance test 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.request import ContextPhase
from sessions.review.inspection import InspectionError, InspectionErrorCode, turn_events
from sessions.traces.events import CompiledEvent, FailedEvent
from sessions.traces.reader import TracedEvent, prompts_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The exact model input of one turn; of the start alone when ``turn`` is None."""

    run_id: str
    turn: int | None
    turn_id: str | None
    system_prompt: str
    system_prompt_sha256: str
    input_prompt: str | None
    input_prompt_sha256: str | None


def exact_prompts(trace: tuple[TracedEvent, ...], turn: int | None = None) -> Prompts:
    """Give the exact prompts of a turn, of the latest compiled one if none is named.

    A run without a compiled turn gives its system prompt alone.

    Raises:
        InspectionError: no such turn, or a failed one (there was no model input).
        TraceDamaged: a text does not hash to what the trace says; then nothing is given.

    Spec: CC "``runs context`` reproduces exact model input".
    """
    turns = turn_events(trace)
    number = latest_compiled(turns) if turn is None else turn
    if number is None:
        return _prompts(trace, None, _start_event(trace))
    return _prompts(trace, number, compiled_turn(turns, number))


def all_prompts(trace: tuple[TracedEvent, ...]) -> tuple[Prompts, ...]:
    """Give the prompts of every compiled turn; of the start when there is none.

    Raises:
        InspectionError: as ``exact_prompts``.
        TraceDamaged: as ``exact_prompts``.
    """
    turns = turn_events(trace)
    compiled = [number for number, item in enumerate(turns, 1) if isinstance(item, CompiledEvent)]
    if not compiled:
        return (exact_prompts(trace),)
    return tuple(exact_prompts(trace, number) for number in compiled)


def demand_turn(number: int, turns: int) -> None:
    """Refuse a number that none of a run's turns has.

    Raises:
        InspectionError: there is no such turn.
    """
    if not 1 <= number <= turns:
        raise InspectionError(
            InspectionErrorCode.TURN_UNKNOWN, f"There is no turn {number}; this run has {turns}."
        )


def compiled_turn(turns: Sequence[CompiledEvent | FailedEvent], number: int) -> CompiledEvent:
    """Give the compilation of a turn.

    Raises:
        InspectionError: no such turn, or one whose compilation failed.
    """
    demand_turn(number, len(turns))
    event = turns[number - 1]
    if isinstance(event, FailedEvent):
        raise InspectionError(
            InspectionErrorCode.NOT_COMPILED,
            f"Turn {number} was not compiled, so nothing was given to the model.",
        )
    return event


def latest_compiled(turns: Sequence[CompiledEvent | FailedEvent]) -> int | None:
    """The number of the latest turn that was compiled."""
    numbers = [number for number, item in enumerate(turns, 1) if isinstance(item, CompiledEvent)]
    return numbers[-1] if numbers else None


def _start_event(trace: tuple[TracedEvent, ...]) -> CompiledEvent:
    for traced in trace:
        event = traced.event
        if isinstance(event, CompiledEvent) and event.phase is ContextPhase.START:
            return event
    raise InspectionError(
        InspectionErrorCode.NOT_COMPILED,
        "The session was never compiled, so nothing was given to the model.",
    )


def _prompts(trace: tuple[TracedEvent, ...], turn: int | None, event: CompiledEvent) -> Prompts:
    exact = prompts_of(trace, event)
    return Prompts(
        run_id=event.run_id,
        turn=turn,
        turn_id=event.turn_id,
        system_prompt=exact.system_prompt,
        system_prompt_sha256=event.system_prompt_sha256,
        input_prompt=exact.input_prompt,
        input_prompt_sha256=event.input_prompt_sha256,
    )
