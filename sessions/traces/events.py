"""The lines of ``context.jsonl``: their one form, for writing and for reading.

Field names of a compilation are CC's ("Trace and owner interface"). Added are the chain
(``seq``, ``prev_sha256``), ``event``, what a turn extends, omissions with their reasons, and two
times. Each line is one JSON object in ASCII: content is exact, and no reader can take a character
of it for a line end.

``compiled``   a start or a turn, with every block in full; written before pi sees a byte of it
``failed``     a compilation that failed: what failed and the sizes known by then
``resumed``    a new process took up the session with the same system prompt
``wire``       one model call: what left for the provider, and whether it was what was compiled
``unobserved`` a process whose model calls nobody saw but the engine
``tool``       one call of a tool: what was asked and what the host said, before anything is done
``told``       what the model was told of a call: how big it was, and its hash
``unlisted``   how many calls of a turn have no line of their own
``outcome``    how a turn ended
``ended``      the session is over
``gap``        a torn last line was found at opening and set aside
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from compiler.hashing import sha256_fields
from compiler.request import ContextPhase, RunSurface
from compiler.templates import SCHEMA_VERSION
from sessions.inbound import OutcomeKind
from sessions.traces.forms import (
    Count,
    Form,
    Sha256,
    TracedBlock,
    TracedBudget,
    TracedCache,
    TracedError,
    TracedMark,
    TracedMessage,
    TracedOmission,
    TracedPicture,
    TracedPlace,
    TracedScope,
    TracedSize,
    TracedUsage,
    TracedWireUsage,
)
from sessions.traces.plan import TracedPlan, TracedStartup, TracedTokens


class _Line(Form):
    """What every line has. ``seq`` and ``prev_sha256`` are set by the writer."""

    schema_version: int = SCHEMA_VERSION
    seq: Count = 0
    prev_sha256: str = ""
    ts: str
    run_id: str


class _Compilation(_Line):
    """What the two ends of a compilation share."""

    phase: ContextPhase
    turn_id: str | None
    surface: RunSurface
    imp: str
    scope: TracedScope
    extends: TracedMark | None
    """The start of the session that a turn belongs to; None for a start or a task."""
    compile_us: Count
    waited_us: Count
    """From the message's arrival to the beginning of its compilation."""
    steers: TracedMark | None = None
    """Of a further input of a running turn: the turn's first one, which it follows."""


class CompiledEvent(_Compilation):
    """A compilation that may be delivered. A turn holds the blocks of its input only."""

    event: Literal["compiled"] = "compiled"
    budget: TracedBudget
    blocks: tuple[TracedBlock, ...]
    omissions: tuple[TracedOmission, ...]
    cache: TracedCache
    system_prompt_sha256: Sha256
    input_prompt_sha256: Sha256 | None
    plan: TracedPlan | None = None
    tokens: TracedTokens | None = None
    """None where nobody counts tokens."""
    startup: TracedStartup | None = None
    """Of a session's first turn."""
    revisions_sha256: tuple[Sha256, ...] = ()
    """Of a message edited while it waited: its texts from the first to the one compiled."""
    pictures: tuple[TracedPicture, ...] = ()
    """What was shown with the input, in order."""
    joined: tuple[TracedMessage, ...] = ()
    """Of a burst: all the messages whose words are in this input."""
    passed: tuple[str, ...] = ()
    """Earlier messages that wait on, where senders alternate (``order = "fair"``)."""
    receipt_key: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    """Opens the commitments of the receipt that can be made of this event."""
    receipt_sha256: str = ""
    status: Literal["compiled"] = "compiled"


class FailedEvent(_Compilation):
    """A compilation that must not be delivered."""

    event: Literal["failed"] = "failed"
    error: TracedError
    sizes: tuple[TracedSize, ...]
    status: Literal["failed"] = "failed"


class ResumedEvent(_Line):
    """A new process continues the session of ``extends``."""

    event: Literal["resumed"] = "resumed"
    extends: TracedMark
    system_prompt_sha256: Sha256
    kept_answers: Count
    """Answers of the model that were in the engine's session when it was taken up."""


class WireEvent(_Line):
    """One model call, in the order in which they were made.

    ``turn`` is the line of the compilation that it carries out. ``extends_former`` is None for the
    first call of a process. ``prefix_*`` is the body up to the end of its last item: what the next
    call must begin with. ``*_us`` count from the whole request's arrival in the host.
    """

    event: Literal["wire"] = "wire"
    turn_id: str | None
    turn: TracedMark | None
    number: Count
    api: str
    model: str
    body_sha256: Sha256
    body_bytes: Count
    items: Count
    kept_items: Count
    extends_former: bool | None
    difference_at: Count | None
    prefix_bytes: Count
    prefix_sha256: Sha256 | None
    tools: Count
    tools_sha256: Sha256 | None
    system: TracedPlace | None
    input: TracedPlace | None
    problems: tuple[str, ...]
    end: str
    refusal: str
    status: Count
    response_bytes: Count
    usage: TracedWireUsage | None
    first_byte_us: Count
    total_us: Count


