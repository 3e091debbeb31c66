"""A Discord message as our own values; past this file nothing of Discord's library goes inward.

Scope comes from the platform's ids and nothing else: neither a name nor a text can choose a
channel, a user or a role (CC "Security invariants", P03). The text stays exactly as it was
written; what else a message carries (a quote, a forward, files) becomes typed parts, each with
whose words it holds (P12), and raw marks such as ``<@5>`` get their meaning beside the text (P18).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import discord

from bot.shown import FORWARDED_NOTHING, Words, component_texts, describe_wordless, embed_text
from bot.tiers import role_ids
from bot.wake import WakeFacts
from compiler.request import (
    ChannelId,
    GuildId,
    HistoryMessage,
    ImpName,
    MessageId,
    MessageInput,
    MessagePart,
    PartKind,
    Place,
    Role,
    RunScope,
    TurnId,
    UserId,
)
from sessions.inbound import InboundMessage, SeenMessage

PROVIDER = "discord"
NAME_CHARS = 80
"""Longest name or file name kept; Discord's own names have at most 100 characters."""
QUOTE_CHARS = 4000
"""Longest quoted or forwarded text: Discord's longest message, so normally all of it."""
EMBED_CHARS = 1000
"""Kept of each embed: ten of them must not crowd out the message itself."""
MAX_MENTIONS = 50
"""Marks explained; a message of 2000 characters made of marks holds more than anybody reads."""

_MARK = re.compile(
    r"<@!?(?P<user>\d{1,20})>|<@&(?P<role>\d{1,20})>|<#(?P<channel>\d{1,20})>"
    r"|<a?:(?P<emoji>\w{1,32}):\d{1,20}>|<t:(?P<time>-?\d{1,13})(?::\w)?>"
)


def prefixed(snowflake: int) -> str:
    """Write a Discord id in the form of the specs, ``discord:123``."""
    return f"{PROVIDER}:{snowflake}"


def snowflake(prefixed_id: str) -> int:
    """Read Discord's number out of an id in the form of the specs.

    Raises:
        ValueError: the id is not one of Discord's.
    """
    return int(prefixed_id.rpartition(":")[2])


def one_line(name: str, *, limit_chars: int = NAME_CHARS) -> str:
    """Make a name fit for a label: one line, no invisible or direction marks, not endless."""
    visible = "".join(
        " " if unicodedata.category(character) in {"Cc", "Zl", "Zp", "Zs"} else character
        for character in name
        if unicodedata.category(character) not in {"Cf", "Cs"}
    )
    return " ".join(visible.split())[:limit_chars]


def facts(message: discord.Message, *, me: int) -> WakeFacts:
    """Read what decides over waking; ``me`` is the bot's own user id."""
    author = message.author
    guild_id = guild_id_of(message)
    return WakeFacts(
        message_type=int(message.type.value),
        author_id=str(author.id),
        author_role_ids=role_ids(author),
        is_bot=author.bot or author.system or message.webhook_id is not None,
        is_self=author.id == me,
        channel_id=str(message.channel.id),
        parent_id=None if (parent := parent_id_of(message)) is None else str(parent),
        guild_id=None if guild_id is None else str(guild_id),
        mentions_imp=any(user.id == me for user in _mentioned(message)),
        replies_to_imp=_replies_to(message, me),
        in_private_thread=is_private_thread(message.channel),
        in_own_thread=isinstance(message.channel, discord.Thread)
        and message.channel.owner_id == me,
    )


def guild_id_of(message: discord.Message) -> int | None:
    """Give the server's id; None in a direct message only.

    A message of a server that is not in the cache must not pass for a direct one, so the kind of
    channel decides, and 0 stands for a server without a known id.
    """
    if isinstance(message.channel, discord.DMChannel):
        return None
    if message.guild is not None:
        return message.guild.id
    return getattr(message.channel, "guild_id", None) or 0


def parent_id_of(message: discord.Message) -> int | None:
    """Give the channel of a thread."""
    return message.channel.parent_id if isinstance(message.channel, discord.Thread) else None


def is_private_thread(channel: object) -> bool:
    """Tell whether fewer than read its channel can read a place."""
    return getattr(channel, "type", None) is discord.ChannelType.private_thread


def scope(message: discord.Message, *, role: Role) -> RunScope:
    """Record where a message was said and by whom, from platform ids only."""
    return replace(
        place_scope(
            message.channel.id,
            guild_id=guild_id_of(message),
            parent_id=parent_id_of(message),
            is_private=is_private_thread(message.channel),
            user_id=message.author.id,
            role=role,
        ),
        message_id=MessageId(prefixed(message.id)),
    )


