"""Who is mentioned by a message, and who is notified (Discord "Allowed Mentions Object").

Pure: text and rights in, ids out. What stands in code spans or blocks mentions nobody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.playground.world.permissions import Permission, channel_permissions

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from bot.playground.entities import Channel, Guild
    from bot.playground.world.bodies import AllowedMentions

_CODE = re.compile(r"```.*?```|``.+?``|`[^`\n]+`", re.DOTALL)
_USER = re.compile(r"<@!?(\d{1,20})>")
_ROLE = re.compile(r"<@&(\d{1,20})>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """The mention fields of a message, and the ids of everyone it notifies."""

    users: tuple[int, ...] = ()
    roles: tuple[int, ...] = ()
    everyone: bool = False
    pinged: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a message is said: its guild (None in a DM) and the channel that holds the rights."""

    guild: Guild | None
    channel: Channel

    def people(self) -> Iterable[int]:
        """Return the ids of all who could be notified here."""
        return self.guild.members if self.guild else self.channel.recipients

    def allows(self, user_id: int, permission: Permission) -> bool:
        """Say whether a user has a permission here."""
        return bool(channel_permissions(self.guild, self.channel, user_id) & permission)


def find_mentions(
    content: str,
    place: Place,
    author_id: int,
    *,
    known_users: Container[int],
    allowed: AllowedMentions | None,
    replied_to: int | None,
) -> Mentions:
    """Return what a text mentions after ``allowed_mentions`` was applied.

    Args:
        content: the text.
        place: where it is said.
        author_id: who says it; nobody notifies themselves.
        known_users: ids of the users that exist.
        allowed: the request's rule; None parses everything and pings the replied author.
        replied_to: author of the message that is answered, if any.
    """
    text = _CODE.sub(" ", content)
    users = [
        user
        for user in _ids(_USER, text)
        if user in known_users and (allowed is None or allowed.lets_user(user))
    ]
    if replied_to is not None and replied_to not in users and _pings_author(allowed):
        users.append(replied_to)
    roles: list[int] = []
    everyone = False
    if place.guild is not None:
        roles = [
            role
            for role in _ids(_ROLE, text)
            if role in place.guild.roles and (allowed is None or allowed.lets_role(role))
        ]
        everyone = (
            bool(_EVERYONE.search(text))
            and (allowed is None or "everyone" in allowed.parse)
            and place.allows(author_id, Permission.MENTION_EVERYONE)
        )
    return Mentions(
        users=tuple(users),
        roles=tuple(roles),
        everyone=everyone,
        pinged=_pinged(place, author_id, users, roles, everyone=everyone),
    )


def _ids(pattern: re.Pattern[str], text: str) -> list[int]:
    return list(dict.fromkeys(int(found) for found in pattern.findall(text)))


def _pings_author(allowed: AllowedMentions | None) -> bool:
    return allowed is None or allowed.replied_user


def _pinged(
    place: Place, author_id: int, users: list[int], roles: list[int], *, everyone: bool
) -> tuple[int, ...]:
    found = dict.fromkeys(users)
    if place.guild is not None:
        loud = place.allows(author_id, Permission.MENTION_EVERYONE)
        heard = {role for role in roles if loud or place.guild.roles[role].mentionable}
        for member in place.guild.members.values():
            if everyone or heard.intersection(member.roles):
                found[member.user_id] = None
    here = set(place.people())
    return tuple(user for user in found if user != author_id and user in here)
