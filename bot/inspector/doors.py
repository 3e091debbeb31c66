"""Who may see the page: one-time links, the sessions that they open, and the forms' tokens.

A link works once and for minutes; whoever opens it has a session for hours. Only hashes of the
secrets are kept, so a lookup tells nothing by its time. All of it lives in this process: a restart
ends every session.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

_Kept = TypeVar("_Kept")
SECRET_BYTES: Final = 32
MAX_LINKS: Final = 8
"""Links that wait to be opened; an older one than these is dropped."""
MAX_SESSIONS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One browser that was let in. ``form_token`` stands in every form of its pages."""

    key: str
    form_token: str
    ends: float
    """In seconds of the monotonic clock."""


class Doors:
    """Hands out links and keeps sessions; ``now`` is a monotonic clock in seconds."""

    def __init__(
        self, *, link_seconds: float, session_seconds: float, now: Callable[[], float]
    ) -> None:
        self._link_seconds = link_seconds
        self._session_seconds = session_seconds
        self._now = now
        self._links: dict[str, float] = {}
        self._sessions: dict[str, Session] = {}

    def ticket(self) -> str:
        """Make the secret of a one-time link."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        self._links[_hash(secret)] = self._now() + self._link_seconds
        _keep_latest(self._links, MAX_LINKS)
        return secret

    def is_open(self, ticket: str) -> bool:
        """Say whether a link would still open, without using it up."""
        ends = self._links.get(_hash(ticket))
        return ends is not None and self._now() < ends

    def enter(self, ticket: str) -> tuple[str, Session] | None:
        """Use a link up; give the cookie's value and the session. None: used, old, or invented."""
        ends = self._links.pop(_hash(ticket), None)
        if ends is None or self._now() >= ends:
            return None
        cookie = secrets.token_urlsafe(SECRET_BYTES)
        session = Session(
            key=_hash(cookie),
            form_token=secrets.token_urlsafe(SECRET_BYTES),
            ends=self._now() + self._session_seconds,
        )
        self._sessions[session.key] = session
        _keep_latest(self._sessions, MAX_SESSIONS)
        return cookie, session

    def session(self, cookie: str) -> Session | None:
        """Find the session of a cookie while it lasts."""
        found = self._sessions.get(_hash(cookie))
        if found is None or not self.lasts(found):
            return None
        return found

    def lasts(self, session: Session) -> bool:
        """Say whether a session has neither ended nor been ended."""
        return session.key in self._sessions and self._now() < session.ends

    def leave(self, session: Session) -> None:
        """End a session."""
        self._sessions.pop(session.key, None)


def is_token_of(session: Session, given: str) -> bool:
    """Compare a form's token in constant time."""
    return hmac.compare_digest(session.form_token.encode(), given.encode("utf-8", "replace"))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _keep_latest(kept: dict[str, _Kept], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]
