"""The proof that a trace is whole, and the start that is taken up again only after it.

``verify`` trusts nothing in the file: the chain over the lines, each block's size and hash, both
prompts joined again from their blocks, the stable prefixes and the budget's arithmetic are all
worked out anew. A trace whose end was cut off is whole in itself, so ``verify`` also takes the
last line's number and hash as they were kept elsewhere (the run's row).

Functions that take a path block; call them in a thread where a loop runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from compiler.blocks import SYSTEM_KINDS, BlockKind
from compiler.compile import CompiledSystem
from compiler.hashing import prefix_hashes, sha256_text
from compiler.plan import SYSTEM_RECORD, plan_hash
from compiler.receipt import receipt_hash
from compiler.request import ContextPhase
from compiler.templates import SYSTEM_SEPARATOR
from sessions.pictures import is_kept
from sessions.traces.events import (
    CompiledEvent,
    FailedEvent,
    ResumedEvent,
    ToldEvent,
    ToolEvent,
    TraceEvent,
    TraceMark,
    WireEvent,
    chain_root,
    decode_event,
    line_hash,
)
from sessions.traces.forms import TracedPicture
from sessions.traces.reader import (
    TraceDamaged,
    cache_plan,
    content_of,
    input_of,
    planned,
    prompts_of,
    read_trace,
    receipted,
    system_of,
)


class Flaw(StrEnum):
    """What ``verify`` can find."""

    UNREADABLE_LINE = "unreadable-line"
    BROKEN_CHAIN = "broken-chain"
    WRONG_NUMBER = "wrong-number"
    WRONG_RUN = "wrong-run"
    TORN_END = "torn-end"
    CUT_OFF = "cut-off"
    BLOCK_HASH = "block-hash"
    BLOCK_SIZE = "block-size"
    BLOCK_ORDER = "block-order"
    SYSTEM_HASH = "system-hash"
    INPUT_HASH = "input-hash"
    BOUNDARY = "boundary"
    BUDGET = "budget"
    UNKNOWN_START = "unknown-start"
    CACHE_CHANGED = "cache-changed"
    PLAN = "plan"
    RECEIPT = "receipt"
    WIRE_TURN = "wire-turn"
    WIRE_TEXT = "wire-text"
    TOOL_ARGUMENTS = "tool-arguments"
    TOOL_CALL = "tool-call"
    PICTURE = "picture"
    SYSTEM_FILE = "system-file"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceProblem:
    """One flaw. ``line`` counts from 1 (0: the file as a whole); ``detail`` holds no content."""

    line: int
    flaw: Flaw
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """The result of a verification."""

    run_id: str
    events: int
    compilations: int
    """Those that may have been delivered."""
    head: TraceMark | None
    problems: tuple[TraceProblem, ...]
    pruned_at: str = ""
    """When the trace was pruned; what is told of it then is what its row keeps."""

    @property
    def ok(self) -> bool:
        """Whether everything in the trace is as it was written."""
        return not self.problems


def rebuild_system(path: Path) -> CompiledSystem:
    """Rebuild the compiled system prompt of a run's session, to take it up again.

    Raises:
        TraceDamaged: there is no start, or it does not match its hashes.
    """
    events = read_trace(path)
    for traced in events:
        event = traced.event
        if isinstance(event, CompiledEvent) and event.phase is ContextPhase.START:
            problems = _check_content(event, None)
            if problems:
                raise TraceDamaged("the start does not match its hashes", line=problems[0].line)
            prompt = prompts_of(events, event).system_prompt
            return CompiledSystem(
                prompt=prompt,
                sha256=event.system_prompt_sha256,
                cache=cache_plan(event),
                block_hashes=tuple((block.kind, block.sha256) for block in event.blocks),
            )
    raise TraceDamaged("there is no start")


def verify(
    path: Path, *, head: TraceMark | None = None, system_file: Path | None = None
) -> VerifyReport:
    """Work out everything in a trace anew and say what does not match.

    Args:
        path: the ``context.jsonl``; its directory's name is the run id.
        system_file: the copy of the system prompt that the engine reads, if it is to be checked;
            one that is not there changes nothing, since the trace holds the text.
        head: the last line that is known to have been written; a trace may have more lines
            (written after that was kept), never fewer or another in its place.

    Raises:
        TraceDamaged: there is no file, or it cannot be read at all.
    """
    walk = _Walk(run_id=path.parent.name)
    *lines, rest = content_of(path).split(b"\n")
    for number, line in enumerate(lines, start=1):
        walk.take(number, line)
    for number, shown in walk.pictures:
        if not is_kept(path.parent, sha256=shown.sha256, media_type=shown.media_type):
            walk.note(number, Flaw.PICTURE, shown.sha256)
    if rest:
        walk.note(0, Flaw.TORN_END, f"{len(rest)} bytes")
    if head is not None and walk.marks.get(head.seq) != head.sha256:
        walk.note(0, Flaw.CUT_OFF, f"line {head.seq + 1} is not the one that was written")
    if system_file is not None and system_file.is_file():
        walk.check_system(hashlib.sha256(content_of(system_file)).hexdigest())
    last = len(walk.marks) - 1
    return VerifyReport(
        run_id=walk.run_id,
        events=len(lines),
        compilations=walk.compilations,
        head=TraceMark(seq=last, sha256=walk.marks[last]) if lines else None,
        problems=tuple(walk.problems),
    )


class _Walk:
    """One pass over the lines, and what was found."""

    def __init__(self, *, run_id: str) -> None:
        self.run_id = run_id
        self.marks: dict[int, str] = {}
        self.problems: list[TraceProblem] = []
        self.compilations = 0
        self.pictures: list[tuple[int, TracedPicture]] = []
        self._starts: dict[str, CompiledEvent] = {}
        self._system_sha256 = ""
        self._inputs: dict[str, CompiledEvent] = {}
        self._calls: dict[str, ToolEvent] = {}
        self._previous = chain_root(run_id)

    def note(self, line: int, flaw: Flaw, detail: str = "") -> None:
        self.problems.append(TraceProblem(line=line, flaw=flaw, detail=detail))

    def take(self, number: int, line: bytes) -> None:
        own_hash = line_hash(line)
        try:
            event = decode_event(line)
        except ValueError:
            self.note(number, Flaw.UNREADABLE_LINE)
        else:
            self._check_place(number, event)
            self._check_event(number, event, own_hash)
        self.marks[number - 1] = self._previous = own_hash

    def check_system(self, sha256: str) -> None:
        """Check the file that the engine was given against the start."""
        if self._system_sha256 and sha256 != self._system_sha256:
            self.note(0, Flaw.SYSTEM_FILE)

    def _check_place(self, number: int, event: TraceEvent) -> None:
        if event.prev_sha256 != self._previous:
            self.note(number, Flaw.BROKEN_CHAIN)
        if event.seq != number - 1:
            self.note(number, Flaw.WRONG_NUMBER, f"{event.seq}")
        if event.run_id != self.run_id:
            self.note(number, Flaw.WRONG_RUN)

    def _check_event(self, number: int, event: TraceEvent, own_hash: str) -> None:
        if isinstance(event, WireEvent):
            self._check_wire(number, event)
        self._check_tools(number, event, own_hash)
        if not isinstance(event, CompiledEvent | FailedEvent | ResumedEvent):
            return
        start = self._start_of(number, event)
        if isinstance(event, ResumedEvent):
            if start is not None and event.system_prompt_sha256 != start.system_prompt_sha256:
                self.note(number, Flaw.SYSTEM_HASH)
        elif isinstance(event, CompiledEvent):
            self.compilations += 1
            self.pictures += [(number, each) for each in event.pictures]
            self.problems += _check_content(event, start, line=number)
            self._inputs[own_hash] = event
            if event.extends is None:
                self._starts[own_hash] = event
                self._system_sha256 = event.system_prompt_sha256

    def _check_tools(self, number: int, event: TraceEvent, own_hash: str) -> None:
        """Check that a call's words are those of its hash, and that what was told is of a call."""
        if isinstance(event, ToolEvent):
            self._calls[own_hash] = event
            if sha256_text(event.arguments) != event.arguments_sha256:
                self.note(number, Flaw.TOOL_ARGUMENTS)
        elif isinstance(event, ToldEvent):
            call = self._calls.get(event.call.sha256)
            if call is None or (call.seq, call.turn_id) != (event.call.seq, event.turn_id):
                self.note(number, Flaw.TOOL_CALL)

    def _check_wire(self, number: int, event: WireEvent) -> None:
        """Check that a model call is of a turn of this trace, and names that turn's texts."""
        compiled = None if event.turn is None else self._inputs.get(event.turn.sha256)
        if event.turn is not None and (compiled is None or compiled.turn_id != event.turn_id):
            self.note(number, Flaw.WIRE_TURN)
        wanted = compiled.input_prompt_sha256 if compiled else None
        if event.input is not None and event.input.sha256 != wanted:
            self.note(number, Flaw.WIRE_TEXT, "input")
        if event.system is not None and event.system.sha256 != self._system_sha256:
            self.note(number, Flaw.WIRE_TEXT, "system")

    def _start_of(
        self, number: int, event: CompiledEvent | FailedEvent | ResumedEvent
    ) -> CompiledEvent | None:
        if event.extends is None:
            return None
        start = self._starts.get(event.extends.sha256)
        if start is None or start.seq != event.extends.seq:
            self.note(number, Flaw.UNKNOWN_START)
            return None
        return start


