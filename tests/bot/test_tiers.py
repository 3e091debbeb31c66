"""Who is what, by ids and permissions alone (P03)."""

from __future__ import annotations

from typing import Any

import discord
import pytest

from bot.tiers import role_of
from compiler.request import Role
from support.discord_messages import (
    BO,
    HELPERS,
    KEEPERS,
    State,
    make_message,
    make_state,
    member,
    role,
)


@pytest.fixture
async def state() -> State:
    return make_state()


async def test_tiers_come_from_ids_and_permissions(state: State) -> None:
    """Owner by id, admin by Discord's permission, trusted by the owner's lists."""
    bo = make_message(state, "hi").author
    keeper = make_message(state, "hi", member=member(KEEPERS)).author
    helper = make_message(state, "hi", member=member(HELPERS)).author
    assert role_of(bo, owners=[str(BO)]) is Role.OWNER
    assert role_of(keeper, owners=[]) is Role.ADMIN
    assert role_of(helper, owners=[], roles=[str(HELPERS)]) is Role.TRUSTED
    assert role_of(bo, owners=[], users=[str(BO)]) is Role.TRUSTED
    assert role_of(bo, owners=[], roles=[str(HELPERS)]) is Role.MEMBER


async def test_an_administrator_role_is_read_from_the_server(state: State) -> None:
    """The payload's role ids meet the server's permissions; a made-up role gives nothing."""
    stranger = make_message(state, "hi", member=member(9999)).author
    assert role_of(stranger, owners=[]) is Role.MEMBER
    assert role(KEEPERS, "keepers", 8)["permissions"] == "8"


@pytest.mark.parametrize("known", [True, False])
async def test_a_server_not_heard_of_yet_makes_nobody_its_administrator(
    state: State, *, known: bool
) -> None:
    """P03: a message may come before its server's roles; then nobody is more than a member."""
    if known:
        as_ready_names_it: Any = {"id": "21", "unavailable": True}
        state._add_guild_from_data(as_ready_names_it)
    author = make_message(state, "hi", guild_id="21", channel_id="22").author
    assert isinstance(author, discord.Member)
    assert role_of(author, owners=[]) is Role.MEMBER
