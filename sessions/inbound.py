"""The values exchanged with the edge: a message in, an outcome out.

Both are plain; nothing of Discord's library is in them (style: translate once at the border).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from compiler.request import (
    HistoryMessage,
    HouseRules,
    ImpName,
    MessageId,
    MessageInput,
    ResolvedGate,
    RunId,
    RunScope,
    RunSurface,
    TaskInput,
    TurnId,
)
from sessions.pictures import Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedMessage:
    """One of the messages that make up one turn, by its ids and the hashes of its texts."""

    turn_id: TurnId
    """The turn that it would have had alone."""
    message_id: MessageId | None
    texts_sha256: tuple[str, ...]
    """As it came, and each edit of it while it waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage:
    """One message that the imp is to answer.

    ``history`` is called only by a fresh session's first turn: the edge's snapshot is taken from
    the store, so it is not part of this value. ``received_ns`` is ``time.monotonic_ns`` at the
    arrival of the event, for the benchmark and the waiting time in the trace.
    """

    imp: ImpName
    scope: RunScope
    message: MessageInput
    turn_id: TurnId
    received_ns: int
    house_rules: HouseRules = field(default_factory=HouseRules)
    """The conversation's rules when the message arrived, itself included: what was said before a
    rule is answered without it, however long it waits."""
    revisions_sha256: tuple[str, ...] = ()
    """Of a message that was edited while it waited: its texts from the first to this one."""
    pictures: tuple[Picture, ...] = ()
    """What the model is shown with it; ``message`` has a part for each, in the same order."""
    continuation: ResolvedGate | None = None
    """The end of a gate that causes the turn; ``message`` then holds the host's own words."""
    joined: tuple[JoinedMessage, ...] = ()
    """Of a burst: all its messages, this one last; ``message`` has the words of all."""
    passed: tuple[MessageId, ...] = ()
    """Earlier messages that wait on, because their senders were served before."""
    workspace_stays: bool = True
    """Whether what is done in its workspace is still there when the run is over."""
    task: TaskInput | None = None
    """What a run of one input is given in place of ``message``, which then only holds its text."""

    surface: RunSurface = RunSurface.DISCORD_SESSION


class OutcomeKind(StrEnum):
    """The ways in which a turn ends; every accepted message gets exactly one."""

    REPLIED = "replied"
    SILENT = "silent"
    """The model ended well with no visible text."""
    FAILED = "failed"
    """pi or the provider failed, the compilation failed, or the trace could not be written."""
    CUT_OFF = "cut-off"
    """A deadline passed, pi died, or the host is shutting down."""
    OVERFLOW = "overflow"
    """The message is too long to be read at once; see ``TurnOutcome.overflow``."""
    REJECTED = "rejected"
    """Not accepted at all: the inbox is full or the host is closing."""
    CLARIFIED = "clarified"
    """A house rule was asked back or refused in fixed words; no model was called."""
    UPDATED = "updated"
    """A house rule was taken, and the message goes no further; no model was called."""


WELL_ENDED: Final = frozenset({OutcomeKind.REPLIED, OutcomeKind.SILENT})
"""The imp said what it wanted to say, or nothing on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Provider figures of one turn, summed over its model calls; costs in US dollars."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    model_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """How much too long a message is. ``unit`` is ``characters`` or ``tokens``."""

    unit: str
    size: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """How one turn ended.

    ``text`` is the model's whole answer (REPLIED), or the exact words about a house rule
    (CLARIFIED, UPDATED). ``safe_message`` is one sentence fit for the channel (all other kinds);
    ``error_code`` is stable. ``run_id`` is None only when no run was begun.
    """

    kind: OutcomeKind
    run_id: RunId | None
    turn_id: TurnId
    text: str = ""
    safe_message: str = ""
    error_code: str = ""
    cut_short: bool = False
    """The model reached its output limit: ``text`` is the beginning of an answer."""
    overflow: Overflow | None = None
    """Set with OVERFLOW alone."""
    usage: Usage = field(default_factory=Usage)
    said: int = 0
    """Messages that the turn has posted before its end; with some, REPLIED may have no text."""
    chose_silence: bool = False
    """SILENT by the model's own choice, so that nothing at all is posted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMessage:
    """A message of a conversation as it was seen, for the stored history."""

    scope: RunScope
    entry: HistoryMessage