def _check_content(
    event: CompiledEvent, start: CompiledEvent | None, *, line: int | None = None
) -> list[TraceProblem]:
    """Check everything that a compilation says of itself."""
    number = event.seq + 1 if line is None else line
    flaws = [*_check_blocks(event), *_check_prompts(event, start), *_check_plan(event)]
    return [TraceProblem(line=number, flaw=flaw, detail=detail) for flaw, detail in flaws]


def _check_blocks(event: CompiledEvent) -> Iterator[tuple[Flaw, str]]:
    for block in event.blocks:
        if sha256_text(block.content) != block.sha256:
            yield Flaw.BLOCK_HASH, block.kind
        if len(block.content) != block.chars:
            yield Flaw.BLOCK_SIZE, block.kind
    order = [tuple(BlockKind).index(block.kind) for block in event.blocks]
    if order != sorted(set(order)):
        yield Flaw.BLOCK_ORDER, ""


def _check_prompts(event: CompiledEvent, start: CompiledEvent | None) -> Iterator[tuple[Flaw, str]]:
    text = input_of(event)
    if (None if text is None else sha256_text(text)) != event.input_prompt_sha256:
        yield Flaw.INPUT_HASH, ""
    owner = event if event.extends is None else start
    if owner is None:
        return  # a turn whose start is unknown: noted already
    system = system_of(owner)
    if system is None or sha256_text(system) != event.system_prompt_sha256:
        yield Flaw.SYSTEM_HASH, ""
        return
    yield from _check_boundaries(event, owner, system)
    if event.cache != owner.cache:
        yield Flaw.CACHE_CHANGED, ""
    budget = event.budget
    used_chars = len(system) + len(text or "")
    if (budget.used_chars, budget.used_chars + budget.remaining_chars) != (
        used_chars,
        budget.limit_chars,
    ):
        yield Flaw.BUDGET, f"{used_chars} characters"


