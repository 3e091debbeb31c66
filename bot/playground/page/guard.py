"""What keeps other pages and other machines away from the chat page.

The page has no password: whoever sits at this machine may be anyone in the playground. So it must
not be reachable for a page of the web that the same browser shows:

- Host: only names of the loopback interface with our port (DNS rebinding brings another name).
- Origin: whatever changes something, and the socket, must come from the page itself.
- Content-Security-Policy: nothing from elsewhere, no inline code, no frames. Files that people
  upload are never interpreted: they come sandboxed and, unless pictures or text, as downloads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILE_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
_SAFE_METHODS = frozenset({"GET", "HEAD"})


@web.middleware
async def guard(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse what does not come from the page itself."""
    if not is_our_host(request):
        return refused(421, "This address is not the playground's.")
    if not is_our_origin(request):
        return refused(403, "This may only be done from the playground's own page.")
    return await handler(request)


def is_our_host(request: web.Request) -> bool:
    """Say whether the Host header names this machine's loopback and our port."""
    local = request.transport.get_extra_info("sockname") if request.transport else None
    return local is not None and request.host in {f"{name}:{local[1]}" for name in LOOPBACK}


def is_our_origin(request: web.Request) -> bool:
    """Say whether the Origin is ours; reading may come without one."""
    origin = request.headers.get("Origin")
    opens_socket = request.headers.get("Upgrade", "").lower() == "websocket"
    if origin is None:
        site = request.headers.get("Sec-Fetch-Site", "none")
        return request.method in _SAFE_METHODS and not opens_socket and site != "cross-site"
    return origin == f"http://{request.host}"


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Set the headers of every answer; a signal of aiohttp."""
    headers = response.headers
    headers.setdefault("Content-Security-Policy", PAGE_POLICY)
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Referrer-Policy", "no-referrer")
    headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    headers.setdefault("Cache-Control", "no-cache")


def refused(status: int, text: str) -> web.Response:
    """Answer with one sentence, in the form that the page shows."""
    return web.json_response({"error": text}, status=status)
