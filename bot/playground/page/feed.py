"""What happens in the world, sent to everyone who has the page open.

Each open page gets what its person may see. A page that reads too slowly is disconnected: it comes
back by itself and reads everything anew.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import WSCloseCode, web

from bot.playground.page.views import message_view

if TYPE_CHECKING:
    from bot.playground.entities import Event, Payload
    from bot.playground.world.state import World

QUEUE_EVENTS = 500
"""How far a page may fall behind."""
HEARTBEAT_SECONDS = 30.0
CLOSE_SECONDS = 1.0
"""How long a page may take to say good-bye back."""
_HIDDEN_PREFIX = "PLAYGROUND_"
_PLACES = ("CHANNEL_", "THREAD_", "GUILD_")
_NO_PLACES = frozenset({"CHANNEL_PINS_UPDATE"})


@dataclass(slots=True, kw_only=True, eq=False)
class Viewer:
    """One open page."""

    user_id: int
    socket: web.WebSocketResponse
    queue: asyncio.Queue[str | None] = field(
        default_factory=lambda: asyncio.Queue(maxsize=QUEUE_EVENTS)
    )

    def offer(self, text: str) -> None:
        """Queue an event; None ends a viewer that has fallen too far behind."""
        if self.queue.full():
            while not self.queue.empty():
                self.queue.get_nowait()
            self.queue.put_nowait(None)
        else:
            self.queue.put_nowait(text)


class Feed:
    """All open pages."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._viewers: set[Viewer] = set()

    def publish(self, event: Event) -> None:
        """Tell everyone who may see it; a page that nobody has open costs nothing."""
        for viewer in tuple(self._viewers):
            told = self.translate(event, viewer.user_id)
            if told is not None:
                # Escaped: lone surrogates are valid in texts of people, not in UTF-8.
                viewer.offer(json.dumps(told))

    def translate(self, event: Event, viewer_id: int) -> Payload | None:
        """Say an event in the page's words; None when this person does not see it."""
        if not self._sees(event, viewer_id):
            return None
        name = event.name.removeprefix(_HIDDEN_PREFIX)
        channel = str(event.channel_id)
        if name == "MESSAGE_DELETE":
            return {"type": "gone", "channel": channel, "ids": [event.data["id"]]}
        if name == "MESSAGE_DELETE_BULK":
            return {"type": "gone", "channel": channel, "ids": event.data["ids"]}
        if name == "TYPING_START":
            return {"type": "typing", "channel": channel, "user": event.data["user_id"]}
        if event.message is not None:
            view = message_view(self._world, event.message, viewer_id)
            return {"type": "message", "fresh": name == "MESSAGE_CREATE", "message": view}
        if name.startswith(_PLACES) and name not in _NO_PLACES:
            return {"type": "world"}
        return None

    def _sees(self, event: Event, viewer_id: int) -> bool:
        if event.only_for is not None:
            return event.only_for == viewer_id
        channel = self._world.channels.get(event.channel_id or 0)
        if channel is not None:
            return self._world.sees(channel, viewer_id)
        guild = self._world.guilds.get(event.guild_id or 0)
        return guild is None or viewer_id in guild.members

    def bot_came_or_went(self, *, online: bool) -> None:
        """Tell all pages whether the bot is connected."""
        for viewer in tuple(self._viewers):
            viewer.offer(json.dumps({"type": "bot", "online": online}))

    async def serve(self, request: web.Request, user_id: int) -> web.WebSocketResponse:
        """Keep one page up to date until it leaves."""
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS, timeout=CLOSE_SECONDS)
        await socket.prepare(request)
        viewer = Viewer(user_id=user_id, socket=socket)
        self._viewers.add(viewer)
        try:
            async with asyncio.TaskGroup() as group:
                writer = group.create_task(_write(viewer), name="page-feed")
                async for _ in socket:  # the page says nothing here; this notices its end
                    pass
                writer.cancel()
        finally:
            self._viewers.discard(viewer)
        return socket

    async def close(self, _: web.Application) -> None:
        """Say good-bye to all pages; a signal of aiohttp."""
        async with asyncio.TaskGroup() as group:
            for viewer in self._viewers:
                group.create_task(viewer.socket.close(code=WSCloseCode.GOING_AWAY))


async def _write(viewer: Viewer) -> None:
    try:
        while (text := await viewer.queue.get()) is not None:
            await viewer.socket.send_str(text)
        await viewer.socket.close(code=WSCloseCode.TRY_AGAIN_LATER)
    except ConnectionError:
        return  # the page left while it was being told something
