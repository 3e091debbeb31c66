"""How much of what the model read came from the provider's cache, and where the cache broke; pure.

**Hit share**: cached tokens in the provider's figures, of all tokens of the prompts.

**Expected share**: a call that extends the one before it, byte for byte, with everything else that
a cache depends on unchanged, could be served from the cache up to where that one ended: so many
tokens as the provider counted then. Where the bytes depart earlier, the share of bytes before that
is expected; where model or tools changed, nothing is. That is TR's rule, the longest common prefix
only while all other identities are equal, with the provider's own count in place of its tokenizer.
A first call of a session expects nothing: what another session left in a cache is a gift.

**Breaks**: each place where the cache must begin anew, with its cause; and each where the provider
had less than half of what was expected.

Calls without figures, and those that did not end well, are counted but expect and prove nothing.

Spec: TR "Cache identity", CC acceptance test 17, issue "The wire".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from compiler.blocks import SYSTEM_KINDS, BlockKind
from sessions.traces.events import (
    CompiledEvent,
    EndedEvent,
    ResumedEvent,
    TraceEvent,
    UnobservedEvent,
    WireEvent,
)
from sessions.traces.reader import TracedEvent, system_of
from sessions.wire.record import ANSWERED


class BreakCause(StrEnum):
    """Why a cache had to begin anew."""

    IDENTITY = "identity edit"
    PURPOSE = "purpose edit"
    POLICY = "policy change"
    """Another release of the host says other things to the model."""
    SCOPE = "scope change"
    MODEL = "model change"
    TOOLS = "tool set"
    COMPACTION = "compaction"
    """The engine put something shorter in the place of what was said."""
    REWRITTEN = "rewritten"
    """The engine sent other bytes for what was said."""
    RESTART = "restart"
    """A new process took the session up, and the cache was gone by then."""
    NEW_SESSION = "new session"
    """Nothing changed; the session before it had ended."""
    PROVIDER = "provider"
    """Nothing changed, and the provider had it no longer."""


_BLOCK_CAUSES: Final = MappingProxyType(
    {
        BlockKind.IDENTITY: BreakCause.IDENTITY,
        BlockKind.RUNTIME_POLICY: BreakCause.POLICY,
        BlockKind.PURPOSE: BreakCause.PURPOSE,
        BlockKind.RUNTIME_SCOPE: BreakCause.SCOPE,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBreak:
    """One break. ``at_byte`` counts in the block where one is named, else in the request.

    It is None where no byte differs. ``lost_tokens`` were expected and not had; 0 for a new
    session, which expects nothing. ``detail`` is a code: how the session before it ended, say.
    """

    run_id: str
    turn_id: str | None
    at: str
    cause: BreakCause
    block: str
    at_byte: int | None
    lost_tokens: int
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFigures:
    """Tokens of calls, as the provider counted them; ``calls`` are those with figures."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    expected_tokens: int = 0

    @property
    def hit_share(self) -> float | None:
        """Cached of all; None without a call."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else None

    @property
    def expected_share(self) -> float | None:
        """Expected of all; None without a call."""
        return self.expected_tokens / self.input_tokens if self.input_tokens else None

    def __add__(self, other: CacheFigures) -> CacheFigures:
        """Add up."""
        return CacheFigures(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            expected_tokens=self.expected_tokens + other.expected_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCache:
    """The measured calls of one turn."""

    turn_id: str | None
    figures: CacheFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCache:
    """One session. ``unmeasured`` calls have no figures; ``observed`` is False without a wire."""

    run_id: str
    imp: str
    channel_id: str | None
    began_at: str
    figures: CacheFigures
    unmeasured: int
    observed: bool
    breaks: tuple[CacheBreak, ...]
    turns: tuple[TurnCache, ...] = ()
    """Those with measured calls, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpCache:
    """All sessions of one imp."""

    imp: str
    sessions: int
    figures: CacheFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheReport:
    """Sessions in the order of their beginning, imps by name."""

    sessions: tuple[SessionCache, ...]
    imps: tuple[ImpCache, ...]

    def only(self, run_id: str) -> CacheReport:
        """Leave all but one session out."""
        kept = tuple(each for each in self.sessions if each.run_id == run_id)
        return CacheReport(sessions=kept, imps=_by_imp(kept))

    @property
    def breaks(self) -> tuple[CacheBreak, ...]:
        """All breaks, in the order of the sessions."""
        return tuple(item for session in self.sessions for item in session.breaks)


