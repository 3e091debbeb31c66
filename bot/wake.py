"""Which messages the imp answers, and which it only remembers; pure.

The order of the questions is the policy:

1. Is it a person's own text? System messages and our own are never a turn, and bots and webhooks
   only if the owner allows them by id, in an open channel, when they address the imp. The kinds
   that count are a positive list, so one that Discord invents tomorrow does not wake anybody.
2. May this person, here? Everything goes by platform ids. Owners and listed users may everywhere,
   people with a listed role in its server, and everybody in an open channel: one that the owner
   enabled, or that a list names by itself, by the channel of a thread, or by its server. Nobody
   else may, and in a channel that is not open only what is answered is kept.
3. Does it address the imp? A direct message does; so does a mention of the imp itself (never
   @everyone or a role), a reply to it, and what people say in a thread that it opened for a
   question (``threads = "auto"``); in an open channel of ``mode = "all"`` every message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from config.settings import ChannelMode

USER_TEXT_TYPES = frozenset({0, 19})
"""Discord's default message and reply: the only types that are somebody's own words to us."""


class Wake(StrEnum):
    """What to do with a message."""

    ANSWER = "answer"
    RECORD = "record"
    """Keep it in the conversation's history; no turn."""
    DECLINE = "decline"
    """It was meant for us, but may not be answered: one fixed line, no model, no history."""
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeFacts:
    """What the platform says of one message; ids are bare snowflakes."""

    message_type: int
    author_id: str
    author_role_ids: frozenset[str] = frozenset()
    is_bot: bool = False
    """The author is a bot (ourselves included), a webhook, or Discord itself."""
    is_self: bool = False
    channel_id: str
    parent_id: str | None = None
    """The channel of a thread."""
    guild_id: str | None = None
    """None in a direct message."""
    mentions_imp: bool = False
    """The imp's own mark is in the message; @everyone, @here and roles do not count."""
    replies_to_imp: bool = False
    in_private_thread: bool = False
    in_own_thread: bool = False
    """The imp opened the thread where it was said."""

    @property
    def is_addressed(self) -> bool:
        """Whether it is meant for the imp, by its place or by a mark of its own."""
        return (
            self.guild_id is None or self.mentions_imp or self.replies_to_imp or self.in_own_thread
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeRules:
    """The owner's rules for the place where the message was sent; ids are bare snowflakes."""

    owners: frozenset[str]
    users: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    guilds: frozenset[str] = frozenset()
    bots: frozenset[str] = frozenset()
    paired: frozenset[str] = frozenset()
    """Let in by an owner's click; it counts in direct messages only."""
    enabled: bool = False
    mode: ChannelMode = ChannelMode.MENTION


def decide(facts: WakeFacts, rules: WakeRules) -> Wake:
    """Decide over one message.

    Spec: the fault log's P03 (ids, not names), P10 (bots), P11 (system messages).
    """
    if facts.is_self or facts.message_type not in USER_TEXT_TYPES:
        return Wake.IGNORE
    if facts.is_bot:
        return _bots(facts, rules)
    if facts.guild_id is None:
        known = _is_known(facts, rules) or facts.author_id in rules.paired
        return Wake.ANSWER if known else Wake.DECLINE
    if _is_open(facts, rules):
        return Wake.ANSWER if facts.is_addressed or rules.mode is ChannelMode.ALL else Wake.RECORD
    may_speak = _is_known(facts, rules) or not rules.roles.isdisjoint(facts.author_role_ids)
    return Wake.ANSWER if facts.is_addressed and may_speak else Wake.IGNORE


def _bots(facts: WakeFacts, rules: WakeRules) -> Wake:
    """Decide over a message of another bot or a webhook (P10)."""
    if facts.author_id not in rules.bots or not _is_open(facts, rules):
        return Wake.IGNORE
    is_addressed = facts.mentions_imp or facts.replies_to_imp
    return Wake.ANSWER if is_addressed else Wake.RECORD


def _is_known(facts: WakeFacts, rules: WakeRules) -> bool:
    return facts.author_id in rules.owners or facts.author_id in rules.users


def _is_open(facts: WakeFacts, rules: WakeRules) -> bool:
    here = {facts.channel_id, facts.parent_id}
    return rules.enabled or not rules.channels.isdisjoint(here) or facts.guild_id in rules.guilds
