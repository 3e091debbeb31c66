"""Rate limits as Discord counts them: fixed windows per route and major parameter, and one overall.

None is on by default; ``faults.Faults.limit`` and ``realistic_limits`` switch them on.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the limits say to one request. ``retry_after`` (seconds) is set when it is refused."""

    headers: dict[str, str]
    retry_after: float | None = None
    scope: str = "user"

    @property
    def is_global(self) -> bool:
        """Whether the limit over all routes refused it."""
        return self.scope == "global"


@dataclass(slots=True, kw_only=True)
class _Window:
    ends: float = 0.0
    used: int = 0


@dataclass(slots=True, kw_only=True)
class Rule:
    """``count`` requests in ``seconds``; ``method`` and ``route`` may hold ``*``."""

    method: str
    route: str
    count: int
    seconds: float
    scope: str = "user"
    windows: dict[str, _Window] = field(default_factory=dict)

    def covers(self, method: str, route: str) -> bool:
        """Say whether a request falls under this rule."""
        return fnmatchcase(method, self.method) and fnmatchcase(route, self.route)

    def bucket(self) -> str:
        """Return the bucket's name, stable as Discord's hashes are."""
        return hashlib.sha256(f"{self.method} {self.route}".encode()).hexdigest()[:32]


class Limits:
    """All rules; the first that refuses a request decides."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.rules: list[Rule] = []

    def take(self, method: str, route: str, major: str) -> Verdict | None:
        """Count one request; None when no rule covers it."""
        verdict: Verdict | None = None
        for rule in self.rules:
            if not rule.covers(method, route):
                continue
            everywhere = rule.scope == "global"
            found = self._count(rule, "" if everywhere else major)
            if found.retry_after is not None:
                return found
            if not everywhere:
                verdict = found
        return verdict

    def _count(self, rule: Rule, key: str) -> Verdict:
        now = self._now()
        window = rule.windows.setdefault(key, _Window())
        if now >= window.ends:
            window.ends, window.used = now + rule.seconds, 0
        left = window.ends - now
        refused = window.used >= rule.count
        window.used += not refused
        headers = {
            "X-RateLimit-Limit": str(rule.count),
            "X-RateLimit-Remaining": str(rule.count - window.used),
            "X-RateLimit-Reset": f"{time.time() + left:.3f}",
            "X-RateLimit-Reset-After": f"{left:.3f}",
            "X-RateLimit-Bucket": rule.bucket(),
        }
        return Verdict(headers=headers, retry_after=left if refused else None, scope=rule.scope)