def report_cache(traces: Iterable[Sequence[TracedEvent]]) -> CacheReport:
    """Work out the report of some runs, given in any order; a run without a start is left out."""
    runs = [_Run([traced.event for traced in trace]) for trace in traces]
    begun = sorted((run for run in runs if run.start is not None), key=lambda run: run.run_id)
    former: dict[tuple[str, str | None, str], _Run] = {}
    sessions: list[SessionCache] = []
    for run in begun:
        sessions.append(run.session(former.get(run.conversation)))
        former[run.conversation] = run
    return CacheReport(sessions=tuple(sessions), imps=_by_imp(sessions))


def _by_imp(sessions: Iterable[SessionCache]) -> tuple[ImpCache, ...]:
    found: dict[str, ImpCache] = {}
    for session in sessions:
        so_far = found.get(session.imp, ImpCache(imp=session.imp, sessions=0, figures=_NONE))
        found[session.imp] = ImpCache(
            imp=session.imp,
            sessions=so_far.sessions + 1,
            figures=so_far.figures + session.figures,
        )
    return tuple(found[imp] for imp in sorted(found))


_NONE: Final = CacheFigures()


class _Run:
    """One run's events, as far as caching is concerned."""

    def __init__(self, events: Sequence[TraceEvent]) -> None:
        self.start = next(
            (
                event
                for event in events
                if isinstance(event, CompiledEvent) and event.extends is None
            ),
            None,
        )
        self.run_id = self.start.run_id if self.start else ""
        self._events = events
        self.calls = [event for event in events if isinstance(event, WireEvent)]
        self.ended = next((e.reason for e in events if isinstance(e, EndedEvent)), "")

    @property
    def conversation(self) -> tuple[str, str | None, str]:
        """An imp in a channel, and how it is spoken to there."""
        if self.start is None:
            return "", None, ""
        return self.start.imp, self.start.scope.channel_id, self.start.surface.value

    def session(self, former: _Run | None) -> SessionCache:
        """Work out the session's figures and breaks; ``former`` is the conversation's last."""
        if self.start is None:
            raise ValueError("a run without a start is no session")
        breaks = [] if former is None else [_break_between(former, self)]
        figures, within, turns = self._followed()
        return SessionCache(
            run_id=self.run_id,
            imp=self.start.imp,
            channel_id=self.start.scope.channel_id,
            began_at=self.start.ts,
            figures=figures,
            unmeasured=len(self.calls) - figures.calls,
            observed=not any(isinstance(event, UnobservedEvent) for event in self._events),
            breaks=(*breaks, *within),
            turns=turns,
        )

    def _followed(self) -> tuple[CacheFigures, list[CacheBreak], tuple[TurnCache, ...]]:
        """Follow the calls from one to the next."""
        total, breaks = _NONE, []
        turns: dict[str | None, CacheFigures] = {}
        for event, former, expected, resumed in _measured_calls(self._events):
            figures = _figures(event, expected)
            total += figures
            turns[event.turn_id] = turns.get(event.turn_id, _NONE) + figures
            if former is not None:
                found = _break_within(former, event, expected, resumed=resumed)
                breaks += [] if found is None else [found]
        taken = (TurnCache(turn_id=turn, figures=figures) for turn, figures in turns.items())
        return total, breaks, tuple(taken)


def call_figures(trace: Iterable[TracedEvent]) -> dict[tuple[str, int], CacheFigures]:
    """Give the figures of each measured call of a run, by its time and number."""
    events = [traced.event for traced in trace]
    return {
        (event.ts, event.number): _figures(event, expected)
        for event, _, expected, _ in _measured_calls(events)
    }


