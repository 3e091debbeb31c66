"""What may still be spent today, and by whom; asked before each model call.

The sums of the day are kept in memory and in the database: a call is refused without waiting for a
disk, and a restart forgets nothing. Bots of a process share the sums in memory (``day_sums``): the
limits are those of the whole installation. A day is a date in the owner's time zone, so a changed
clock moves its end and never its sums (P25).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import structlog

from compiler.request import ImpName, RunScope
from sessions.clock import Clock
from sessions.day_sums import DaySums
from sessions.errors import StoreUnavailable
from sessions.limits import EngineSettings, UsageLimits
from sessions.store.usage import SpentRow, UsageStore
from sessions.wire.usage import WireUsage
from sessions.zones import zone_of

_log = structlog.get_logger(__name__)
_MICRO: Final = 1_000_000
_KINDS: Final = frozenset({"user", "channel", "imp", "total"})


class Holder(StrEnum):
    """Whose allowance it is; the narrowest first, so that a refusal names who has to wait."""

    USER = "user"
    CHANNEL = "channel"
    IMP = "imp"
    TOTAL = "total"


class AllowanceErrorCode(StrEnum):
    """Stable names of the refusals, also found in ``TurnOutcome.error_code``."""

    USER = "limit_user"
    CHANNEL = "limit_channel"
    IMP = "limit_imp"
    TOTAL = "limit_total"


_CODES: Final = MappingProxyType({holder: AllowanceErrorCode[holder.name] for holder in Holder})
_SENTENCES: Final = MappingProxyType(
    {
        Holder.USER: "You have used up your share of my model for today.",
        Holder.CHANNEL: "This channel has used up its share of my model for today.",
        Holder.IMP: "I have used up my share of the model for today.",
        Holder.TOTAL: "My model's allowance for today is used up.",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spender:
    """On whose behalf a call is made."""

    imp: ImpName
    user_id: str | None
    channel_id: str | None

    @classmethod
    def of(cls, imp: ImpName, scope: RunScope) -> Spender:
        """Read it from a scope; a thread spends its channel's share."""
        return cls(imp=imp, user_id=scope.user_id, channel_id=scope.home_channel_id)

    def holders(self) -> tuple[tuple[Holder, str], ...]:
        """Name all whose sums grow by the call."""
        named = (
            (Holder.USER, self.user_id),
            (Holder.CHANNEL, self.channel_id),
            (Holder.IMP, self.imp),
            (Holder.TOTAL, ""),
        )
        return tuple((kind, holder) for kind, holder in named if holder is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A call that must not be made. ``opens_at`` is when its day ends."""

    code: AllowanceErrorCode
    safe_message: str
    opens_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a holder stands today; a limit of 0 is none. Money in millionths of a US dollar."""

    tokens: int
    micro_usd: int
    limit_tokens: int
    limit_micro_usd: int

    @property
    def is_over(self) -> bool:
        """Whether the next call would be refused."""
        over_tokens = 0 < self.limit_tokens <= self.tokens
        return over_tokens or 0 < self.limit_micro_usd <= self.micro_usd


class Allowance:
    """What one bot may spend: the sums of the day at hand, and their limits."""

    def __init__(
        self,
        store: UsageStore,
        limits: Callable[[], UsageLimits],
        *,
        clock: Clock,
        sums: DaySums | None = None,
    ) -> None:
        """Take the collaborators.

        Args:
            store: what this bot spent.
            limits: asked each time, so edits count at once.
            clock: says which day it is.
            sums: what all bots of the process spent; its own unless given.
        """
        self._store = store
        self._limits = limits
        self._clock = clock
        self._sums = DaySums() if sums is None else sums

    async def load(self) -> None:
        """Add what this bot spent today, once, before its first call.

        And on the days beside it, which a clock that is put right may make today.

        Raises:
            StoreUnavailable: the sums cannot be read.
        """
        days = [(self.today + timedelta(days=each)).isoformat() for each in (-1, 1, 0)]
        for row in [row for day in days for row in await self._store.of_day(day)]:
            if row.kind in _KINDS:
                key = (row.kind, row.holder)
                self._sums.add(row.day, key, tokens=row.tokens, micro_usd=row.micro_usd)

    def refusal(self, spender: Spender) -> Refusal | None:
        """Say whether a call must not be made now, and when it may be."""
        for kind, holder in spender.holders():
            if self.standing(kind, holder).is_over:
                return self._refusal(kind)
        return None

    def standing(self, kind: Holder, holder: str) -> Standing:
        """Say what a holder spent today, and what his limits are."""
        limits, spent = self._limits(), self._sums.of(self.today.isoformat(), (kind, holder))
        return Standing(
            tokens=spent.tokens,
            micro_usd=spent.micro_usd,
            limit_tokens=int(getattr(limits, f"{kind.value}_tokens")),
            limit_micro_usd=round(float(getattr(limits, f"{kind.value}_usd")) * _MICRO),
        )

    @property
    def today(self) -> date:
        """The owner's day."""
        return self._now().date()

    @property
    def timezone(self) -> str:
        """Where the day begins at midnight."""
        return self._limits().timezone

    def spend(
        self,
        spender: Spender,
        *,
        tokens: int,
        micro_usd: int,
        calls: int = 1,
        input_tokens: int = 0,
        cached_tokens: int = 0,
    ) -> tuple[SpentRow, ...]:
        """Count a call at once, and give the rows to be kept of it (``keep``).

        ``input_tokens`` and ``cached_tokens`` as in ``SpentRow``.
        """
        day = self.today.isoformat()
        for key in spender.holders():
            self._sums.add(day, key, tokens=tokens, micro_usd=micro_usd)
        return tuple(
            SpentRow(
                day=day,
                kind=kind,
                holder=holder,
                tokens=tokens,
                micro_usd=micro_usd,
                calls=calls,
                input_tokens=input_tokens,
                cached_tokens=cached_tokens,
            )
            for kind, holder in spender.holders()
        )

    async def keep(self, rows: tuple[SpentRow, ...]) -> None:
        """Write a call's rows; a failure is logged, and this host goes by what it remembers."""
        try:
            await self._store.add(rows)
        except StoreUnavailable as error:
            _log.error("usage.unrecorded", **error.facts)

    def _now(self) -> datetime:
        return self._clock.utc_now().astimezone(zone_of(self._limits().timezone))

    def _refusal(self, kind: Holder) -> Refusal:
        now = self._now()
        opens_at = datetime.combine(now.date() + timedelta(days=1), time(), now.tzinfo)
        when = opening_words(now, opens_at, self._limits().timezone)
        return Refusal(
            code=_CODES[kind], safe_message=f"{_SENTENCES[kind]} {when}", opens_at=opens_at
        )


def price_of(usage: WireUsage, engine: EngineSettings) -> int:
    """Give the price of a call in millionths of a US dollar, rounded up."""
    fresh = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
    # Prices are for a million tokens, so tokens times price are millionths of a dollar.
    return math.ceil(
        max(0, fresh) * engine.cost_input
        + usage.cached_tokens * engine.cost_cache_read
        + usage.cache_write_tokens * engine.cost_cache_write
        + usage.output_tokens * engine.cost_output
    )


def opening_words(now: datetime, opens_at: datetime, zone: str) -> str:
    """Say when it opens again: by the owner's clock, and how long that is."""
    # Subtracting two times of one zone would leave out a change to daylight saving.
    left = opens_at.timestamp() - now.timestamp()
    minutes = max(1, math.ceil(left / 60))
    span = f"{minutes} min" if minutes < 90 else f"{round(minutes / 60)} h"  # noqa: PLR2004
    return f"I can answer again at {opens_at:%H:%M} ({zone}), in {span}."
