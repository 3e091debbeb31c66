"""The addresses of the chat page, all under ``/playground/``.

The page itself is plain files in ``static/`` without a build step, and fetches nothing from
elsewhere.

What page and playground say to each other, all under ``/playground/api/``:

- ``GET world?as=ID`` people, servers, conversations (``views.world_view``)
- ``GET messages?as=ID&channel=ID[&before=ID]`` a page of messages
- ``GET commands?as=ID&channel=ID`` the commands that this person is offered
- ``GET events?as=ID`` a WebSocket of what happens from now on (``feed``)
- ``POST say|edit|delete|react|slash|click|...`` JSON, or a form with files (``acts``)

Who may ask at all: ``guard``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from aiohttp import BodyPartReader, web
from pydantic import ValidationError

from bot.playground.entities import Payload, Upload
from bot.playground.errors import ApiError, refusal
from bot.playground.page.acts import Acts
from bot.playground.page.feed import Feed
from bot.playground.page.guard import FILE_POLICY, add_headers, guard, refused
from bot.playground.page.views import history, people, world_view
from bot.playground.people.invocation import NotOfferedError
from bot.playground.world import payloads

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.playground.entities import Attachment, Event
    from bot.playground.server import Playground

PREFIX = "/playground"
STATIC = Path(__file__).parents[1] / "static"
PAGE_MESSAGES = 50
TOY_BANNER = (
    "This is a local playground: nothing leaves this machine. "
    "The embedded model is tiny, and its answers are toys."
)
LOCAL_BANNER = "This is a local playground, not Discord: nobody but you is here."
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def attach(app: web.Application, playground: Playground, *, banner: str = LOCAL_BANNER) -> None:
    """Add the page to a playground's application before it starts."""
    Page(playground, banner=banner).attach(app)


class Page:
    """The routes of the page. ``banner`` says above all messages what this place is."""

    def __init__(self, playground: Playground, *, banner: str = LOCAL_BANNER) -> None:
        self.banner = banner
        self._pg = playground
        self._acts = Acts(playground)
        self._feed = Feed(playground.world)

    def attach(self, app: web.Application) -> None:
        """Add the routes, and follow what happens in the world."""
        sub = web.Application(middlewares=[guard])
        sub.on_response_prepare.append(add_headers)
        sub.on_shutdown.append(self._feed.close)
        sub.router.add_get("/", self._index)
        sub.router.add_get("/api/world", _answering(self._world))
        sub.router.add_get("/api/messages", _answering(self._messages))
        sub.router.add_get("/api/commands", _answering(self._commands))
        sub.router.add_get("/api/events", _answering(self._events))
        for name in self._acts.names:
            sub.router.add_post(f"/api/{name}", _answering(self._act))
        sub.router.add_get("/files/{channel}/{attachment}/{name}", _answering(self._file))
        sub.router.add_static("/", STATIC)
        app.router.add_get("/", _to_page)
        app.router.add_get(PREFIX, _to_page)
        app.add_subapp(PREFIX, sub)
        self._pg.subscribe(self._happened)

    def _happened(self, event: Event) -> None:
        if event.name == "PLAYGROUND_PRESENCE":
            self._feed.bot_came_or_went(online=event.data["online"])
        else:
            self._feed.publish(event)

    # Reading

    async def _index(self, _: web.Request) -> web.FileResponse:
        return web.FileResponse(STATIC / "index.html")

    async def _world(self, request: web.Request) -> web.Response:
        chosen = request.query.get("as")
        first = next(int(p["id"]) for p in people(self._pg.world) if not p["bot"])
        known = chosen is not None and _id(chosen) in self._pg.world.users
        # A browser may remember a person of an earlier world.
        who = self._acts.person(_id(chosen or "")).id if known else first
        online = self._pg.connected.is_set()
        return _json(world_view(self._pg.world, who, online=online, banner=self.banner))

    async def _messages(self, request: web.Request) -> web.Response:
        who = _id(request.query["as"])
        channel = self._acts.channel(who, _id(request.query["channel"]))
        before = _id(request.query["before"]) if "before" in request.query else None
        return _json(history(self._pg.world, channel, who, before=before, limit=PAGE_MESSAGES))

    async def _commands(self, request: web.Request) -> web.Response:
        who = _id(request.query["as"])
        channel = self._acts.channel(who, _id(request.query["channel"]))
        offers = self._pg.offers(who, channel)
        every = [payloads.command(item, bot.id) for bot, commands in offers for item in commands]
        return _json({"commands": every})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        return await self._feed.serve(request, self._acts.person(_id(request.query["as"])).id)

    async def _file(self, request: web.Request) -> web.Response:
        item = self._pg.world.attachments.get(_id(request.match_info["attachment"]))
        if item is None:
            raise refusal(10008)
        return web.Response(
            body=item.data, headers=file_headers(item, download="download" in request.query)
        )

    # Doing

    async def _act(self, request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        files: tuple[Upload, ...] = ()
        if request.content_type == "application/json":
            raw = await request.json()
        elif request.content_type == "multipart/form-data":
            raw, files = await _form(request)
        else:
            return refused(415, "Send JSON, or a form with files.")
        return _json(await self._acts.carry_out(name, raw, files))


def file_headers(item: Attachment, *, download: bool) -> dict[str, str]:
    """Give the headers under which a person's file is harmless, whatever is in it."""
    kind = (item.content_type or "").partition(";")[0]
    shown = kind if kind in _PICTURES else "text/plain; charset=utf-8"
    inline = (kind in _PICTURES or kind.startswith("text/")) and not download
    name = quote(item.filename, safe="", errors="replace")
    return {
        "Content-Type": shown if inline else "application/octet-stream",
        "Content-Disposition": f"{'inline' if inline else 'attachment'}; filename*=UTF-8''{name}",
        "Content-Security-Policy": FILE_POLICY,
        "Cache-Control": "private, max-age=3600",
    }


def _answering(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Turn refusals into answers that the page can show."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except ApiError as error:
            return refused(error.status, words_of(error))
        except NotOfferedError as error:
            return refused(400, f"Not possible: {error}.")
        except (ValidationError, ValueError, KeyError):
            return refused(400, "The playground does not understand this.")

    return answer


def words_of(error: ApiError) -> str:
    """Say a refusal in words, with the first field that it is about."""
    node: object = error.errors
    path: list[str] = []
    while isinstance(node, dict) and "_errors" not in node and node:
        key, node = next(iter(node.items()))
        path.append(str(key))
    if isinstance(node, dict) and node.get("_errors"):
        return f"{'.'.join(path)}: {node['_errors'][0]['message']}"
    return error.message


async def _form(request: web.Request) -> tuple[Payload, tuple[Upload, ...]]:
    """Read a form: one field of JSON, and files."""
    body: Payload = {}
    files: list[Upload] = []
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            raise ValueError("nested form")  # noqa: TRY004 -- the form is wrong, not our types
        data = bytes(await part.read(decode=False))
        if part.filename is None:
            body = json.loads(data)
        else:
            kind = part.headers.get("Content-Type")
            files.append(Upload(filename=part.filename, data=data, content_type=kind))
    return body, tuple(files)


def _id(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("no id")
    return int(text)


def _json(body: Payload) -> web.Response:
    # Escaped, so that lone surrogates in people's texts survive the way.
    return web.json_response(body)


async def _to_page(_: web.Request) -> web.Response:
    return web.Response(status=302, headers={"Location": f"{PREFIX}/"})
