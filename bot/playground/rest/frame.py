"""The frame of the REST side: every request is logged, checked, limited, carried out, answered.

The handlers (``messages``, ``channels``, ``commands``) are plain functions from a ``Call`` to an
answer; they touch the world and nothing else. Each bot has its own, over the world as it meets it
(``Side``), and the token of a request says which. Order of the checks: the log, the body, scripted
faults, the token, rate limits, the handler.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from pydantic import BaseModel, ValidationError

from bot.playground.entities import Payload, Upload
from bot.playground.errors import ApiError, from_validation, one_field, refusal, unauthorized
from bot.playground.faults import limit_headers, too_many

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from bot.playground.faults import Fault, Faults

API = "/api/v10"
LOG_ENTRIES = 50_000
"""How many requests the log keeps."""
BODY_LIMIT_BYTES = 32 * 1024 * 1024

Answer: TypeAlias = Payload | list[Payload] | None
"""JSON of a 200, or None for a 204."""

T = TypeVar("T", bound=BaseModel)


@dataclass(slots=True, kw_only=True)
class Request:
    """One REST request as it was seen. ``at_ns`` is ``time.monotonic_ns`` at its arrival."""

    method: str
    route: str
    """The template, such as ``/channels/{channel_id}/messages``; "" when there is none."""
    path: str
    query: Mapping[str, str]
    at_ns: int
    body: Any = None
    files: tuple[str, ...] = ()
    status: int = 0
    """The answer's status; 0 while it is being worked on or when it was cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a handler gets."""

    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    uploads: tuple[Upload, ...] = ()

    def id(self, name: str) -> int:
        """Return a snowflake of the path; 50035 when it is none."""
        return _snowflake(self.params[name], name)

    def parsed(self, model: type[T]) -> T:
        """Return the body as a model; 50035 when it does not fit."""
        try:
            return model.model_validate({} if self.body is None else self.body)
        except ValidationError as exc:
            raise from_validation(exc) from exc

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """Return a bounded number of the query; 50035 when it is none."""
        raw = self.query.get(name)
        if raw is None:
            return default
        if not raw.isascii() or not raw.isdigit() or not least <= int(raw) <= most:
            raise _no_number(name, raw)
        return int(raw)


def _snowflake(raw: str, name: str) -> int:
    if not raw.isascii() or not raw.isdigit():
        raise _no_number(name, raw)
    return int(raw)


