"""The state of a playground: users, guilds, roles, channels, threads and DMs.

Pure state and rules, without sockets: each change is told to ``emit`` as an ``Event``, and whoever
runs the world (``server.Playground``) hands events on to the bot's gateway, to waiters and to the
page. Each bot meets the world as a ``World`` with itself as ``bot``. Messages are changed by
``talk.Talk``, commands by ``commands.Registry``, interactions by ``interactions.Desk``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bot.playground import ids
from bot.playground.entities import (
    THREADS,
    Attachment,
    Channel,
    ChannelKind,
    Event,
    Guild,
    Member,
    Message,
    Overwrite,
    Payload,
    Role,
    User,
)
from bot.playground.errors import refusal
from bot.playground.ids import SnowflakeMaker
from bot.playground.world import payloads
from bot.playground.world.mentions import Place
from bot.playground.world.permissions import EVERYONE, Permission, channel_permissions

if TYPE_CHECKING:
    from collections.abc import Callable

ALL_INTENTS = 0b11_0011_0001_1111_1111_1111_1111
"""Every gateway intent bit that exists (v10)."""


class World:
    """All entities by id, with look-ups that raise Discord's own refusals."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        emit: Callable[[Event], None] = lambda _event: None,
    ) -> None:
        self.clock = clock
        self.emit = emit
        self.new_id = SnowflakeMaker(clock)
        self.origin = "http://127.0.0.1"
        """Where attachments are served from; the server sets it."""
        self.intents_allowed = ALL_INTENTS
        """The gateway intents that the application may ask for (4014 otherwise)."""
        self.users: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.attachments: dict[int, Attachment] = {}
        self.ephemerals: dict[int, Message] = {}
        """Messages that one person alone sees, by id; they are in no channel's history."""
        self.bot = self.add_user("ember", global_name="Ember", bot=True, user_id=ids.EMBER)
        self._dms: dict[frozenset[int], int] = {}

    # Looking up

    def user(self, user: User | int) -> User:
        """Return a user, or refuse with 10013."""
        found = self.users.get(user if isinstance(user, int) else user.id)
        if found is None:
            raise refusal(10013)
        return found

    def guild(self, guild: Guild | int) -> Guild:
        """Return a guild, or refuse with 10004."""
        found = self.guilds.get(guild if isinstance(guild, int) else guild.id)
        if found is None:
            raise refusal(10004)
        return found

    def channel(self, channel: Channel | int) -> Channel:
        """Return a channel, or refuse with 10003."""
        found = self.channels.get(channel if isinstance(channel, int) else channel.id)
        if found is None:
            raise refusal(10003)
        return found

    def message(self, channel: Channel | int, message: Message | int) -> Message:
        """Return a message of a channel's history, or refuse with 10008."""
        message_id = message if isinstance(message, int) else message.id
        found = self.channel(channel).messages.get(message_id)
        if found is None:
            raise refusal(10008)
        return found

    def place(self, channel: Channel) -> Place:
        """Return the guild and the channel whose rights count (a thread's are its parent's)."""
        guild = None if channel.guild_id is None else self.guilds[channel.guild_id]
        holder = channel
        if channel.is_thread and channel.parent_id in self.channels:
            holder = self.channels[channel.parent_id]
        return Place(guild=guild, channel=holder)

    def permissions(self, channel: Channel, user_id: int) -> int:
        """Return the permission bits of a user in a channel or thread."""
        place = self.place(channel)
        return channel_permissions(place.guild, place.channel, user_id)

    def sees(self, channel: Channel, user_id: int) -> bool:
        """Say whether a user may view a channel."""
        if channel.kind is ChannelKind.PRIVATE_THREAD and user_id not in channel.thread_members:
            return bool(self.permissions(channel, user_id) & Permission.MANAGE_THREADS)
        return bool(self.permissions(channel, user_id) & Permission.VIEW_CHANNEL)

    def require(self, channel: Channel, user_id: int, *needed: Permission) -> None:
        """Refuse with 50001 when the channel is hidden, 50013 when a permission is missing."""
        if not self.sees(channel, user_id):
            raise refusal(50001)
        have = self.permissions(channel, user_id)
        if any(not have & permission for permission in needed):
            raise refusal(50013)

    def channels_of(self, guild: Guild | int) -> tuple[Channel, ...]:
        """Return a guild's channels without its threads, by position."""
        guild_id = self.guild(guild).id
        found = [c for c in self.channels.values() if c.guild_id == guild_id and not c.is_thread]
        return tuple(sorted(found, key=lambda c: (c.position, c.id)))

    def threads_of(self, guild: Guild | int, *, archived: bool = False) -> tuple[Channel, ...]:
        """Return a guild's threads that are, or are not, archived."""
        guild_id = self.guild(guild).id
        return tuple(
            c
            for c in self.channels.values()
            if c.guild_id == guild_id and c.is_thread and c.archived is archived
        )

    def dms_of(self, user: User | int) -> tuple[Channel, ...]:
        """Return the direct conversations that a user is part of."""
        user_id = self.user(user).id
        return tuple(c for c in self.channels.values() if c.is_dm and user_id in c.recipients)

    # Making and changing

    def add_user(
        self,
        username: str,
        *,
        global_name: str | None = None,
        bot: bool = False,
        user_id: int | None = None,
    ) -> User:
        """Make a user."""
        user = User(
            id=user_id or self.new_id(), username=username, global_name=global_name, bot=bot
        )
        self.users[user.id] = user
        return user

    def add_guild(
        self, name: str, owner: User | int, *, guild_id: int | None = None, with_bot: bool = True
    ) -> Guild:
        """Make a guild with its owner and, unless said otherwise, the bot."""
        guild = Guild(id=guild_id or self.new_id(), name=name, owner_id=self.user(owner).id)
        guild.roles[guild.id] = Role(id=guild.id, name="@everyone", permissions=EVERYONE)
        self.guilds[guild.id] = guild
        members = [guild.owner_id, self.bot.id] if with_bot else [guild.owner_id]
        for user_id in members:
            guild.members[user_id] = Member(user_id=user_id, joined_at=self.clock())
        if with_bot:
            self._tell("GUILD_CREATE", payloads.guild_create(self, guild), guild_id=guild.id)
        return guild

    def invite_bot(self, guild: Guild | int) -> None:
        """Take the bot into a guild, as an administrator who follows its invitation does."""
        found = self.guild(guild)
        self.add_member(found, self.bot)
        self._tell_bot("GUILD_CREATE", payloads.guild_create(self, found), found)

    def remove_bot(self, guild: Guild | int) -> None:
        """Take the bot out of a guild, as an administrator who kicks it does."""
        found = self.guild(guild)
        self._tell_bot("GUILD_DELETE", {"id": str(found.id)}, found)
        found.members.pop(self.bot.id, None)

    def add_member(
        self,
        guild: Guild | int,
        user: User | int,
        *,
        nick: str | None = None,
        roles: tuple[int, ...] = (),
    ) -> Member:
        """Let a user join a guild."""
        found = self.guild(guild)
        member = Member(
            user_id=self.user(user).id, nick=nick, roles=list(roles), joined_at=self.clock()
        )
        found.members[member.user_id] = member
        data = payloads.member(self, found, member.user_id) | {"guild_id": str(found.id)}
        self._tell("GUILD_MEMBER_ADD", data, guild_id=found.id)
        return member

    def update_member(
        self,
        guild: Guild | int,
        user: User | int,
        *,
        nick: str | None = None,
        roles: tuple[int, ...] | None = None,
    ) -> Member:
        """Set a member's nickname (None takes it off) and, when given, roles."""
        found = self.guild(guild)
        member = found.members[self.user(user).id]
        member.nick = nick
        if roles is not None:
            member.roles = list(roles)
        data = payloads.member(self, found, member.user_id) | {"guild_id": str(found.id)}
        self._tell("GUILD_MEMBER_UPDATE", data, guild_id=found.id)
        return member

    def remove_member(self, guild: Guild | int, user: User | int) -> None:
        """Let a member leave a guild."""
        found = self.guild(guild)
        gone = self.user(user)
        found.members.pop(gone.id, None)
        data = {"guild_id": str(found.id), "user": payloads.user(gone)}
        self._tell("GUILD_MEMBER_REMOVE", data, guild_id=found.id)

    def add_role(
        self,
        guild: Guild | int,
        name: str,
        *,
        permissions: int = 0,
        mentionable: bool = False,
        role_id: int | None = None,
    ) -> Role:
        """Make a role."""
        found = self.guild(guild)
        role = Role(
            id=role_id or self.new_id(),
            name=name,
            permissions=permissions,
            position=len(found.roles),
            mentionable=mentionable,
        )
        found.roles[role.id] = role
        data = {"guild_id": str(found.id), "role": payloads.role(role)}
        self._tell("GUILD_ROLE_CREATE", data, guild_id=found.id)
        return role

    def add_channel(
        self,
        guild: Guild | int,
        name: str,
        *,
        kind: ChannelKind = ChannelKind.TEXT,
        topic: str | None = None,
        channel_id: int | None = None,
    ) -> Channel:
        """Make a channel of a guild (for threads see ``add_thread``)."""
        found = self.guild(guild)
        channel = Channel(
            id=channel_id or self.new_id(),
            kind=kind,
            guild_id=found.id,
            name=name,
            topic=topic,
            position=len(self.channels_of(found)),
            changed_at=self.clock(),
        )
        self.channels[channel.id] = channel
        self.tell_channel("CHANNEL_CREATE", channel)
        return channel

    def set_overwrite(
        self, channel: Channel | int, target: int, *, kind: int, allow: int = 0, deny: int = 0
    ) -> None:
        """Set a channel's permissions for a role (kind 0) or a member (kind 1)."""
        found = self.channel(channel)
        found.overwrites[target] = Overwrite(id=target, kind=kind, allow=allow, deny=deny)
        self.tell_channel("CHANNEL_UPDATE", found)

    def add_thread(
        self,
        parent: Channel | int,
        name: str,
        owner: User | int,
        *,
        thread_id: int | None = None,
        kind: ChannelKind = ChannelKind.PUBLIC_THREAD,
        auto_archive_minutes: int = 1440,
    ) -> Channel:
        """Open a thread; the bot gets THREAD_CREATE with ``newly_created``."""
        above = self.channel(parent)
        if above.guild_id is None or above.is_thread or kind not in THREADS:
            raise refusal(50024)
        thread = Channel(
            id=thread_id or self.new_id(),
            kind=kind,
            guild_id=above.guild_id,
            name=name,
            parent_id=above.id,
            owner_id=self.user(owner).id,
            thread_members=[self.user(owner).id],
            changed_at=self.clock(),
            auto_archive_minutes=auto_archive_minutes,
        )
        self.channels[thread.id] = thread
        self.tell_channel("THREAD_CREATE", thread, newly_created=True)
        return thread

    def update_channel(
        self,
        channel: Channel | int,
        *,
        name: str | None = None,
        topic: str | None = None,
        archived: bool | None = None,
        locked: bool | None = None,
    ) -> Channel:
        """Change a channel or thread; None leaves a field as it is."""
        found = self.channel(channel)
        found.name = found.name if name is None else name
        found.topic = found.topic if topic is None else topic
        if archived is not None and archived is not found.archived:
            found.archived = archived
            found.changed_at = self.clock()
        found.locked = found.locked if locked is None else locked
        self.tell_channel("THREAD_UPDATE" if found.is_thread else "CHANNEL_UPDATE", found)
        return found

    def delete_channel(self, channel: Channel | int) -> None:
        """Delete a channel with its threads, or one thread."""
        found = self.channel(channel)
        for thread in [c for c in self.channels.values() if c.parent_id == found.id]:
            del self.channels[thread.id]
        self.tell_channel("THREAD_DELETE" if found.is_thread else "CHANNEL_DELETE", found)
        del self.channels[found.id]

    def dm(self, one: User | int, other: User | int) -> Channel:
        """Return the direct conversation of two users, made when there is none yet."""
        pair = frozenset({self.user(one).id, self.user(other).id})
        known = self._dms.get(pair)
        if known is not None:
            return self.channels[known]
        person = next((user for user in pair if user != self.bot.id), self.bot.id)
        stable = ids.DIRECT.get(person) if ids.EMBER in pair else None
        channel = Channel(
            id=stable or self.new_id(), kind=ChannelKind.DM, recipients=tuple(sorted(pair))
        )
        self.channels[channel.id] = channel
        self._dms[pair] = channel.id
        return channel

    # Telling

    def tell_channel(self, name: str, channel: Channel, **more: bool) -> None:
        """Emit an event that carries a whole channel."""
        data = payloads.channel(self, channel) | more
        self._tell(name, data, guild_id=channel.guild_id, channel_id=channel.id)

    def _tell(
        self, name: str, data: Payload, *, guild_id: int | None, channel_id: int | None = None
    ) -> None:
        self.emit(Event(name=name, data=data, guild_id=guild_id, channel_id=channel_id))

    def _tell_bot(self, name: str, data: Payload, guild: Guild) -> None:
        self.emit(Event(name=name, data=data, guild_id=guild.id, bot_id=self.bot.id))


