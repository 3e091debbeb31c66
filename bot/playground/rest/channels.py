"""REST: the bot itself, users, guilds, members, channels, threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.playground.entities import Channel, ChannelKind, MessageFlag, MessageKind, Payload
from bot.playground.errors import one_field, refusal
from bot.playground.rest.messages import ONE, draft_of
from bot.playground.world import payloads
from bot.playground.world.bodies import CreateThread, EditChannel, OpenDm
from bot.playground.world.permissions import Permission

if TYPE_CHECKING:
    from bot.playground.gateway.sessions import Gateway
    from bot.playground.messages.talk import Talk
    from bot.playground.rest.frame import Answer, Call, Side
    from bot.playground.world.state import World

CHANNEL = "/channels/{channel_id}"
GUILD = "/guilds/{guild_id}"


class ChannelRoutes:
    """Everything that is neither a message nor a command."""

    def __init__(self, world: World, talk: Talk, gateway: Gateway) -> None:
        self._world = world
        self._talk = talk
        self._gateway = gateway

    def attach(self, rest: Side) -> None:
        """Add the routes."""
        rest.route("GET", "/gateway", lambda _call: {"url": self._gateway.address}, public=True)
        rest.route("GET", "/gateway/bot", self._gateway_bot)
        rest.route("GET", "/users/@me", lambda _call: self._me())
        rest.route("PATCH", "/users/@me", lambda _call: self._me())
        rest.route("GET", "/users/@me/guilds", self._my_guilds)
        rest.route("POST", "/users/@me/channels", self._open_dm)
        rest.route("GET", "/users/{user_id}", self._user)
        for path in ("/oauth2/applications/@me", "/applications/@me"):
            rest.route("GET", path, lambda _call: payloads.application(self._world))
        rest.route("GET", GUILD, self._guild)
        rest.route("GET", GUILD + "/channels", self._guild_channels)
        rest.route("GET", GUILD + "/roles", self._roles)
        rest.route("GET", GUILD + "/members", self._members)
        rest.route("GET", GUILD + "/members/{user_id}", self._member)
        rest.route("GET", GUILD + "/threads/active", self._active_threads)
        rest.route("GET", CHANNEL, self._channel)
        rest.route("PATCH", CHANNEL, self._edit_channel)
        rest.route("DELETE", CHANNEL, self._delete_channel)
        rest.route("POST", CHANNEL + "/threads", self._start_thread, status=201)
        rest.route("POST", ONE + "/threads", self._thread_of_message, status=201)
        rest.route("GET", CHANNEL + "/threads/archived/public", self._archived_threads)
        rest.route("PUT", CHANNEL + "/thread-members/{user_id}", self._join_thread)
        rest.route("DELETE", CHANNEL + "/thread-members/{user_id}", self._leave_thread)
        rest.route("GET", CHANNEL + "/thread-members", self._thread_members)

    # The bot and users

    def _gateway_bot(self, _call: Call) -> Answer:
        limit = {
            "total": 1000,
            "remaining": self._gateway.starts_left,
            "reset_after": 0,
            "max_concurrency": self._gateway.max_concurrency,
        }
        return {
            "url": self._gateway.address,
            "shards": self._gateway.shards,
            "session_start_limit": limit,
        }

    def _me(self) -> Payload:
        return payloads.user(self._world.bot) | {"verified": True, "email": None, "flags": 0}

    def _my_guilds(self, _call: Call) -> Answer:
        return [
            {"id": str(g.id), "name": g.name, "icon": None, "owner": False, "permissions": "0"}
            for g in self._world.guilds.values()
            if self._world.bot.id in g.members
        ]

    def _user(self, call: Call) -> Answer:
        return payloads.user(self._world.user(call.id("user_id")))

    def _open_dm(self, call: Call) -> Answer:
        other = self._world.user(call.parsed(OpenDm).recipient_id)
        if other.id == self._world.bot.id:
            raise one_field(("recipient_id",), "INVALID_RECIPIENT", "Cannot message yourself")
        return payloads.channel(self._world, self._world.dm(self._world.bot, other))

    # Guilds

    def _guild(self, call: Call) -> Answer:
        guild = self._world.guild(call.id("guild_id"))
        if self._world.bot.id not in guild.members:
            raise refusal(50001)
        return payloads.guild(guild)

    def _guild_channels(self, call: Call) -> Answer:
        channels = self._world.channels_of(call.id("guild_id"))
        return [
            payloads.channel(self._world, c)
            for c in channels
            if self._world.sees(c, self._world.bot.id)
        ]

    def _roles(self, call: Call) -> Answer:
        return [payloads.role(r) for r in self._world.guild(call.id("guild_id")).roles.values()]

    def _members(self, call: Call) -> Answer:
        guild = self._world.guild(call.id("guild_id"))
        limit = call.number("limit", 1, least=1, most=1000)
        after = call.number("after", 0, least=0, most=1 << 63)
        chosen = sorted(u for u in guild.members if u > after)[:limit]
        return [payloads.member(self._world, guild, user_id) for user_id in chosen]

    def _member(self, call: Call) -> Answer:
        guild = self._world.guild(call.id("guild_id"))
        user_id = call.id("user_id")
        if user_id not in guild.members:
            raise refusal(10007)
        return payloads.member(self._world, guild, user_id)

    # Channels and threads

    def _seen(self, call: Call, *needed: Permission) -> Channel:
        channel = self._world.channel(call.id("channel_id"))
        self._world.require(channel, self._world.bot.id, *needed)
        return channel

    def _channel(self, call: Call) -> Answer:
        return payloads.channel(self._world, self._seen(call))

    def _edit_channel(self, call: Call) -> Answer:
        channel = self._seen(call)
        body = call.parsed(EditChannel)
        if channel.is_dm:
            raise refusal(50003)
        if channel.owner_id != self._world.bot.id or not channel.is_thread:
            right = Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS
            self._world.require(channel, self._world.bot.id, right)
        changed = self._world.update_channel(
            channel,
            name=body.name,
            topic=body.topic,
            archived=body.archived,
            locked=body.locked,
        )
        return payloads.channel(self._world, changed)

    def _delete_channel(self, call: Call) -> Answer:
        channel = self._seen(call)
        gone = payloads.channel(self._world, channel)
        if not channel.is_dm:
            right = Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS
            self._world.require(channel, self._world.bot.id, right)
            self._world.delete_channel(channel)
        return gone

    def _start_thread(self, call: Call) -> Answer:
        parent = self._seen(call)
        body = call.parsed(CreateThread)
        in_forum = parent.kind is ChannelKind.FORUM
        kind = ChannelKind.PUBLIC_THREAD if in_forum else ChannelKind(body.type or 12)
        private = kind is ChannelKind.PRIVATE_THREAD
        right = Permission.CREATE_PRIVATE_THREADS if private else Permission.CREATE_PUBLIC_THREADS
        self._world.require(parent, self._world.bot.id, right)
        if in_forum and body.message is None:
            raise one_field(("message",), "BASE_TYPE_REQUIRED", "This field is required")
        thread = self._world.add_thread(
            parent,
            body.name,
            self._world.bot,
            kind=kind,
            auto_archive_minutes=body.auto_archive_duration or 1440,
        )
        answer = payloads.channel(self._world, thread)
        if in_forum and body.message is not None:
            first = draft_of(body.message, call)
            message = self._talk.send(self._world.bot.id, thread, first)
            answer |= {"message": payloads.message(self._world, message)}
        elif kind is ChannelKind.PUBLIC_THREAD:
            self._announce(parent, thread)
        return answer

    def _announce(self, parent: Channel, thread: Channel) -> None:
        reference = {"channel_id": str(thread.id), "guild_id": str(thread.guild_id)}
        self._talk.system(
            self._world.bot.id,
            parent,
            MessageKind.THREAD_CREATED,
            content=thread.name,
            extra={"message_reference": reference},
        )

    def _thread_of_message(self, call: Call) -> Answer:
        parent = self._seen(call, Permission.CREATE_PUBLIC_THREADS)
        body = call.parsed(CreateThread)
        message = self._world.message(parent, call.id("message_id"))
        if message.thread_id is not None or message.id in self._world.channels:
            raise refusal(160004)
        thread = self._world.add_thread(
            parent,
            body.name,
            self._world.bot,
            thread_id=message.id,
            auto_archive_minutes=body.auto_archive_duration or 1440,
        )
        message.thread_id = thread.id
        message.flags |= MessageFlag.HAS_THREAD
        self._talk.touch(message)
        return payloads.channel(self._world, thread)

    def _active_threads(self, call: Call) -> Answer:
        threads = self._world.threads_of(call.id("guild_id"))
        seen = [t for t in threads if self._world.sees(t, self._world.bot.id)]
        return self._page(seen)

    def _archived_threads(self, call: Call) -> Answer:
        parent = self._seen(call, Permission.READ_MESSAGE_HISTORY)
        if parent.guild_id is None:
            raise refusal(50024)
        threads = self._world.threads_of(parent.guild_id, archived=True)
        return self._page([t for t in threads if t.parent_id == parent.id])

    def _page(self, threads: list[Channel]) -> Payload:
        bot_id = self._world.bot.id
        return {
            "threads": [payloads.channel(self._world, t) for t in threads],
            "members": [
                payloads.thread_member(t, bot_id) for t in threads if bot_id in t.thread_members
            ],
            "has_more": False,
        }

    def _thread(self, call: Call) -> tuple[Channel, int]:
        thread = self._seen(call)
        if not thread.is_thread:
            raise refusal(50024)
        who = call.params["user_id"]
        return thread, self._world.bot.id if who == "@me" else call.id("user_id")

    def _join_thread(self, call: Call) -> Answer:
        thread, user_id = self._thread(call)
        if thread.archived:
            raise refusal(50083)
        if user_id not in thread.thread_members:
            thread.thread_members.append(user_id)
        return None

    def _leave_thread(self, call: Call) -> Answer:
        thread, user_id = self._thread(call)
        if user_id in thread.thread_members:
            thread.thread_members.remove(user_id)
        return None

    def _thread_members(self, call: Call) -> Answer:
        thread = self._seen(call)
        return [payloads.thread_member(thread, user_id) for user_id in thread.thread_members]
