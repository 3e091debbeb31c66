"""The gateway: sessions that outlive their connections, and what of the world they are told.

A session is made by IDENTIFY and numbers its events. Its last events are kept, so that RESUME on a
new connection replays what the client has not seen. A connection (``connection.Connection``) only
carries frames. Close codes and opcodes are Discord's (gateway v10).
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web

from bot.playground.entities import Event
from bot.playground.gateway.connection import CloseCode, Connection, Op
from bot.playground.ids import SEQUENCE_BITS
from bot.playground.world import payloads
from bot.playground.world.state import ALL_INTENTS

if TYPE_CHECKING:
    from bot.playground.entities import Payload
    from bot.playground.faults import Faults
    from bot.playground.world.state import World

GUILDS = 1 << 0
MEMBERS = 1 << 1
PRESENCES = 1 << 8
CONTENT = 1 << 15
PRIVILEGED = MEMBERS | PRESENCES | CONTENT

_INTENTS = {
    "MESSAGE_CREATE": (1 << 9, 1 << 12),
    "MESSAGE_UPDATE": (1 << 9, 1 << 12),
    "MESSAGE_DELETE": (1 << 9, 1 << 12),
    "MESSAGE_DELETE_BULK": (1 << 9, 1 << 12),
    "MESSAGE_REACTION_ADD": (1 << 10, 1 << 13),
    "MESSAGE_REACTION_REMOVE": (1 << 10, 1 << 13),
    "MESSAGE_REACTION_REMOVE_ALL": (1 << 10, 1 << 13),
    "MESSAGE_REACTION_REMOVE_EMOJI": (1 << 10, 1 << 13),
    "TYPING_START": (1 << 11, 1 << 14),
    "CHANNEL_PINS_UPDATE": (GUILDS, 1 << 12),
    "GUILD_MEMBER_ADD": (MEMBERS, 0),
    "GUILD_MEMBER_UPDATE": (MEMBERS, 0),
    "GUILD_MEMBER_REMOVE": (MEMBERS, 0),
    "INTERACTION_CREATE": (0, 0),
}
"""Event name to the intent it needs in guilds and in DMs; 0 needs none. Others need GUILDS."""

BUFFER_EVENTS = 5000
"""How many events a session keeps for RESUME."""
START_LIMIT = 1000


@dataclass(slots=True, kw_only=True)
class Session:
    """One logged-in shard."""

    id: str
    shard_id: int
    shard_count: int
    intents: int
    world: World
    """The world as the bot that logged in meets it."""
    seq: int = 0
    buffer: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=BUFFER_EVENTS))
    connection: Connection | None = None

    def covers(self, guild_id: int | None) -> bool:
        """Say whether a guild (None: a DM) belongs to this shard."""
        return ((guild_id or 0) >> SEQUENCE_BITS) % self.shard_count == self.shard_id

    def send(self, name: str, data: str) -> None:
        """Number an event, keep it, and send it when someone is connected."""
        self.seq += 1
        frame = f'{{"op":0,"t":"{name}","s":{self.seq},"d":{data}}}'
        self.buffer.append((self.seq, frame))
        if self.connection is not None:
            self.connection.send(frame)


class Gateway:
    """All sessions of the bots, and the world's events on their way to them."""

    def __init__(self, world: World, faults: Faults, token: str) -> None:
        self._world = world
        self._faults = faults
        self._worlds = {token: world}
        """By token, the world as its bot meets it."""
        self._connections: set[Connection] = set()
        self.sessions: dict[str, Session] = {}
        self.connected = asyncio.Event()
        """Set while the first bot has a session that is ready on an open connection."""
        self.address = ""
        """``ws://`` address, set by the server."""
        self.shards = 1
        """How many shards ``/gateway/bot`` advises."""
        self.max_concurrency = 1
        self.starts_left = START_LIMIT
        self.identifies: list[Payload] = []
        """Every IDENTIFY that came, without its token."""
        self._identified_at: dict[tuple[int, int], float] = {}

    def let_in(self, token: str, world: World) -> None:
        """Take a further bot's token."""
        self._worlds[token] = world

    # What goes out

    def dispatch(self, event: Event) -> None:
        """Send an event of the world to every session that may hear it."""
        if not event.to_bot or not self.sessions or self._faults.loses(event.name):
            return
        full: str | None = None
        for session in self.sessions.values():
            if not self._reaches(session, event):
                continue
            if self._hides_content(session, event):
                bare = payloads.without_content(event.data, session.world.bot.id)
                session.send(event.name, json.dumps(bare))
                continue
            if full is None:
                full = json.dumps(event.data)
            session.send(event.name, full)

    def inject(self, name: str, data: Payload) -> None:
        """Send a raw event to all sessions, whatever the world thinks of it."""
        text = json.dumps(data)
        for session in self.sessions.values():
            session.send(name, text)

    def _reaches(self, session: Session, event: Event) -> bool:
        in_guild, in_dm = _INTENTS.get(event.name, (GUILDS, GUILDS))
        needed = in_dm if event.guild_id is None else in_guild
        if needed and not session.intents & needed:
            return False
        if not session.covers(event.guild_id):
            return False
        bot_id = session.world.bot.id
        if event.bot_id not in {None, bot_id}:
            return False
        if event.guild_id is not None:
            guild = self._world.guilds.get(event.guild_id)
            if guild is None or bot_id not in guild.members:
                return False
        channel = self._world.channels.get(event.channel_id or 0)
        return (
            channel is None
            or event.name == "INTERACTION_CREATE"
            or self._world.sees(channel, bot_id)
        )

    @staticmethod
    def _hides_content(session: Session, event: Event) -> bool:
        message, bot_id = event.message, session.world.bot.id
        return (
            message is not None
            and event.name in {"MESSAGE_CREATE", "MESSAGE_UPDATE"}
            and not session.intents & CONTENT
            and event.guild_id is not None
            and message.author_id != bot_id
            and bot_id not in message.mentions
        )

    # What a tester does to it

    def reconnect(self) -> None:
        """Ask every client to reconnect and resume (op 7)."""
        for connection in self._connections:
            connection.send(_frame(Op.RECONNECT, None))

    def invalidate(self, *, resumable: bool) -> None:
        """Send op 9; a session that is not resumable is forgotten."""
        for session in list(self.sessions.values()):
            if session.connection is not None:
                session.connection.send(_frame(Op.INVALID_SESSION, resumable))
            if not resumable:
                del self.sessions[session.id]

    def close(self, code: int = 4000) -> None:
        """Close every connection with a code."""
        for connection in list(self._connections):
            connection.close(code)

    def babble(self, frame: str) -> None:
        """Send every client a frame as it is, whatever it may be."""
        for connection in self._connections:
            connection.send(frame)

    def drop(self) -> None:
        """Cut every connection without a word."""
        for connection in list(self._connections):
            connection.abort()

    def expire_sessions(self) -> None:
        """Forget all sessions: what happens from now on is lost for them, RESUME gets op 9."""
        for session in self.sessions.values():
            session.connection = None
        self.sessions.clear()

    # What comes in

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection."""
        if self._faults.gateway_down:
            return web.Response(status=503)
        if request.query.get("encoding", "json") != "json":
            return web.Response(status=400)
        connection = Connection(compressed=request.query.get("compress") == "zlib-stream")
        self._connections.add(connection)
        try:
            return await connection.run(request, self)
        finally:
            self._connections.discard(connection)
            session = connection.session
            if session is not None and session.connection is connection:
                session.connection = None
                if connection.client_code in {1000, 1001}:  # a client that says goodbye is gone
                    self.sessions.pop(session.id, None)
            self._mark_connected()

    def identify(self, connection: Connection, data: Payload) -> None:
        """Log a shard in: READY and its guilds, or a close code."""
        self.identifies.append({k: v for k, v in data.items() if k != "token"})
        fault = self._identify_fault(data)
        if fault is not None:
            connection.close(fault)
            return
        shard_id, shard_count = data.get("shard") or (0, 1)
        world = self._worlds[data["token"]]
        if self.starts_left <= 0 or self._too_soon(world, shard_id):
            connection.send(_frame(Op.INVALID_SESSION, False))  # noqa: FBT003 - Discord's d
            return
        self.starts_left -= 1
        session = Session(
            id=secrets.token_hex(16),
            shard_id=shard_id,
            shard_count=shard_count,
            intents=data["intents"],
            world=world,
        )
        self._attach(session, connection)
        self.sessions[session.id] = session
        self._welcome(session)
        self._mark_connected()

    def _identify_fault(self, data: Payload) -> CloseCode | None:
        intents = data.get("intents")
        shard_id, shard_count = data.get("shard") or (0, 1)
        world = self._worlds.get(str(data.get("token")))
        if world is None:
            return CloseCode.AUTHENTICATION_FAILED
        if not isinstance(intents, int) or intents & ~ALL_INTENTS or intents < 0:
            return CloseCode.INVALID_INTENTS
        if intents & PRIVILEGED & ~world.intents_allowed:
            return CloseCode.DISALLOWED_INTENTS
        if not 0 <= shard_id < shard_count:
            return CloseCode.INVALID_SHARD
        return None

    def _too_soon(self, world: World, shard_id: int) -> bool:
        bucket = (world.bot.id, shard_id % self.max_concurrency)
        now = time.monotonic()
        before = self._identified_at.get(bucket)
        self._identified_at[bucket] = now
        return before is not None and now - before < self._faults.identify_spacing_seconds

    def _welcome(self, session: Session) -> None:
        world = session.world
        guilds = [
            guild
            for guild in world.guilds.values()
            if world.bot.id in guild.members and session.covers(guild.id)
        ]
        application = payloads.application(world)
        ready: Payload = {
            "v": 10,
            "user": payloads.user(world.bot) | {"verified": True, "email": None, "flags": 0},
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in guilds],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self.address,
            "shard": [session.shard_id, session.shard_count],
            "application": {"id": application["id"], "flags": application["flags"]},
            "private_channels": [],
        }
        session.send("READY", json.dumps(ready))
        if session.intents & GUILDS:
            everyone = bool(session.intents & MEMBERS)
            for guild in guilds:
                data = payloads.guild_create(world, guild, all_members=everyone)
                session.send("GUILD_CREATE", json.dumps(data))

    def resume(self, connection: Connection, data: Payload) -> None:
        """Go on with a session on a new connection, or say that it is gone (op 9)."""
        world = self._worlds.get(str(data.get("token")))
        if world is None:
            connection.close(CloseCode.AUTHENTICATION_FAILED)
            return
        session = self.sessions.get(str(data.get("session_id")))
        seen = data.get("seq")
        own = session if session is not None and session.world is world else None
        if own is None or not isinstance(seen, int) or not self._has_all_after(own, seen):
            connection.send(_frame(Op.INVALID_SESSION, False))  # noqa: FBT003 - Discord's d
            return
        if seen > own.seq:
            connection.close(CloseCode.INVALID_SEQ)
            return
        self._attach(own, connection)
        for seq, frame in list(own.buffer):
            if seq > seen - self._faults.replay_more:
                connection.send(frame)
        own.send("RESUMED", "{}")
        self._mark_connected()

    @staticmethod
    def _has_all_after(session: Session, seen: int) -> bool:
        return not session.buffer or session.buffer[0][0] <= seen + 1

    def _attach(self, session: Session, connection: Connection) -> None:
        if session.connection is not None:
            session.connection.session = None
            session.connection.close(CloseCode.UNKNOWN_ERROR)
        session.connection = connection
        connection.session = session

    def heartbeat_acked(self) -> bool:
        """Say whether heartbeats are answered at present."""
        return self._faults.heartbeat_acks

    def request_members(self, session: Session, data: Payload) -> None:
        """Answer op 8 with one GUILD_MEMBERS_CHUNK."""
        guild = self._world.guilds.get(int(data.get("guild_id", 0)))
        if guild is None or not session.covers(guild.id):
            return
        wanted = data.get("user_ids")
        ids = [wanted] if isinstance(wanted, (str, int)) else wanted or []
        query = str(data.get("query") or "").lower()
        found = [
            user_id
            for user_id in guild.members
            if (str(user_id) in map(str, ids) if ids else True)
            and self._world.users[user_id].username.lower().startswith(query)
        ]
        limit = int(data.get("limit") or 0) or len(found)
        chunk: Payload = {
            "guild_id": str(guild.id),
            "members": [payloads.member(self._world, guild, u) for u in found[:limit]],
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": [str(i) for i in ids if int(i) not in guild.members],
        }
        if data.get("nonce") is not None:
            chunk["nonce"] = data["nonce"]
        session.send("GUILD_MEMBERS_CHUNK", json.dumps(chunk))

    def _mark_connected(self) -> None:
        online = any(
            session.connection is not None and session.world is self._world
            for session in self.sessions.values()
        )
        if online is self.connected.is_set():
            return
        if online:
            self.connected.set()
        else:
            self.connected.clear()
        # People's screens show whether the bot is there.
        told = Event(name="PLAYGROUND_PRESENCE", data={"online": online}, to_bot=False)
        self._world.emit(told)


def _frame(op: Op, data: object) -> str:
    return json.dumps({"op": int(op), "d": data, "s": None, "t": None})