def place_scope(
    channel_id: int,
    *,
    guild_id: int | None,
    parent_id: int | None,
    is_private: bool,
    user_id: int,
    role: Role,
) -> RunScope:
    """Record a place and a person before any message; of threads some are ``is_private``."""
    place = Place.GROUP
    if guild_id is None:
        place = Place.DM
    elif parent_id is not None:
        place = Place.PRIVATE_THREAD if is_private else Place.THREAD
    return RunScope(
        provider=PROVIDER,
        place=place,
        channel_id=ChannelId(prefixed(channel_id)),
        parent_channel_id=None if parent_id is None else ChannelId(prefixed(parent_id)),
        guild_id=None if guild_id is None else GuildId(prefixed(guild_id)),
        user_id=UserId(prefixed(user_id)),
        role=role,
    )


def inbound(
    message: discord.Message, *, imp: str, role: Role, me: int, received_ns: int
) -> InboundMessage:
    """Translate a message that the imp is to answer.

    ``received_ns`` is ``time.monotonic_ns`` at the arrival of the event.
    """
    parts = read_parts(message)
    return InboundMessage(
        imp=ImpName(imp),
        scope=scope(message, role=role),
        message=MessageInput(
            provider=PROVIDER,
            author_label=one_line(message.author.display_name),
            role=role,
            text=message.content,
            message_id=MessageId(prefixed(message.id)),
            author_id=UserId(prefixed(message.author.id)),
            parts=parts,
            mentions=_mentions(message, parts, me=me),
        ),
        turn_id=TurnId(f"{PROVIDER}:message:{message.id}"),
        received_ns=received_ns,
    )


def of_nobody(inbound: InboundMessage) -> InboundMessage:
    """Take a message's words for nobody's: who spoke is not certain."""
    return replace(
        inbound,
        scope=replace(inbound.scope, user_id=None, role=Role.MEMBER),
        message=replace(inbound.message, author_id=None, role=Role.MEMBER),
    )


def of_person(inbound: InboundMessage, user_id: int, role: Role) -> InboundMessage:
    """Take a message's words for a person's, under the name that it came with."""
    person = UserId(prefixed(user_id))
    return replace(
        inbound,
        scope=replace(inbound.scope, user_id=person, role=role),
        message=replace(inbound.message, author_id=person, role=role),
    )


def seen(message: discord.Message, *, role: Role, me: int) -> SeenMessage:
    """Translate any message for the stored history of its conversation."""
    return SeenMessage(
        scope=scope(message, role=role),
        entry=HistoryMessage(
            message_id=MessageId(prefixed(message.id)),
            author_label=one_line(message.author.display_name),
            text=history_text(message),
            author_id=UserId(prefixed(message.author.id)),
            is_imp=message.author.id == me,
        ),
    )


def history_text(message: discord.Message) -> str:
    """Give a message's own words, or, without any, a line for each thing that it carries."""
    return message.content or "\n".join(
        f"({part.kind.value}: {one_line(part.name)} {part.text})".replace(":  ", ": ")
        for part in read_parts(message)
        if part.kind is not PartKind.QUOTE
    )


def is_blank(message: MessageInput) -> bool:
    """Tell whether somebody says nothing: what he answers to is another's."""
    return not message.text and all(part.kind is PartKind.QUOTE for part in message.parts)


def read_parts(message: discord.Message) -> tuple[MessagePart, ...]:
    """Describe what a message carries besides its text, in a fixed order."""
    found = tuple(_carried(message))
    if message.content or any(part.kind is not PartKind.QUOTE for part in found):
        return found
    line = describe_wordless(message)
    return (*found, MessagePart(kind=PartKind.EMBED, text=line[:EMBED_CHARS])) if line else found


def _carried(message: discord.Message) -> Iterator[MessagePart]:
    replied = _replied(message)
    if message.type is discord.MessageType.reply and isinstance(replied, discord.Message):
        yield _quote(replied)
    for snapshot in message.message_snapshots:
        things = tuple(_things(snapshot))
        words = snapshot.content or ("" if things else FORWARDED_NOTHING)
        if words:
            yield _words(PartKind.FORWARD, words, limit_chars=QUOTE_CHARS)
        yield from things
    yield from _things(message)
    if message.poll is not None:
        options = "".join(f"\n- {_option(answer)}" for answer in message.poll.answers)
        yield _words(PartKind.POLL, f"{message.poll.question}{options}", limit_chars=EMBED_CHARS)


def _things(words: Words) -> Iterator[MessagePart]:
    for attachment in words.attachments:
        yield _attachment(attachment)
    for sticker in words.stickers:
        yield MessagePart(kind=PartKind.STICKER, text=one_line(sticker.name))
    for embed in words.embeds:
        if text := embed_text(embed):
            yield _words(PartKind.EMBED, text, limit_chars=EMBED_CHARS)
    for text in component_texts(getattr(words, "components", ())):
        yield _words(PartKind.COMPONENT, text, limit_chars=EMBED_CHARS)