class ToolEvent(_Line):
    """One tool call, written when it was judged and before anything is done about it.

    ``arguments`` are the model's own words, exactly what was judged. ``rule`` counts the grants
    from 0, None where none had a say. What the model was told has a line of its own (``told``);
    older traces have it here, where ``failed`` is None for a call that the model heard nothing of.
    """

    event: Literal["tool"] = "tool"
    turn_id: str
    tool: str
    call_id: str
    builtin: bool
    """Whether the engine carries it out itself, on the host's word."""
    arguments: str
    arguments_sha256: Sha256
    verdict: str
    rule: Count | None
    gate_id: str | None
    judged_us: Count
    failed: bool | None = None
    result_chars: Count = 0
    result_sha256: Sha256 | None = None


class ToldEvent(_Line):
    """What the model was told of a call, whose line is ``call``; the last one of a call counts.

    What the host says itself (the answer of its own tools, a refusal) is written before the engine
    has it, and what the engine's own tools give as soon as it says so. The text is not here: it is
    in the input of the next model call.
    """

    event: Literal["told"] = "told"
    turn_id: str
    call: TracedMark
    failed: bool
    result_chars: Count
    result_sha256: Sha256


class UnlistedEvent(_Line):
    """Calls of a turn without a line of their own: none of them was carried out.

    They were too many, at once or in one turn, were cut off before they were judged, or their line
    could not be written. Written once, when the turn is over, so that a flood of calls is no flood
    of lines.
    """

    event: Literal["unlisted"] = "unlisted"
    turn_id: str
    calls: Annotated[int, Field(ge=1)]


class UnobservedEvent(_Line):
    """A process that asks its provider directly: its model calls are not in this trace."""

    event: Literal["unobserved"] = "unobserved"
    provider: str


class OutcomeEvent(_Line):
    """How a turn ended. The reply itself is not here: its hash is."""

    event: Literal["outcome"] = "outcome"
    turn_id: str
    outcome: OutcomeKind
    error_code: str
    reply_sha256: Sha256 | None
    exit_code: int | None
    """Of the engine, if it died in the turn; negative for a signal."""
    steered: tuple[str, ...] = ()
    """Messages whose inputs steered the turn; one that was traced and is not here was not taken up,
    and has a turn of its own."""
    usage: TracedUsage


class EndedEvent(_Line):
    """The session is over."""

    event: Literal["ended"] = "ended"
    reason: str


class GapEvent(_Line):
    """Bytes without a whole line stood at the end of the file; they are in ``file`` now."""

    event: Literal["gap"] = "gap"
    file: str
    torn_bytes: Count
    torn_sha256: Sha256


TraceEvent: TypeAlias = (
    CompiledEvent
    | FailedEvent
    | ResumedEvent
    | WireEvent
    | ToolEvent
    | ToldEvent
    | UnlistedEvent
    | UnobservedEvent
    | OutcomeEvent
    | EndedEvent
    | GapEvent
)
_ANY: Final[TypeAdapter[TraceEvent]] = TypeAdapter(
    Annotated[TraceEvent, Field(discriminator="event")]
)
_HEAD_ORDER: Final = ("schema_version", "event", "seq", "prev_sha256", "ts", "run_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceMark:
    """A line of a trace: its number from 0 and its hash, which covers all lines before it."""

    seq: int
    sha256: str


def chain_root(run_id: str) -> str:
    """Give what the first line of a run's trace names as its predecessor."""
    return sha256_fields("inglenook-trace-run-v1", (run_id,))


def line_hash(line: bytes) -> str:
    """Hash one line, without its LF, for the next line to name."""
    return sha256_fields("inglenook-trace-line-v1", (line,))


def encode_event(event: TraceEvent) -> bytes:
    """Write an event as its line, without LF."""
    fields = event.model_dump(by_alias=True)
    ordered = {name: fields.pop(name) for name in _HEAD_ORDER} | fields
    return json.dumps(ordered, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def decode_event(line: bytes) -> TraceEvent:
    """Read one line.

    Raises:
        ValueError: the line has another form (pydantic's ``ValidationError`` is one).
    """
    return _ANY.validate_json(line)
