"""The tier of a person, from platform ids and Discord's permissions, never from a name (P03).

Owner, administrator, trusted or member: recomputed for every turn, so that whoever loses a role
loses what it gave with his next message.
"""

from __future__ import annotations

from collections.abc import Iterable

import discord

from bot.permissions import is_administrator
from compiler.request import Role


def role_of(
    user: discord.abc.User,
    *,
    owners: Iterable[str],
    users: Iterable[str] = (),
    roles: Iterable[str] = (),
) -> Role:
    """Give the tier of a person by the owner's lists and by what his roles allow."""
    if str(user.id) in owners:
        return Role.OWNER
    if isinstance(user, discord.Member) and is_administrator(user):
        return Role.ADMIN
    if str(user.id) in users or not role_ids(user).isdisjoint(roles):
        return Role.TRUSTED
    return Role.MEMBER


def role_ids(user: discord.abc.User | None) -> frozenset[str]:
    """Give a member's role ids, without prefix; none outside of a server."""
    if not isinstance(user, discord.Member):
        return frozenset()
    return frozenset(str(role_id) for role_id in user._roles)  # noqa: SLF001  (roles leaves out uncached ones)
