"""What a caller hands to the compiler: identifiers, current content, sources already read.

Callers never pass rendered blocks (CC "Inputs"). Scope comes from the host's own record of the
run, so nothing in a text can select an imp, a channel, a user or a namespace
(CC "Security invariants").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

RunId = NewType("RunId", str)
TurnId = NewType("TurnId", str)
ImpName = NewType("ImpName", str)
ChannelId = NewType("ChannelId", str)
"""Provider-prefixed, ``discord:123``; a thread has an id of its own."""
UserId = NewType("UserId", str)
GuildId = NewType("GuildId", str)
MessageId = NewType("MessageId", str)


class ContextPhase(StrEnum):
    """CC "Inputs": a session compiles once at its start, then once for every turn."""

    START = "start"
    TURN = "turn"


class RunSurface(StrEnum):
    """Where the input comes from."""

    DIRECT = "direct"
    TASK = "queued-task"
    DISCORD_SESSION = "discord-session"


class Role(StrEnum):
    """The host's tier of the acting person, recomputed from platform ids for every turn."""

    OWNER = "owner"
    ADMIN = "admin"
    TRUSTED = "trusted"
    MEMBER = "member"
    SYSTEM = "system"


class Place(StrEnum):
    """Who can read the reply."""

    DM = "dm"
    GROUP = "group"
    THREAD = "thread"
    PRIVATE_THREAD = "private-thread"
    """Fewer than read its channel."""
    NONE = "none"

    @property
    def is_thread(self) -> bool:
        """Whether it belongs to a channel."""
        return self in (Place.THREAD, Place.PRIVATE_THREAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScope:
    """The trusted record of where a run happens and for whom (CC ``RunContext``).

    ``channel_id`` is the conversation; for a thread ``parent_channel_id`` is the channel whose
    purpose it shares and, unless it is private, whose memory. All ids come from the platform,
    never from text.
    """

    provider: str
    place: Place
    channel_id: ChannelId | None = None
    parent_channel_id: ChannelId | None = None
    guild_id: GuildId | None = None
    user_id: UserId | None = None
    message_id: MessageId | None = None
    role: Role = Role.MEMBER

    @property
    def is_dm(self) -> bool:
        """Whether the conversation is a direct message."""
        return self.place is Place.DM

    @property
    def home_channel_id(self) -> ChannelId | None:
        """The channel whose purpose applies: the parent, for a thread."""
        return self.parent_channel_id or self.channel_id

    @property
    def circle_channel_id(self) -> ChannelId | None:
        """The channel whose notes and consents apply: the parent, for a thread.

        A private thread is a circle of its own: what is kept there is not for all of its channel.
        """
        is_private = self.place is Place.PRIVATE_THREAD
        return self.channel_id if is_private else self.home_channel_id


class PartKind(StrEnum):
    """What a message carries besides its own text."""

    QUOTE = "quote"
    FORWARD = "forward"
    ATTACHMENT = "attachment"
    """A file, described in one line."""
    FILE = "file-text"
    """The words in an attached text file."""
    IMAGE = "image"
    """A picture that goes with the input; ``text`` says what it is, ``sha256`` which bytes."""
    STICKER = "sticker"
    POLL = "poll"
    EMBED = "embed"
    COMPONENT = "component"
    STARTER = "starter"
    OWN_NOTES = "own-notes"
    """What the imp itself noted of an earlier part of the same message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePart:
    """A typed part of a message, marked with whose words it holds.

    ``text`` is exact or the kept beginning; ``total_chars`` and ``sha256`` are set when only a
    beginning was kept, and ``sha256`` for a picture. ``author_label`` is empty where nobody is
    known.
    """

    kind: PartKind
    text: str
    author_label: str = ""
    author_id: UserId | None = None
    name: str = ""
    total_chars: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedGate:
    """The decision on a proposed action that caused a continuation."""

    gate_id: str
    intent: str
    outcome: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInput:
    """A task prompt and where it came from; the text is content, whatever its origin."""

    origin: str
    text: str
    task_id: str | None = None
    continuation: ResolvedGate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkMark:
    """Says that a message is a part of a longer one (``chunks``); the host's words, never text.

    ``binding`` ties the part to its original. The last input of such a message has no text of its
    own (``index`` equals ``count``): it asks for the answer, with the notes on all parts.
    """

    index: int
    count: int
    start: int
    end: int
    original_chars: int
    original_sha256: str
    binding: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageInput:
    """One inbound message; ``text`` is exact, all that the host adds is in other fields."""

    provider: str
    author_label: str
    role: Role
    text: str
    message_id: MessageId | None = None
    author_id: UserId | None = None
    parts: tuple[MessagePart, ...] = ()
    mentions: tuple[tuple[str, str], ...] = ()
    """Pairs of the raw mark in ``text`` and what it stands for, ``("<@5>", "Bo (user 5)")``."""
    chunk: ChunkMark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """One compilation asked for. Exactly one of task and message in a turn, neither in a start."""

    run_id: RunId
    phase: ContextPhase
    surface: RunSurface
    imp: ImpName
    scope: RunScope
    task: TaskInput | None = None
    message: MessageInput | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSource:
    """A text file of the owner's, with the path that the trace names (relative to the home)."""

    source: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableSource:
    """A source that exists, or must exist, but could not be read; its compilation fails."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A service connected for the imp (WS "Connections"); generated from live config."""

    name: str
    hosts: tuple[str, ...]
    methods: tuple[str, ...]
    env: str = ""
    usage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNote:
    """One selected note, ranked by its place in the tuple; advisory."""

    note_id: str
    scope: str
    text: str
    status: str = "inferred"
    recorded_on: str = ""
    """Date of the source record, ``2026-11-29``; part of an explicit record, so it may show."""
    conflict: str = ""
    """A conflict code and the ids of the notes that say otherwise, where no rule decides."""
    reads_like_instructions: bool = False
    """What ``embedded`` says of the text; found once, when the note is indexed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedNote:
    """A candidate that selection itself left out, with its reason code and no text."""

    note_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteConflict:
    """Claims that cannot all hold (``lifecycle.Conflict``): a code and ids, never text.

    ``kept`` is the one that a rule chose; empty where all are shown and the conflict disclosed.
    """

    code: str
    note_ids: tuple[str, ...]
    kept: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySelection:
    """What the selector offers (best first) and what it left out."""

    notes: tuple[MemoryNote, ...] = ()
    excluded: tuple[ExcludedNote, ...] = ()
    limit_chars: int | None = None
    """The selector's own limit; the effective one is the smaller of it and the elastic rest."""
    conflicts: tuple[NoteConflict, ...] = ()
    index_id: str = ""
    """The index that was asked, empty for none, and its revision; see ``plan.ContextPlan``."""
    index_revision: str = ""
    stale_index: bool = False
    """Whether a part of the index had no answer, so that only the rest of it ranked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGate:
    """A gate of this scope that awaits a decision."""

    gate_id: str
    filed_at: str
    intent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """Trusted operational facts; order is given by the compiler, not by the caller."""

    continuation: ResolvedGate | None = None
    open_gates: tuple[OpenGate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryMessage:
    """One earlier message of the conversation, as it was seen."""

    message_id: MessageId
    author_label: str
    text: str
    author_id: UserId | None = None
    is_imp: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseRules:
    """The conversation's directive state (DG 5), order of policies without meaning."""

    premise: str | None = None
    policies: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineIdentity:
    """What stands behind the route key: CC "Prompt-cache contract".

    ``tools`` are name and schema hash in the order given to the model.
    """

    engine: str
    engine_version: str
    model: str
    preamble: str
    tools: tuple[tuple[str, str], ...] = ()
    traffic_shard: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSnapshot:
    """Every source of one compilation, read by the host at one moment.

    ``identity`` is None only for an imp without a directory (``adhoc``).
    """

    engine: EngineIdentity
    identity: TextSource | UnreadableSource | None = None
    connections: tuple[Connection, ...] = ()
    purpose: TextSource | UnreadableSource | None = None
    memory: MemorySelection = field(default_factory=MemorySelection)
    briefing: Briefing = field(default_factory=Briefing)
    history: tuple[HistoryMessage, ...] = ()
    """Oldest first; only for the first turn of a fresh session (WS "Warm sessions")."""
    house_rules: HouseRules = field(default_factory=HouseRules)
    replaced_plan: str = ""
    """Hash of the plan of the same turn that was outdated before anything of it was sent."""
