"""What was spent, for those whom it concerns: a person his own sums, the owner everybody's.

A day is a date in the owner's time zone, as for the limits; the sums are theirs as well. Whose sums
are read is the caller's word, which comes from the platform's ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sessions.allowance import Allowance, Holder, Refusal, Spender, Standing
from sessions.store.usage import Spent, UsageStore

MAX_DAYS: Final = 90
_WEEK: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnUsage:
    """One person's: sums, where he stands today, and why he would be refused here now."""

    days: int
    """How many the longest sum covers, today included."""
    today: Spent
    week: Spent
    whole: Spent
    standing: Standing
    refusal: Refusal | None
    timezone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeUsage:
    """Everybody's. ``days`` are without a gap, the oldest first; the rest is by tokens."""

    days: tuple[tuple[str, Spent], ...]
    imps: tuple[tuple[str, Spent], ...]
    conversations: tuple[tuple[str, Spent], ...]
    """By the channel's id; what was said in threads counts for their channel."""

    @property
    def total(self) -> Spent:
        """All days together."""
        return total_of(spent for _, spent in self.days)


class UsageBook:
    """Reads; every method raises ``StoreUnavailable`` when the database cannot answer in time."""

    def __init__(self, store: UsageStore, allowance: Allowance) -> None:
        self._store = store
        self._allowance = allowance

    async def own(self, spender: Spender, days: int) -> OwnUsage:
        """Read one person's usage, and how he stands where he asks."""
        dates, person = self._dates(days), spender.user_id or ""
        found = await self._store.by_day(dates, kind=Holder.USER, holder=person)
        return OwnUsage(
            days=len(dates),
            today=found.get(dates[-1], Spent()),
            week=_sum(found, dates[-_WEEK:]),
            whole=_sum(found, dates),
            standing=self._allowance.standing(Holder.USER, person),
            refusal=self._allowance.refusal(spender),
            timezone=self._allowance.timezone,
        )

    async def whole(self, days: int) -> WholeUsage:
        """Read everybody's usage; for owners."""
        dates = self._dates(days)
        found = await self._store.by_day(dates, kind=Holder.TOTAL, holder="")
        return WholeUsage(
            days=tuple((day, found.get(day, Spent())) for day in dates),
            imps=await self._store.by_holder(dates, kind=Holder.IMP),
            conversations=await self._store.by_holder(dates, kind=Holder.CHANNEL),
        )

    def _dates(self, days: int) -> list[str]:
        today = self._allowance.today
        count = max(1, min(days, MAX_DAYS))
        return [(today - timedelta(days=back)).isoformat() for back in range(count)][::-1]


def total_of(sums: Iterable[Spent]) -> Spent:
    """Add up."""
    total = Spent()
    for each in sums:
        total += each
    return total


def _sum(found: Mapping[str, Spent], days: Sequence[str]) -> Spent:
    return total_of(found[day] for day in days if day in found)
