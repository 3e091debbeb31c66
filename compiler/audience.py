"""Who may know a record: one pure rule, over ids that the host trusts.

A record may enter a turn only when everyone who can read the reply may know it. The audience
of a turn is its conversation, not the person who asks: in a group even the person's own
private notes stay out, unless the owner's ``shared_context`` policy *and* the person's own
consent allow them in that channel.

Spec: CC "Memory" rules, "Security invariants"; TR "Retrieval eligibility".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from compiler.request import ChannelId, GuildId, ImpName, Place, RunScope, UserId


class MemoryScope(StrEnum):
    """To whom a record belongs; decided by the host when it is written."""

    IMP = "imp"
    """Everywhere this imp speaks; only an owner writes it."""
    CHANNEL = "channel"
    """One channel of one guild, its threads included."""
    USER = "user"
    """One person, in direct messages."""


class Exclusion(StrEnum):
    """The one reason for which a candidate is left out."""

    SCOPE = "scope"
    AUDIENCE = "audience"
    CONSENT = "consent"
    TOMBSTONED = "tombstoned"
    RETRACTED = "retracted"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    DUPLICATE = "duplicate"
    RANK = "rank"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The trusted ids under which a record was written."""

    imp: ImpName
    scope: MemoryScope
    guild_id: GuildId | None = None
    channel_id: ChannelId | None = None
    """The home channel: a thread's parent, never the thread."""
    user_id: UserId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who can read the reply of a turn.

    ``shares_private`` is the owner's policy and the person's consent together, both for this
    very channel; it means nothing in a direct message.
    """

    imp: ImpName
    place: Place
    guild_id: GuildId | None = None
    channel_id: ChannelId | None = None
    user_id: UserId | None = None
    shares_private: bool = False


def audience_of(
    imp: ImpName, scope: RunScope, *, shared_context: bool = False, consented: bool = False
) -> Audience:
    """Derive a turn's audience from the host's own record of it; no text is looked at."""
    return Audience(
        imp=imp,
        place=scope.place,
        guild_id=scope.guild_id,
        channel_id=scope.circle_channel_id,
        user_id=scope.user_id,
        shares_private=shared_context and consented,
    )


def readable_bindings(audience: Audience) -> tuple[Binding, ...]:
    """Name every binding whose records the turn may read, broadest first.

    The store looks records up by these and by nothing else, so that records of other people,
    channels and guilds are never even candidates: no count, list or time can betray them.
    """
    imp_wide = Binding(imp=audience.imp, scope=MemoryScope.IMP)
    channel = Binding(
        imp=audience.imp,
        scope=MemoryScope.CHANNEL,
        guild_id=audience.guild_id,
        channel_id=audience.channel_id,
    )
    person = Binding(imp=audience.imp, scope=MemoryScope.USER, user_id=audience.user_id)
    offered = (imp_wide, channel, person)
    return tuple(binding for binding in offered if may_know(binding, audience) is None)


def may_know(binding: Binding, audience: Audience) -> Exclusion | None:
    """Decide whether an audience may know what was written under a binding.

    None means yes. ``SCOPE``: it belongs elsewhere or to someone else. ``AUDIENCE``: it is the
    acting person's own, and others can read the reply.
    """
    if binding.imp != audience.imp:
        return Exclusion.SCOPE
    match binding.scope:
        case MemoryScope.IMP:
            return None
        case MemoryScope.CHANNEL:
            return _channel_rule(binding, audience)
        case MemoryScope.USER:
            return _user_rule(binding, audience)
        case _:
            assert_never(binding.scope)


def _channel_rule(binding: Binding, audience: Audience) -> Exclusion | None:
    same = (
        binding.channel_id is not None
        and binding.channel_id == audience.channel_id
        and binding.guild_id == audience.guild_id
    )
    return None if same else Exclusion.SCOPE


def _user_rule(binding: Binding, audience: Audience) -> Exclusion | None:
    if binding.user_id is None or binding.user_id != audience.user_id:
        return Exclusion.SCOPE
    match audience.place:
        case Place.DM:
            return None
        case Place.GROUP | Place.THREAD | Place.PRIVATE_THREAD:
            return None if audience.shares_private else Exclusion.AUDIENCE
        case Place.NONE:
            return Exclusion.AUDIENCE
        case _:
            assert_never(audience.place)
