"""Settings that the sessions obey, validated by ``config`` straight into these classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """Bounds of the turn machine (``org.toml [sessions]``); times in seconds, monotonic."""

    idle_seconds: float = 300.0
    start_seconds: float = 20.0
    turn_seconds: float = 300.0
    abort_seconds: float = 10.0
    command_seconds: float = 10.0
    """Longest wait for pi's answer to a question about its state."""
    drain_seconds: float = 20.0
    shutdown_seconds: float = 5.0
    store_seconds: float = 10.0
    """Longest wait for the database, another process's lock included."""
    max_warm: int = 16
    inbox_size: int = 20
    rollover_percent: int = 80
    """A session whose context fills more of the window than this ends after its turn."""
    summaries: bool = False
    """Whether an idle session is summed up by its model before it ends."""


EMBEDDED: Final = "embedded"
"""The provider that is the model which comes along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The model behind pi (``org.toml [engine]``).

    ``url`` empty means a provider that pi knows by name. ``key_env`` names the environment
    variable of the host that holds the key; the key itself is never in a file.
    ``preamble``: "inglenook" replaces pi's own preamble, "pi" keeps it.
    """

    provider: str = EMBEDDED
    model: str = "smollm2-135m"
    url: str = ""
    api: str = "openai-completions"
    key_env: str = ""
    unobserved: bool = False
    """Whether a provider that the host cannot follow may be asked by pi itself: nothing is proven
    at the wire, nothing refused before it leaves, and pi runs in no box."""
    context_window: int = 8192
    max_tokens: int = 512
    thinking: str = "off"
    preamble: str = "inglenook"
    images: bool = False
    """Whether the model takes pictures."""
    traffic_shard: str = ""
    tokenizer: str = "auto"
    """Who counts tokens: "o200k_base", "cl100k_base", "llama" (a llama.cpp server at ``url``),
    "estimate", or "auto" for whichever of them knows the model."""
    token_margin: int = 64
    """Tokens of the window that stay free for what the provider adds to each message."""
    cost_input: float = 0.0
    cost_output: float = 0.0
    cost_cache_read: float = 0.0
    cost_cache_write: float = 0.0
    retries: int = 2
    """How often pi repeats a model call that failed in a way that may pass."""
    retry_base_seconds: float = 1.0
    """Pause before the first repetition; each further one waits twice as long."""
    http_idle_seconds: float = 120.0
    """Longest silence of the provider; a small local model may read a long prompt for a minute."""
    connect_seconds: float = 15.0
    """Longest wait for a connection to the provider."""
    request_seconds: float = 600.0
    """Longest duration of one model call, its answer included."""
    max_request_bytes: int = 32 * 1024 * 1024
    """A larger model call is refused before it leaves."""
    on_mismatch: str = "alarm"
    """What follows when a model call does not hold what was compiled: "alarm" tells the owner,
    "stop" also keeps the call back and ends the session."""

    @property
    def is_embedded(self) -> bool:
        """Whether the model that comes along is chosen, rather than an address or a provider."""
        return self.provider == EMBEDDED and not self.url


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLimits:
    """What may be spent in a day (``org.toml [limits]``); 0 sets no limit.

    Tokens are the provider's figures: the whole prompt, cached or not, and the answer. Money is in
    US dollars, by the prices of ``[engine]`` or of pi's own table. A model call that begins below
    a limit is made and may end above it; the next one is refused.
    """

    user_tokens: int = 0
    user_usd: float = 0.0
    channel_tokens: int = 0
    channel_usd: float = 0.0
    imp_tokens: int = 0
    imp_usd: float = 0.0
    total_tokens: int = 0
    """Of the whole installation."""
    total_usd: float = 0.0
    timezone: str = "UTC"
    """Where the day begins at midnight: a name such as "Europe/Paris"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """What the imp may remember (``org.toml [memory]``)."""

    enabled: bool = True
    semantic: str = "off"
    """Ranking by meaning beside words: "off", or "local" of ``sessions.memory.semantic``."""
    semantic_seconds: float = 1.0
    """Longest wait of a turn for that model; without its answer words alone rank."""
    note_max_chars: int = 2_000
    max_active: int = 200
    """Notes of one scope (a person, a channel, the imp) that stand or wait at once, and as many
    summaries beside them."""
    selected_notes: int = 32
    """Notes that selection offers to a turn at most; the budget may admit fewer."""
    changes_per_minute: int = 20
    """Of one person, his own and the model's on his behalf together."""
    tool_seconds: float = 10.0
    """Longest wait of the model for the answer of a memory tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUpSettings:
    """What is read again after a time without a connection (``org.toml [catch_up]``)."""

    enabled: bool = True
    max_age_seconds: float = 86_400.0
    """Older messages are not answered any more; the owner is told where there were some."""
    max_messages: int = 200
    """Of one channel, the latest of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkSettings:
    """How conversations are held (``org.toml [talk]``)."""

    sender_waiting: int = 5
    """Messages of one person that may wait in one conversation."""
    busy: str = "queue"
    """What a further message of the same person does to his running turn: "queue" waits for its
    end, "steer" goes into it, "interrupt" cuts it off."""
    order: str = "arrival"
    """Whose turn is next: "arrival" is the oldest message's, "fair" lets the senders alternate."""
    debounce_seconds: float = 0.0
    """A person's messages in a row, each within this time of the one before, become one turn."""
    debounce_groups: bool = False
    """Whether also outside of direct messages."""
    stream: bool = False
    """Whether an answer is shown while it is written, in a message that is edited."""
    stop_button_seconds: float = 15.0
    """A turn that runs longer than this gets a message with a Stop button; 0: none does."""
    on_stop: str = "drop"
    """What happens to waiting messages when somebody says stop: "drop" or "keep"."""
    bot_turns: int = 3
    """Turns of allowed bots and webhooks in one channel within ``bot_window_seconds``."""
    bot_window_seconds: float = 600.0
    max_parts: int = 4
    """A longer answer becomes a file: more messages in a row bury the channel and meet the rate
    limit of five in five seconds."""
    tables: str = "file"
    """Where an answer with a table goes: "file" beside its beginning, or "text" as any other."""
    ping_asker: bool = False
    """Whether an answer notifies the person whom it answers; nobody else is ever notified."""
    reply_messages: int = 4
    """Further messages of one turn, beside its answer."""
    reply_files: int = 4
    """Files of one of them."""
    reply_file_bytes: int = 8_000_000
    """Of these together; Discord takes ten million."""
    pairing: bool = False
    """Whether a stranger in a direct message gets a code by which an owner may let him in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """Which attached files are read (``org.toml [files]``); others are described in a line."""

    max_count: int = 5
    """Of one message."""
    max_bytes: int = 1_000_000
    """Of one file."""
    max_chars: int = 200_000
    """Kept of the text of all files of one message. What is too long for one turn is not cut to
    fit it but read in parts, if its author wants that."""
    seconds: float = 10.0
    """Longest wait for all files of a message."""
    images: bool = True
    """Whether pictures are shown to a model that takes them (``[engine] images``)."""
    max_image_bytes: int = 8_000_000
    """Of one picture as it was attached; a larger one is described in a line."""
    max_image_side: int = 1568
    """Pixels of the longer side; a larger picture is made smaller before the model sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """Who decides on what the imp proposes, and how they are asked (``org.toml [gates]``)."""

    expiry_hours: float = 24.0
    """A gate that nobody decided within this time is over."""
    admins_decide: bool = False
    """Whether administrators of a server decide on what was asked there."""
    owners_decide_their_own: bool = True
    """Whether an owner may approve what he asked for himself."""
    card_in_channel: bool = False
    """Whether the question stands in the channel as well, without what it is about in detail."""
    earned_after: int = 0
    """Approvals of the same tool in the same conversation, without a denial, after which the host
    approves by itself; 0: never."""
    earned_window_days: float = 30.0
    """How far back approvals count."""