def _option(answer: discord.PollAnswer) -> str:
    shown = (answer.emoji, answer.text)
    return " ".join(str(each) for each in shown if each)


def _quote(replied: discord.Message) -> MessagePart:
    part = _words(PartKind.QUOTE, history_text(replied), limit_chars=QUOTE_CHARS)
    return MessagePart(
        kind=part.kind,
        text=part.text,
        author_label=one_line(replied.author.display_name),
        author_id=UserId(prefixed(replied.author.id)),
        total_chars=part.total_chars,
        sha256=part.sha256,
    )


def _words(kind: PartKind, text: str, *, limit_chars: int) -> MessagePart:
    if len(text) <= limit_chars:
        return MessagePart(kind=kind, text=text)
    whole = text.encode("utf-8", "surrogatepass")
    return MessagePart(
        kind=kind,
        text=text[:limit_chars],
        total_chars=len(text),
        sha256=hashlib.sha256(whole).hexdigest(),
    )


def _attachment(attachment: discord.Attachment) -> MessagePart:
    """Describe a file in one line: what it is and how large; never its bytes or its address."""
    told = [one_line(attachment.content_type or "unknown type"), _size(attachment.size)]
    if attachment.is_voice_message():
        told = ["voice message", f"{attachment.duration or 0:.0f} s", _size(attachment.size)]
    if attachment.width and attachment.height:
        told.append(f"{attachment.width}x{attachment.height}")
    if attachment.description:
        told.append(f"described as: {attachment.description[:EMBED_CHARS]}")
    return MessagePart(
        kind=PartKind.ATTACHMENT, text=", ".join(told), name=file_name(attachment.filename)
    )


def file_name(name: str) -> str:
    """Give a file's name as a label: no folders, no direction marks, one line."""
    return one_line(name.replace("\\", "/").rsplit("/", 1)[-1]) or "file"


def _size(count_bytes: int) -> str:
    if count_bytes < 1000:  # noqa: PLR2004  (bytes in a kilobyte, as Discord counts them)
        return f"{count_bytes} bytes"
    return (
        f"{count_bytes / 1000:.0f} kB" if count_bytes < 10**6 else f"{count_bytes / 10**6:.1f} MB"
    )


def _mentions(
    message: discord.Message, parts: tuple[MessagePart, ...], *, me: int
) -> tuple[tuple[str, str], ...]:
    """Explain the raw marks of the text and of the quoted texts, each once, in order."""
    users = {user.id: user.display_name for user in _mentioned(message)}
    explained: dict[str, str] = {}
    for text in (message.content, *(part.text for part in parts)):
        for mark in _MARK.finditer(text):
            if len(explained) < MAX_MENTIONS and mark.group() not in explained:
                explained[mark.group()] = _meaning(mark, message, users, me=me)
    return tuple(explained.items())


def _meaning(
    mark: re.Match[str], message: discord.Message, users: dict[int, str], *, me: int
) -> str:
    kind, value = mark.lastgroup, mark.group(mark.lastgroup or 0)
    if kind == "emoji":
        return f":{value}:"
    number = int(value)
    if kind == "time":
        return _date(number)
    if kind == "user":
        name = users.get(number)
        if number == me:
            return f"{one_line(name or '') or 'the imp'} (you)"
        return f"{'unknown' if name is None else one_line(name)} (user {number})"
    return _place_name(kind, number, message.guild)


def _place_name(kind: str | None, number: int, guild: discord.Guild | None) -> str:
    if kind == "role":
        role = guild and guild.get_role(number)
        return f"{'unknown' if role is None else '@' + one_line(role.name)} (role {number})"
    channel = guild and guild.get_channel_or_thread(number)
    return f"{'unknown' if channel is None else '#' + one_line(channel.name)} (channel {number})"


def _date(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, OSError, ValueError):
        return "a time out of range"


def _mentioned(message: discord.Message) -> Iterable[discord.abc.User]:
    """Give the people mentioned; the library leaves the attribute out when the payload does."""
    return getattr(message, "mentions", ())


def _replies_to(message: discord.Message, user_id: int) -> bool:
    if message.type is not discord.MessageType.reply:
        return False
    replied = _replied(message)
    return isinstance(replied, discord.Message) and replied.author.id == user_id


def _replied(message: discord.Message) -> object:
    """Give the message replied to; Discord may leave it out, then it may be among the latest."""
    reference = message.reference
    return None if reference is None else reference.resolved or reference.cached_message