def _no_number(name: str, raw: str) -> ApiError:
    return one_field((name,), "NUMBER_TYPE_COERCE", f'Value "{raw[:40]}" is not snowflake.')


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One route of a bot; ``public`` ones carry their token in the path."""

    method: str
    template: str
    handler: Callable[[Call], Answer]
    status: int
    public: bool


class Side:
    """The routes of one bot, by method and template."""

    def __init__(self) -> None:
        self.routes: dict[tuple[str, str], Route] = {}

    def route(
        self,
        method: str,
        template: str,
        handler: Callable[[Call], Answer],
        *,
        status: int = 200,
        public: bool = False,
    ) -> None:
        """Add a route."""
        self.routes[method, template] = Route(
            method=method, template=template, handler=handler, status=status, public=public
        )


@dataclass(slots=True, kw_only=True)
class Rest:
    """The API: its routes, its log of requests and its faults. ``token`` is the first bot's."""

    token: str
    faults: Faults
    log: list[Request] = field(default_factory=list)
    changed: Callable[[], None] = lambda: None
    """Called whenever a request came in or was answered."""
    first: Side = field(default_factory=Side)
    """The first bot's routes; whatever needs no token is asked of them."""
    further: dict[str, Side] = field(default_factory=dict)
    """Those of the others, by token."""

    def attach(self, app: web.Application) -> None:
        """Put all routes, and the answer to unknown ones, into an application."""

        def unknown(_call: Call) -> Answer:
            raise ApiError(404, 0, "404: Not Found")

        nowhere = Route(method="*", template="", handler=unknown, status=404, public=True)
        for route in self.first.routes.values():
            app.router.add_route(route.method, API + route.template, self._served(route))
        app.router.add_route("*", API + "/{tail:.*}", self._served(nowhere))

    def _served(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def serve(request: web.Request) -> web.StreamResponse:
            return await self._serve(request, route)

        return serve

    def _asked(self, request: web.Request, route: Route) -> Route | None:
        """Give the route of the bot whose token the request has; None where one is needed."""
        given = request.headers.get("Authorization", "")
        if route.public or given == f"Bot {self.token}":
            return route
        side = self.further.get(given.removeprefix("Bot "))
        return side.routes[route.method, route.template] if side else None

    async def _serve(self, request: web.Request, route: Route) -> web.StreamResponse:
        seen = Request(
            method=request.method,
            route=route.template,
            path=request.path.removeprefix(API),
            query=dict(request.query),
            at_ns=time.monotonic_ns(),
        )
        self.log.append(seen)
        del self.log[:-LOG_ENTRIES]
        try:
            return await self._work(request, seen, route)
        finally:
            self.changed()

    async def _work(self, request: web.Request, seen: Request, route: Route) -> web.StreamResponse:
        template = route.template
        try:
            uploads = await _read_body(request, seen)
        except ApiError as exc:
            return _finish(seen, exc.status, exc.payload(), {})
        self.changed()
        fault = self.faults.take(request.method, template, seen.path)
        if fault is not None and fault.hold is not None and not fault.after:
            await fault.hold.wait()
        if fault is not None and not fault.after and (fault.drop or fault.status is not None):
            return self._spoil(request, seen, fault)
        asked = self._asked(request, route)
        if asked is None:
            denied = unauthorized()
            return _finish(seen, denied.status, denied.payload(), {})
        verdict = self.faults.limits.take(request.method, template, _major(request, template))
        headers = verdict.headers if verdict else {}
        if verdict is not None and verdict.retry_after is not None:
            body = too_many(verdict.retry_after, is_global=verdict.is_global)
            extra = limit_headers(verdict.retry_after, verdict.scope)
            return _finish(seen, 429, body, headers | extra)
        call = Call(params=request.match_info, query=seen.query, body=seen.body, uploads=uploads)
        try:
            answer = asked.handler(call)
        except ApiError as exc:
            return _finish(seen, exc.status, exc.payload(), headers)
        if fault is not None and fault.after:
            if fault.hold is not None:
                await fault.hold.wait()
            if fault.drop or fault.status is not None:
                return self._spoil(request, seen, fault)
        status = asked.status if answer is not None else 204
        return _finish(seen, status, _altered(answer, fault), headers)

    @staticmethod
    def _spoil(request: web.Request, seen: Request, fault: Fault) -> web.StreamResponse:
        if fault.drop and request.transport is not None:
            request.transport.close()
            return web.Response(status=500)
        return _finish(seen, fault.status or 500, fault.body, fault.headers or {})


def _altered(answer: Answer, fault: Fault | None) -> Answer:
    if fault is None or fault.fields is None or not isinstance(answer, dict):
        return answer
    return answer | fault.fields


def _major(request: web.Request, template: str) -> str:
    for name in ("channel_id", "guild_id", "token"):
        if f"{{{name}}}" in template:
            return request.match_info[name]
    return ""


def _finish(
    seen: Request, status: int, body: Answer | str, headers: Mapping[str, str]
) -> web.StreamResponse:
    seen.status = status
    if body is None:
        return web.Response(status=204, headers=headers)
    if isinstance(body, str):
        return web.Response(status=status, text=body, content_type="text/html", headers=headers)
    return web.Response(
        status=status,
        body=json.dumps(body).encode(),
        content_type="application/json",
        headers=headers,
    )


async def _read_body(request: web.Request, seen: Request) -> tuple[Upload, ...]:
    """Read JSON or multipart into the log entry; return the files."""
    if request.content_type == "multipart/form-data":
        return await _read_parts(request, seen)
    try:
        raw = await request.read()
    except web.HTTPRequestEntityTooLarge as exc:
        raise refusal(40005) from exc
    if raw:
        seen.body = _json(raw)
    return ()


async def _read_parts(request: web.Request, seen: Request) -> tuple[Upload, ...]:
    try:
        files = await _files(request, seen)
    except (ValueError, AssertionError, HttpProcessingError) as exc:  # aiohttp's, on broken parts
        raise refusal(50109) from exc
    seen.files = tuple(upload.filename for upload in files.values())
    return tuple(_named(files, _notes(seen.body)))


async def _files(request: web.Request, seen: Request) -> dict[str, Upload]:
    files: dict[str, Upload] = {}
    total = 0
    async for part in await request.multipart():
        if not isinstance(part, aiohttp.BodyPartReader):
            raise refusal(50109)
        data = bytes(await part.read(decode=False))
        total += len(data)
        if total > BODY_LIMIT_BYTES:
            raise refusal(40005)
        if part.name == "payload_json":
            seen.body = _json(data)
            continue
        index = (part.name or "").removeprefix("files[").removesuffix("]")
        files[index] = Upload(filename=part.filename or "file", data=data)
    return files


def _notes(body: Any) -> dict[str, Payload]:  # noqa: ANN401 - any JSON may stand here
    holder = body
    if isinstance(body, dict):  # the answers to interactions and forum posts hold it one level down
        holder = next((body[k] for k in ("data", "message") if isinstance(body.get(k), dict)), body)
    notes = holder.get("attachments") if isinstance(holder, dict) else None
    found = notes if isinstance(notes, list) else []
    return {str(n.get("id")): n for n in found if isinstance(n, dict)}


def _named(files: Mapping[str, Upload], notes: Mapping[str, Payload]) -> Sequence[Upload]:
    return [
        Upload(
            filename=notes.get(index, {}).get("filename") or upload.filename,
            data=upload.data,
            description=notes.get(index, {}).get("description"),
        )
        for index, upload in files.items()
    ]


def _json(raw: bytes) -> Any:  # noqa: ANN401 - any JSON may stand here
    try:
        value = json.loads(raw)
        if b"\\u" in raw:  # a lone surrogate is no text; Discord calls it invalid JSON
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as exc:
        raise refusal(50109) from exc
    return value
