"""The things of a Discord world: people, guilds, channels, messages, commands.

They are mutable on purpose: together they are the state of a service. Ids are plain integers, as
in discord.py; times are seconds since 1970 by the playground's clock. Raw JSON of components,
embeds and command options is kept as it came, after it was checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any, TypeAlias

Payload: TypeAlias = dict[str, Any]
"""A JSON object as Discord writes it."""


class ChannelKind(IntEnum):
    """Discord's channel types, as far as the playground knows them."""

    TEXT = 0
    DM = 1
    VOICE = 2
    CATEGORY = 4
    ANNOUNCEMENT = 5
    ANNOUNCEMENT_THREAD = 10
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12
    STAGE = 13
    FORUM = 15


THREADS = frozenset(
    {ChannelKind.ANNOUNCEMENT_THREAD, ChannelKind.PUBLIC_THREAD, ChannelKind.PRIVATE_THREAD}
)


FOR_VOICES = frozenset({ChannelKind.VOICE, ChannelKind.STAGE})
"""Nobody is heard here; what people write there is a channel's like any other."""


class MessageKind(IntEnum):
    """The message types that the playground makes itself; others may be injected."""

    DEFAULT = 0
    PIN = 6
    JOIN = 7
    THREAD_CREATED = 18
    REPLY = 19
    CHAT_INPUT_COMMAND = 20
    THREAD_STARTER = 21
    CONTEXT_MENU_COMMAND = 23


class MessageFlag(IntFlag):
    """The message flags that change what is allowed or shown."""

    SUPPRESS_EMBEDS = 1 << 2
    HAS_THREAD = 1 << 5
    EPHEMERAL = 1 << 6
    LOADING = 1 << 7
    SUPPRESS_NOTIFICATIONS = 1 << 12
    VOICE_MESSAGE = 1 << 13
    HAS_SNAPSHOT = 1 << 14
    COMPONENTS_V2 = 1 << 15


@dataclass(slots=True, kw_only=True)
class User:
    """A person or a bot."""

    id: int
    username: str
    global_name: str | None = None
    bot: bool = False
    dms_closed: bool = False
    """Whether direct messages of bots are refused (50007)."""

    @property
    def display_name(self) -> str:
        """The name shown where no nickname is set."""
        return self.global_name or self.username


@dataclass(slots=True, kw_only=True)
class Role:
    """A role of one guild; the one with the guild's id is @everyone."""

    id: int
    name: str
    permissions: int = 0
    position: int = 0
    mentionable: bool = False


@dataclass(slots=True, kw_only=True)
class Member:
    """A user in a guild."""

    user_id: int
    nick: str | None = None
    roles: list[int] = field(default_factory=list)
    joined_at: float = 0.0


@dataclass(slots=True, kw_only=True)
class Guild:
    """A server, with its members and roles by id."""

    id: int
    name: str
    owner_id: int
    members: dict[int, Member] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Overwrite:
    """A channel's own permissions for a role (kind 0) or a member (kind 1)."""

    id: int
    kind: int
    allow: int = 0
    deny: int = 0


@dataclass(slots=True, kw_only=True)
class Attachment:
    """A file of a message; ``expires_at`` is when its address stops working."""

    id: int
    filename: str
    data: bytes
    content_type: str | None = None
    description: str | None = None
    ephemeral: bool = False
    expires_at: float = 0.0
    flags: int = 0
    duration_secs: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that someone is sending."""

    filename: str
    data: bytes
    content_type: str | None = None
    description: str | None = None


@dataclass(slots=True, kw_only=True)
class Message:
    """One message. ``content`` is exactly what everyone reads.

    ``mentions`` and ``mention_roles`` are ids in the order of the text; ``pinged`` are the ids of
    all users whom it notified. ``extra`` is merged into the JSON last, for forwards, polls,
    stickers, webhooks and whatever else a test needs. ``only_for`` is the only user who sees an
    ephemeral message.
    """

    id: int
    channel_id: int
    author_id: int
    content: str = ""
    type: int = MessageKind.DEFAULT
    created_at: float = 0.0
    edited_at: float | None = None
    flags: int = 0
    tts: bool = False
    pinned: bool = False
    nonce: str | None = None
    embeds: list[Payload] = field(default_factory=list)
    components: list[Payload] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    mentions: tuple[int, ...] = ()
    mention_roles: tuple[int, ...] = ()
    mention_everyone: bool = False
    pinged: tuple[int, ...] = ()
    reactions: dict[str, list[int]] = field(default_factory=dict)
    """Emoji (the character, or ``name:id``) to the ids of who reacted, in order."""
    reply_to: int | None = None
    interaction_id: int | None = None
    thread_id: int | None = None
    only_for: int | None = None
    extra: Payload = field(default_factory=dict)

    @property
    def ephemeral(self) -> bool:
        """Whether one person alone sees it."""
        return self.only_for is not None

    @property
    def loading(self) -> bool:
        """Whether it is the "thinking" line of a deferred answer."""
        return bool(self.flags & MessageFlag.LOADING)


@dataclass(slots=True, kw_only=True)
class Channel:
    """A text channel, thread, forum or DM, with its messages in order of their ids."""

    id: int
    kind: ChannelKind
    guild_id: int | None = None
    name: str = ""
    topic: str | None = None
    parent_id: int | None = None
    position: int = 0
    overwrites: dict[int, Overwrite] = field(default_factory=dict)
    recipients: tuple[int, ...] = ()
    """The two users of a DM."""
    owner_id: int | None = None
    thread_members: list[int] = field(default_factory=list)
    archived: bool = False
    locked: bool = False
    changed_at: float = 0.0
    auto_archive_minutes: int = 1440
    messages: dict[int, Message] = field(default_factory=dict)
    last_message_id: int | None = None

    @property
    def is_thread(self) -> bool:
        """Whether it is a thread of any kind."""
        return self.kind in THREADS

    @property
    def is_dm(self) -> bool:
        """Whether it is a direct conversation."""
        return self.kind is ChannelKind.DM


@dataclass(slots=True, kw_only=True)
class Command:
    """A registered application command; ``type`` 1 slash, 2 user menu, 3 message menu."""

    id: int
    name: str
    type: int = 1
    guild_id: int | None = None
    version: int = 0
    body: Payload = field(default_factory=dict)
    """Description, options, contexts and the rest, as registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, told to the bot's gateway, to waiters and to the chat page.

    ``name`` is Discord's event name, or begins with ``PLAYGROUND_`` when only people's screens
    know it (ephemeral messages, answers to interactions). ``only_for`` is the one user who may see
    it; ``to_bot`` says whether it goes out over the gateway, and ``bot_id`` names the one bot that
    hears of it (None: every bot that may).
    """

    name: str
    data: Payload
    guild_id: int | None = None
    channel_id: int | None = None
    message: Message | None = None
    interaction_id: int | None = None
    only_for: int | None = None
    to_bot: bool = True
    bot_id: int | None = None
