"""Who may ask the page at all, and what every answer says to the browser.

- Host: only names of this machine's loopback. A name of somebody's domain that leads here (DNS
  rebinding) is turned away; the port may be another, as it is behind a tunnel.
- Origin: whatever changes something comes from the page itself, and with its form's token.
- Fetch metadata: another site's page may lead here by a link, and may load nothing from here.
- A session, but for the sign-in and the page's own files (``OPEN``).
- Content-Security-Policy: nothing inline, nothing from elsewhere, no frames. Nothing is cached.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

import structlog
from aiohttp import web
from aiohttp.typedefs import Middleware

from bot.inspector.doors import Doors, Session, is_token_of
from bot.logs import describe
from compiler.errors import SafeError
from sessions.review.inspection import InspectionErrorCode

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FILE_POLICY: Final = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""For texts that others wrote, as files."""
HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        # With "no-referrer" browsers name no origin when a form is sent, and it would be refused.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Cache-Control": "no-store",
    }
)
OPEN: Final = ("/sign-in", "/static/")
"""Paths, and beginnings of paths, that need no session."""
FORM_TOKEN: Final = "token"  # noqa: S105  (the name of a field)
FORM_TYPE: Final = "application/x-www-form-urlencoded"
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_MISSING: Final = frozenset({InspectionErrorCode.RUN_UNKNOWN, InspectionErrorCode.TURN_UNKNOWN})
_LOOPBACK: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?")
_SESSION: Final = web.RequestKey("session", Session)
_log = structlog.get_logger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

NOT_HERE: Final = "This address does not lead to the inspector. Open it as 127.0.0.1 or localhost."
NOT_FROM_HERE: Final = "This can only be done from the inspector's own pages. Go back, and again."
SIGNED_OUT: Final = (
    "You are not signed in here. Ask for a link with /inspect in Discord, or take the one that "
    "was printed when the bot started."
)
NOTHING_HERE: Final = "There is nothing at this address."
BROKEN: Final = "Something went wrong on this page. The bot's log tells what."


class Plain(Protocol):
    """Makes a page that holds one sentence."""

    def __call__(self, status: int, title: str, sentence: str) -> web.Response:
        """Make it."""


class Guard:
    """The middleware of the page; ``plain`` writes what it refuses with."""

    def __init__(self, doors: Doors, *, cookie: str, plain: Plain) -> None:
        self._doors = doors
        self._cookie = cookie
        self._plain = plain

    def middleware(self) -> Middleware:
        """Give it in aiohttp's form."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._around(request, handler)

        return guard

    async def _around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await self._refused(request) or await handler(request)
        except web.HTTPRedirection:
            raise
        except web.HTTPException as error:
            return self._plain(error.status, "Not here", NOTHING_HERE)
        except SafeError as error:
            _log.info("inspector.refused", code=str(error.code))
            status = 404 if error.code in _MISSING else 409
            return self._plain(status, "This cannot be shown", error.safe_message)
        except Exception as error:  # noqa: BLE001  (a page of its own, and the bot goes on)
            _log.error("inspector.failed", **describe(error))
            return self._plain(500, "This went wrong", BROKEN)

    async def _refused(self, request: web.Request) -> web.Response | None:
        if not is_loopback(request.host):
            return self._plain(421, "Not this address", NOT_HERE)
        if not is_ours(request.method, request.host, request.headers):
            return self._plain(403, "Not from there", NOT_FROM_HERE)
        if request.path in OPEN or request.path.startswith(OPEN[1]):
            return None
        session = self._doors.session(request.cookies.get(self._cookie, ""))
        if session is None:
            return self._plain(401, "Not signed in", SIGNED_OUT)
        if request.method not in _SAFE_METHODS:
            given = (await form_of(request)).get(FORM_TOKEN, "")
            if not is_token_of(session, given):
                return self._plain(403, "Not from there", NOT_FROM_HERE)
        request[_SESSION] = session
        return None


async def form_of(request: web.Request) -> Mapping[str, str]:
    """Read a form's fields, in the one form in which the pages send them; else there are none."""
    if request.content_type != FORM_TYPE:
        return {}
    try:
        fields = await request.post()
    except ValueError:
        return {}
    return {name: value for name, value in fields.items() if isinstance(value, str)}


def session_of(request: web.Request) -> Session:
    """Give the session that the guard found."""
    return request[_SESSION]


def is_loopback(host: str) -> bool:
    """Say whether a Host header names this machine's loopback, with or without a port."""
    return _LOOPBACK.fullmatch(host.lower()) is not None


def is_ours(method: str, host: str, headers: Mapping[str, str]) -> bool:
    """Say whether a request comes from the page itself, or is a link that was followed to it."""
    origin = headers.get("Origin")
    if method not in _SAFE_METHODS:
        return origin == f"http://{host}"
    if origin is not None and origin != f"http://{host}":
        return False
    if headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}:
        return True
    return headers.get("Sec-Fetch-Mode") == "navigate" and (
        headers.get("Sec-Fetch-Dest", "document") == "document"
    )


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Set the headers of every answer; a signal of aiohttp."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
