"""One websocket of the gateway: frames in, frames out, zlib-stream if the client asked for it.

Whoever sends never waits: frames go into a bounded queue that one writer task empties. A client
that does not read is cut off when the queue is full.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import zlib
from collections import deque
from enum import IntEnum
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web

if TYPE_CHECKING:
    from bot.playground.gateway.sessions import Gateway, Session

HEARTBEAT_SECONDS = 41.25
ACK_DELAY_SECONDS = 0.03
"""An ACK that comes at once on loopback overtakes discord.py's own bookkeeping."""
QUEUE_FRAMES = 10_000
CLOSE_SECONDS = 1.0
SEND_LIMIT = (120, 60.0)
"""How many commands a client may send in so many seconds (4008 otherwise)."""
ZLIB_LEVEL = 1


class Op(IntEnum):
    """Gateway opcodes."""

    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    PRESENCE = 3
    VOICE_STATE = 4
    RESUME = 6
    RECONNECT = 7
    REQUEST_MEMBERS = 8
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11
    SOUNDBOARD = 31


class CloseCode(IntEnum):
    """Why the gateway closes a connection."""

    UNKNOWN_ERROR = 4000
    UNKNOWN_OPCODE = 4001
    DECODE_ERROR = 4002
    NOT_AUTHENTICATED = 4003
    AUTHENTICATION_FAILED = 4004
    ALREADY_AUTHENTICATED = 4005
    INVALID_SEQ = 4007
    RATE_LIMITED = 4008
    SESSION_TIMED_OUT = 4009
    INVALID_SHARD = 4010
    SHARDING_REQUIRED = 4011
    INVALID_VERSION = 4012
    INVALID_INTENTS = 4013
    DISALLOWED_INTENTS = 4014


_ABORT = object()
_END = object()


class Connection:
    """One websocket; ``run`` serves it until either side closes."""

    def __init__(self, *, compressed: bool) -> None:
        self.session: Session | None = None
        self.client_code: int | None = None
        """The code with which the client closed; None when the close began here."""
        self._queue: asyncio.Queue[object] = asyncio.Queue(maxsize=QUEUE_FRAMES)
        self._packer = zlib.compressobj(ZLIB_LEVEL) if compressed else None
        self._commands: deque[float] = deque(maxlen=SEND_LIMIT[0])
        self._transport: asyncio.BaseTransport | None = None
        self._ended_here = False

    # Outwards; none of these wait

    def send(self, frame: str) -> None:
        """Send one JSON text."""
        self._put(frame)

    def close(self, code: int) -> None:
        """Close with a code after what is queued has gone out."""
        self._put(int(code))

    def abort(self) -> None:
        """Cut the connection."""
        self._put(_ABORT)

    def _put(self, item: object) -> None:
        try:
            self._queue.put_nowait(item)
        except asyncio.QueueFull:
            if isinstance(self._transport, asyncio.Transport):
                self._transport.abort()

    # Serving

    async def run(self, request: web.Request, gateway: Gateway) -> web.WebSocketResponse:
        """Serve until the connection ends."""
        socket = web.WebSocketResponse(timeout=CLOSE_SECONDS, compress=False, max_msg_size=0)
        await socket.prepare(request)
        self._transport = request.transport
        hello = {"heartbeat_interval": int(HEARTBEAT_SECONDS * 1000), "_trace": []}
        self.send(json.dumps({"op": int(Op.HELLO), "d": hello, "s": None, "t": None}))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write(socket), name="playground.gateway.writer")
            try:
                await self._read(socket, gateway)
            finally:
                self._put(_END)
        self.client_code = None if self._ended_here else socket.close_code
        return socket

    async def _write(self, socket: web.WebSocketResponse) -> None:
        while (item := await self._queue.get()) is not _END:
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                self._ended_here = not isinstance(item, str)
                if item is _ABORT:
                    if isinstance(self._transport, asyncio.Transport):
                        self._transport.abort()
                    return
                if isinstance(item, int):
                    await socket.close(code=item)
                    return
                await self._send(socket, str(item))

    async def _send(self, socket: web.WebSocketResponse, frame: str) -> None:
        if self._packer is None:
            await socket.send_str(frame)
            return
        packed = self._packer.compress(frame.encode()) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        await socket.send_bytes(packed)

    async def _read(self, socket: web.WebSocketResponse, gateway: Gateway) -> None:
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                self.close(CloseCode.DECODE_ERROR)
                continue
            try:
                command = json.loads(message.data)
                op, data = command["op"], command.get("d")
            except (ValueError, TypeError, KeyError, AttributeError):
                self.close(CloseCode.DECODE_ERROR)
                continue
            fault = self._obey(gateway, op, data)
            if fault is not None:
                self.close(fault)

    def _obey(self, gateway: Gateway, op: object, data: object) -> CloseCode | None:
        now = time.monotonic()
        self._commands.append(now)
        if len(self._commands) == SEND_LIMIT[0] and now - self._commands[0] < SEND_LIMIT[1]:
            return CloseCode.RATE_LIMITED
        if op == Op.HEARTBEAT:
            if gateway.heartbeat_acked():
                loop = asyncio.get_running_loop()
                loop.call_later(ACK_DELAY_SECONDS, self.send, _ACK)
            return None
        if op in {Op.IDENTIFY, Op.RESUME}:
            if self.session is not None:
                return CloseCode.ALREADY_AUTHENTICATED
            if not isinstance(data, dict):
                return CloseCode.DECODE_ERROR
            (gateway.identify if op == Op.IDENTIFY else gateway.resume)(self, data)
            return None
        if self.session is None:
            return CloseCode.NOT_AUTHENTICATED
        if op == Op.REQUEST_MEMBERS and isinstance(data, dict):
            gateway.request_members(self.session, data)
            return None
        known = {Op.PRESENCE, Op.VOICE_STATE, Op.SOUNDBOARD}
        return None if op in known else CloseCode.UNKNOWN_OPCODE


_ACK = json.dumps({"op": int(Op.HEARTBEAT_ACK), "d": None, "s": None, "t": None})