def _measured_calls(
    events: Iterable[TraceEvent],
) -> Iterator[tuple[WireEvent, WireEvent | None, int, bool]]:
    """Follow the calls: each, the one before it, what is expected of it, and if after a restart."""
    former: WireEvent | None = None
    resumed = False
    for event in events:
        if isinstance(event, ResumedEvent):
            resumed = True
        if not isinstance(event, WireEvent) or not _is_measured(event):
            continue
        expected = 0 if former is None else _expected_tokens(former, event)
        yield event, former, expected, resumed
        former, resumed = event, False


def _is_measured(event: WireEvent) -> bool:
    usage = event.usage
    return event.status in ANSWERED and usage is not None and not usage.is_estimate


def _figures(event: WireEvent, expected: int) -> CacheFigures:
    usage = event.usage
    if usage is None:
        return _NONE
    return CacheFigures(
        calls=1,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        expected_tokens=min(expected, usage.input_tokens),
    )


def _same_identity(former: WireEvent, event: WireEvent) -> bool:
    """TR "Cache identity", as far as it shows at the wire: the rest is the provider's own."""
    return (former.api, former.model, former.tools_sha256) == (
        event.api,
        event.model,
        event.tools_sha256,
    )


def _expected_tokens(former: WireEvent, event: WireEvent) -> int:
    usage = former.usage
    if usage is None or not _same_identity(former, event):
        return 0
    if event.extends_former is False:
        shared = min(event.difference_at or 0, former.prefix_bytes)
        return usage.input_tokens * shared // max(1, former.prefix_bytes)
    return usage.input_tokens


def _break_within(
    former: WireEvent, event: WireEvent, expected: int, *, resumed: bool
) -> CacheBreak | None:
    """Name the break between two calls of a session, if there is one."""
    could_be = former.usage.input_tokens if former.usage else 0
    cached = event.usage.cached_tokens if event.usage else 0
    cause: BreakCause | None = None
    if event.model != former.model or event.api != former.api:
        cause = BreakCause.MODEL
    elif event.tools_sha256 != former.tools_sha256:
        cause = BreakCause.TOOLS
    elif event.extends_former is False:
        shorter = event.items < former.items
        cause = BreakCause.COMPACTION if shorter else BreakCause.REWRITTEN
    elif 2 * cached < expected:
        cause = BreakCause.RESTART if resumed else BreakCause.PROVIDER
    if cause is None:
        return None
    return CacheBreak(
        run_id=event.run_id,
        turn_id=event.turn_id,
        at=event.ts,
        cause=cause,
        block="",
        at_byte=event.difference_at,
        lost_tokens=max(0, could_be - cached),
    )


def _break_between(former: _Run, run: _Run) -> CacheBreak:
    """Say why a conversation's next session could not go on with the cache of the one before."""
    cause, block, at_byte = _difference(former, run)
    return CacheBreak(
        run_id=run.run_id,
        turn_id=run.calls[0].turn_id if run.calls else None,
        at=run.start.ts if run.start else "",
        cause=cause,
        block=block,
        at_byte=at_byte,
        lost_tokens=0,
        detail=former.ended,
    )


def _difference(former: _Run, run: _Run) -> tuple[BreakCause, str, int | None]:
    if former.start is None or run.start is None:
        return BreakCause.NEW_SESSION, "", None
    earlier = {block.kind: block.content for block in former.start.blocks}
    later = {block.kind: block.content for block in run.start.blocks}
    if system_of(former.start) != system_of(run.start):
        kind = next(kind for kind in SYSTEM_KINDS if earlier.get(kind) != later.get(kind))
        cause = _BLOCK_CAUSES.get(kind, BreakCause.POLICY)
        return cause, kind.value, _first_byte(earlier.get(kind, ""), later.get(kind, ""))
    if former.calls and run.calls:
        last, first = former.calls[-1], run.calls[0]
        if (last.api, last.model) != (first.api, first.model):
            return BreakCause.MODEL, "", None
        if last.tools_sha256 != first.tools_sha256:
            return BreakCause.TOOLS, "", None
    return BreakCause.NEW_SESSION, "", None


def _first_byte(one: str, other: str) -> int:
    """Find the first byte of UTF-8 that differs."""
    former, latter = one.encode(), other.encode()
    pairs = enumerate(zip(former, latter, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(former), len(latter)))