def _check_plan(event: CompiledEvent) -> Iterator[tuple[Flaw, str]]:
    """Check that plan, blocks and omissions say the same, and that the receipt is of them."""
    plan = planned(event)
    if plan is None:
        return
    if plan_hash(plan) != plan.canonical_plan_hash:
        yield Flaw.PLAN, "hash"
    of_plan = [row.record_hash for row in plan.blocks if row.record_id != SYSTEM_RECORD]
    if of_plan != [block.sha256 for block in event.blocks]:
        yield Flaw.PLAN, "blocks"
    receipt = receipted(event)
    if receipt is None or receipt_hash(receipt) != event.receipt_sha256:
        yield Flaw.RECEIPT, ""


def _check_boundaries(
    event: CompiledEvent, owner: CompiledEvent, system: str
) -> Iterator[tuple[Flaw, str]]:
    """Check each boundary: the end of its block, and the hash of all bytes up to there."""
    ends: dict[BlockKind, int] = {}
    end = -len(SYSTEM_SEPARATOR)
    for block in owner.blocks:
        if block.kind in SYSTEM_KINDS:
            end += len(SYSTEM_SEPARATOR) + len(block.content)
            ends[block.kind] = end
    boundaries = event.cache.boundaries
    places = [boundary.prefix_chars for boundary in boundaries]
    if places != sorted(places) or [ends.get(each.after_block) for each in boundaries] != places:
        yield Flaw.BOUNDARY, "place"
        return
    for boundary, sha256 in zip(boundaries, prefix_hashes(system, places), strict=True):
        if boundary.prefix_sha256 != sha256:
            yield Flaw.BOUNDARY, boundary.cache_class
