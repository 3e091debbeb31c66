"""Where somebody acts and what the place lets them do, for messages and commands alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import discord

from bot import ingress
from bot.errors import Refused
from bot.permissions import is_owner
from bot.tiers import role_ids, role_of
from bot.wake import Wake, WakeFacts, WakeRules, decide
from compiler.request import ImpName, Role, RunScope
from config.load import LiveConfig
from config.settings import ChannelSettings, Settings

NOT_A_CONVERSATION = "I have no conversation with you here."


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A person in a conversation, by the platform's ids."""

    scope: RunScope
    here: ChannelSettings

    @property
    def imp(self) -> ImpName:
        """The imp that answers here."""
        return ImpName(self.here.imp)


def rules_of(settings: Settings, here: ChannelSettings, *, paired: Iterable[str] = ()) -> WakeRules:
    """Gather the owner's rules for one channel."""
    allow = settings.allow
    return WakeRules(
        owners=frozenset(settings.discord.owners),
        users=frozenset(allow.users),
        roles=frozenset(allow.roles),
        channels=frozenset(allow.channels),
        guilds=frozenset(allow.guilds),
        bots=frozenset(allow.bots),
        paired=frozenset(paired),
        enabled=here.enabled,
        mode=here.mode,
    )


def place_facts(
    channel_id: int,
    channel: object,
    *,
    guild_id: int | None,
    user_id: int,
    user: discord.abc.User | None,
) -> WakeFacts:
    """Describe a message to the imp that nobody sent yet; ``channel`` is what is known of it."""
    parent_id = channel.parent_id if isinstance(channel, discord.Thread) else None
    return WakeFacts(
        message_type=0,
        author_id=str(user_id),
        author_role_ids=role_ids(user),
        channel_id=str(channel_id),
        parent_id=None if parent_id is None else str(parent_id),
        in_private_thread=ingress.is_private_thread(channel),
        guild_id=None if guild_id is None else str(guild_id),
        mentions_imp=True,
    )


def role_in(user: discord.abc.User, settings: Settings) -> Role:
    """Give the tier of a person by the owner's lists."""
    allow = settings.allow
    return role_of(user, owners=settings.discord.owners, users=allow.users, roles=allow.roles)


def role_now(user_id: int, member: discord.Member | None, settings: Settings) -> Role:
    """Give the tier of a person of whom only the id is known for certain.

    Without the member, as in a direct message or when he left, nothing else counts.
    """
    if member is not None:
        return role_in(member, settings)
    if is_owner(user_id, settings):
        return Role.OWNER
    return Role.TRUSTED if str(user_id) in settings.allow.users else Role.MEMBER


def may_set_rules(role: Role, here: ChannelSettings, *, is_dm: bool) -> bool:
    """Tell whether a place trusts a person with its house rules.

    In a direct message whoever may write there is trusted; in a channel those of a higher tier
    than its members, and everybody where the owner trusts the channel.
    """
    return is_dm or here.trusted or role is not Role.MEMBER


def standing_of(interaction: discord.Interaction, live: LiveConfig) -> Standing:
    """Say where a command is given and by whom.

    Raises:
        Refused: a message of this person would not be answered here, so nothing here is theirs.
    """
    settings, user, channel_id = live.current, interaction.user, interaction.channel_id
    if channel_id is None:
        raise Refused(NOT_A_CONVERSATION)
    facts = place_facts(
        channel_id,
        interaction.channel,
        guild_id=interaction.guild_id,
        user_id=user.id,
        user=user,
    )
    here = live.channel(facts.channel_id, facts.parent_id, is_dm=facts.guild_id is None)
    paired: Iterable[str] = getattr(interaction.client, "paired", ())
    if decide(facts, rules_of(settings, here, paired=paired)) is not Wake.ANSWER:
        raise Refused(NOT_A_CONVERSATION)
    scope = ingress.place_scope(
        channel_id,
        guild_id=interaction.guild_id,
        parent_id=None if facts.parent_id is None else int(facts.parent_id),
        is_private=facts.in_private_thread,
        user_id=user.id,
        role=role_in(user, settings),
    )
    return Standing(scope=scope, here=here)
