"""Faults that a test or a curious person tells the playground to have.

All are counted out: a fault with ``times=1`` happens once. Routes are written as in Discord's
documentation, ``/channels/{channel_id}/messages``; ``*`` matches anything, and a route may also be
given with real ids. With ``after=True`` the request is carried out first and only its answer is
spoiled ("created, but answered 500").
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bot.playground.ratelimit import Limits, Rule

if TYPE_CHECKING:
    import asyncio

    from bot.playground.entities import Payload

SEND = "/channels/{channel_id}/messages"
"""The route of sending a message, which most faults are about."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """One scripted fault of the REST side.

    ``status`` None lets the answer through (after ``hold``), with ``fields`` put over its own;
    ``drop`` cuts the connection. A ``body`` of text is a page of HTML.
    """

    method: str
    route: str
    times: int
    after: bool = False
    status: int | None = None
    body: Payload | str | None = None
    fields: Payload | None = None
    headers: dict[str, str] | None = None
    drop: bool = False
    hold: asyncio.Event | None = None

    def covers(self, method: str, template: str, path: str) -> bool:
        """Say whether a request meets this fault."""
        return fnmatchcase(method, self.method) and (
            template == self.route or fnmatchcase(template, self.route) or path == self.route
        )


class Faults:
    """The script of faults, for REST and gateway."""

    def __init__(self) -> None:
        self.limits = Limits()
        self.gateway_down = False
        """While true, the gateway answers 503 to new connections."""
        self.identify_spacing_seconds = 0.0
        """With Discord's 5.0, a second IDENTIFY of a shard bucket within it gets op 9."""
        self.replay_more = 0
        """How many events that the client already has each RESUME replays as well."""
        self.heartbeat_acks = True
        """While false, heartbeats stay unanswered."""
        self._script: list[Fault] = []
        self._swallow: Counter[str] = Counter()

    def fail(
        self,
        method: str = "POST",
        route: str = SEND,
        *,
        status: int = 500,
        code: int = 0,
        message: str = "Internal Server Error",
        times: int = 1,
        after: bool = False,
    ) -> None:
        """Answer with an error."""
        body: Payload = {"message": message, "code": code}
        self._script.append(
            Fault(method=method, route=route, times=times, after=after, status=status, body=body)
        )

    def alter(
        self,
        fields: Payload,
        method: str = "POST",
        route: str = SEND,
        *,
        times: int = 1,
    ) -> None:
        """Carry the request out, and put fields over those of its answer."""
        self._script.append(
            Fault(method=method, route=route, times=times, after=True, fields=fields)
        )

    def answer(
        self, body: Payload | str | None, method: str = "POST", route: str = SEND, *, times: int = 1
    ) -> None:
        """Carry the request out, and answer 200 with this: JSON, a page of HTML, nothing at all."""
        status = 204 if body is None else 200
        self._script.append(
            Fault(method=method, route=route, times=times, after=True, status=status, body=body)
        )

    def rate_limit(
        self,
        method: str = "POST",
        route: str = SEND,
        *,
        retry_after: float,
        times: int = 1,
        is_global: bool = False,
        scope: str = "user",
    ) -> None:
        """Answer 429, with ``retry_after`` in seconds."""
        scope = "global" if is_global else scope
        self._script.append(
            Fault(
                method=method,
                route=route,
                times=times,
                status=429,
                body=too_many(retry_after, is_global=is_global),
                headers=limit_headers(retry_after, scope),
            )
        )

    def drop(
        self, method: str = "POST", route: str = SEND, *, times: int = 1, after: bool = False
    ) -> None:
        """Cut the connection instead of answering."""
        self._script.append(Fault(method=method, route=route, times=times, after=after, drop=True))

    def hold(
        self,
        until: asyncio.Event,
        method: str = "POST",
        route: str = SEND,
        *,
        times: int = 1,
        after: bool = False,
    ) -> None:
        """Let the request (or, with ``after``, only its answer) wait until an event is set."""
        self._script.append(Fault(method=method, route=route, times=times, after=after, hold=until))

    def limit(
        self, method: str, route: str, *, count: int, seconds: float, scope: str = "user"
    ) -> None:
        """Switch on a real limit: so many requests in so many seconds per major parameter."""
        self.limits.rules.append(
            Rule(method=method, route=route, count=count, seconds=seconds, scope=scope)
        )

    def realistic_limits(self) -> None:
        """Switch on limits like Discord's: 50 a second over all, 5 messages in 5 s a channel."""
        self.limit("*", "*", count=50, seconds=1.0, scope="global")
        self.limit("POST", SEND, count=5, seconds=5.0)
        self.limit("PATCH", SEND + "/{message_id}", count=5, seconds=5.0)
        self.limit("PUT", "*/reactions/*", count=1, seconds=0.3)
        self.limit("POST", "/channels/{channel_id}/threads", count=50, seconds=300.0)

    def swallow(self, event: str, *, times: int = 1) -> None:
        """Lose the next gateway events of a name: the bot never hears of them."""
        self._swallow[event] += times

    def clear(self) -> None:
        """Forget everything that was scripted."""
        self.__init__()  # type: ignore[misc]  # a fresh script is exactly a new object

    def take(self, method: str, template: str, path: str) -> Fault | None:
        """Return the fault that this request meets, and count it."""
        for fault in self._script:
            if fault.covers(method, template, path):
                fault.times -= 1
                if fault.times <= 0:
                    self._script.remove(fault)
                return fault
        return None

    def loses(self, event: str) -> bool:
        """Say whether this gateway event gets lost, and count it."""
        if not self._swallow[event]:
            return False
        self._swallow[event] -= 1
        return True


def too_many(retry_after: float, *, is_global: bool) -> Payload:
    """Return the body of a 429."""
    return {
        "message": "You are being rate limited.",
        "retry_after": round(retry_after, 3),
        "global": is_global,
    }


def limit_headers(retry_after: float, scope: str) -> dict[str, str]:
    """Return the headers of a 429; clients take one without ``Via`` for a ban by the edge."""
    headers = {
        "Via": "1.1 playground",
        "Retry-After": str(max(1, round(retry_after))),
        "X-RateLimit-Scope": scope,
    }
    if scope == "global":
        headers["X-RateLimit-Global"] = "true"
    return headers