def default_world(
    *,
    clock: Callable[[], float] = time.time,
    emit: Callable[[Event], None] = lambda _event: None,
) -> World:
    """Make the world of ``ids``: Ada, Bo, Cy, Dee and Ember; Orchard and Harbour."""
    world = World(clock=clock, emit=emit)
    for user_id, name in ((ids.ADA, "Ada"), (ids.BO, "Bo"), (ids.CY, "Cy"), (ids.DEE, "Dee")):
        world.add_user(name.lower(), global_name=name, user_id=user_id)
        world.dm(user_id, world.bot)
    orchard = world.add_guild("Orchard", ids.ADA, guild_id=ids.ORCHARD)
    world.add_role(orchard, "helpers", mentionable=True, role_id=ids.HELPERS)
    world.add_member(orchard, ids.BO)
    world.add_member(orchard, ids.CY, roles=(ids.HELPERS,))
    world.add_member(orchard, ids.DEE)
    world.add_channel(orchard, "hearth", topic="Where everyone sits.", channel_id=ids.HEARTH)
    world.add_channel(orchard, "workshop", topic="Where things get made.", channel_id=ids.WORKSHOP)
    kindling = world.add_thread(ids.HEARTH, "kindling", ids.ADA, thread_id=ids.KINDLING)
    kindling.thread_members.append(world.bot.id)
    harbour = world.add_guild("Harbour", ids.ADA, guild_id=ids.HARBOUR)
    world.add_member(harbour, ids.BO)
    world.add_channel(harbour, "pier", channel_id=ids.PIER)
    return world
