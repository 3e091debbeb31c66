"""What a place lets people do, by the owner's lists and its own settings."""

from __future__ import annotations

import pytest

from bot.place import may_set_rules, place_facts, role_now, rules_of
from bot.wake import Wake, WakeRules, decide
from compiler.request import Role
from config.settings import (
    AllowSettings,
    ChannelMode,
    ChannelSettings,
    DiscordSettings,
    Settings,
)


def here(*, trusted: bool) -> ChannelSettings:
    return ChannelSettings(enabled=True, mode=ChannelMode.MENTION, trusted=trusted, imp="ember")


@pytest.mark.parametrize(
    ("role", "trusted", "is_dm", "may"),
    [
        (Role.OWNER, False, False, True),
        (Role.ADMIN, False, False, True),
        (Role.TRUSTED, False, False, True),
        (Role.MEMBER, False, False, False),
        (Role.MEMBER, True, False, True),
        (Role.MEMBER, False, True, True),
    ],
)
def test_whom_a_channel_trusts(role: Role, trusted: bool, is_dm: bool, may: bool) -> None:  # noqa: FBT001
    """Issue "House rules": anyone whom the channel trusts, and whoever may write a DM."""
    assert may_set_rules(role, here(trusted=trusted), is_dm=is_dm) is may


def test_a_command_counts_as_a_message_to_the_imp() -> None:
    """Who would be answered there is in the conversation; nobody else."""
    facts = place_facts(9, None, guild_id=5, user_id=1, user=None)
    assert (facts.channel_id, facts.guild_id, facts.parent_id) == ("9", "5", None)
    assert decide(facts, WakeRules(owners=frozenset({"1"}))) is Wake.ANSWER
    assert decide(facts, WakeRules(owners=frozenset({"2"}))) is not Wake.ANSWER
    assert decide(facts, WakeRules(owners=frozenset(), enabled=True)) is Wake.ANSWER


@pytest.mark.parametrize(
    ("user_id", "role"), [(1, Role.OWNER), (2, Role.TRUSTED), (3, Role.MEMBER)]
)
def test_of_whom_only_the_id_is_known_the_lists_tell_the_tier(user_id: int, role: Role) -> None:
    """Nothing else is taken for granted of somebody who cannot be asked for."""
    settings = Settings(discord=DiscordSettings(owners=("1",)), allow=AllowSettings(users=("2",)))
    assert role_now(user_id, None, settings) is role


def test_rules_carry_every_list_and_the_channels_own_settings() -> None:
    """Issue "Bot": allowlists of users, roles, channels, guilds by id; owners; mode."""
    settings = Settings(
        discord=DiscordSettings(owners=("1",)),
        allow=AllowSettings(users=("2",), roles=("3",), channels=("4",), guilds=("5",)),
    )
    here = ChannelSettings(enabled=True, mode=ChannelMode.ALL, trusted=False, imp="ember")
    rules = rules_of(settings, here)
    lists = (rules.owners, rules.users, rules.roles, rules.channels, rules.guilds)
    assert [set(ids) for ids in lists] == [{"1"}, {"2"}, {"3"}, {"4"}, {"5"}]
    assert rules.enabled
    assert rules.mode is ChannelMode.ALL
