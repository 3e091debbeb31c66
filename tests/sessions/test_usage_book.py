"""Whose sums are read, over which days, and what is kept of a person."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from compiler.request import ChannelId, ImpName, UserId
from sessions.allowance import Allowance, Spender
from sessions.limits import UsageLimits
from sessions.store import kept as kept_module
from sessions.store.database import Database, open_database
from sessions.store.kept import KeptOfPerson, KeptStore
from sessions.store.usage import Spent, UsageStore
from sessions.usage_book import MAX_DAYS, UsageBook
from support.recorded_runs import RUN, record_run
from support.session_world import BOUND_SECONDS, ManualClock

BO = Spender(imp=ImpName("ember"), user_id="discord:8", channel_id="discord:100")
CY = Spender(imp=ImpName("ash"), user_id="discord:9", channel_id="discord:200")
LIMITS = UsageLimits(user_tokens=1000, user_usd=0.5, channel_tokens=150, timezone="UTC")


@dataclass(slots=True)
class Desk:
    """A book, and what is written into it."""

    clock: ManualClock
    database: Database
    allowance: Allowance
    book: UsageBook

    async def spend(self, who: Spender, tokens: int, *, cached: int = 0) -> None:
        """Count a call whose prompt was all of it but one token."""
        rows = self.allowance.spend(
            who, tokens=tokens, micro_usd=tokens, input_tokens=tokens - 1, cached_tokens=cached
        )
        await self.allowance.keep(rows)

    def later(self, days: int) -> None:
        """Let days pass."""
        self.clock.advance(timedelta(days=days).total_seconds())


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = ManualClock()
    async with open_database(
        tmp_path / "inglenook.db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        store = UsageStore(database)
        allowance = Allowance(store, lambda: LIMITS, clock=clock)
        await allowance.load()
        yield Desk(
            clock=clock,
            database=database,
            allowance=allowance,
            book=UsageBook(store, allowance),
        )


async def test_a_person_reads_his_own_sums_alone(desk: Desk) -> None:
    """Issue: without other people's figures. Bo's account is the same without Cy and with him."""
    await desk.spend(BO, 100, cached=50)
    before = await desk.book.own(BO, 30)
    await desk.spend(CY, 7777)
    assert await desk.book.own(BO, 30) == before
    assert before.today == Spent(
        tokens=100, micro_usd=100, calls=1, input_tokens=99, cached_tokens=50
    )
    assert (before.standing.tokens, before.standing.limit_tokens) == (100, 1000)
    assert before.standing.limit_micro_usd == 500_000
    assert before.refusal is None


async def test_what_others_used_up_is_told_as_what_it_is(desk: Desk) -> None:
    """A full channel refuses a person who spent nothing; how full it is stays untold."""
    await desk.spend(BO, 200)
    other = Spender(imp=BO.imp, user_id="discord:10", channel_id=BO.channel_id)
    own = await desk.book.own(other, 30)
    assert own.refusal is not None
    assert "This channel" in own.refusal.safe_message
    assert own.standing.tokens == own.whole.tokens == 0


async def test_sums_cover_the_days_that_they_say(desk: Desk) -> None:
    await desk.spend(BO, 1)
    desk.later(6)
    await desk.spend(BO, 10)
    desk.later(1)
    await desk.spend(BO, 100)
    own = await desk.book.own(BO, 30)
    assert (own.today.tokens, own.week.tokens, own.whole.tokens) == (100, 110, 111)
    assert (await desk.book.own(BO, 2)).whole.tokens == 110
    assert own.standing.tokens == 100, "a limit is a day's"


async def test_the_owner_reads_everybody_by_day_imp_and_conversation(desk: Desk) -> None:
    await desk.spend(BO, 100, cached=99)
    desk.later(2)
    await desk.spend(CY, 300)
    whole = await desk.book.whole(4)
    assert [spent.tokens for _, spent in whole.days] == [0, 100, 0, 300]
    assert [day[-2:] for day, _ in whole.days] == ["28", "29", "30", "01"]
    assert [(name, spent.tokens) for name, spent in whole.imps] == [("ash", 300), ("ember", 100)]
    assert [name for name, _ in whole.conversations] == ["discord:200", "discord:100"]
    assert whole.total.tokens == 400
    assert whole.conversations[1][1].cache_share == 1.0
    assert len((await desk.book.whole(10_000)).days) == MAX_DAYS
    assert len((await desk.book.whole(0)).days) == 1


def test_nobody_told_of_a_cache() -> None:
    """What was spent before the cache was counted has no share, not a share of nothing."""
    assert Spent(tokens=5, calls=1).cache_share is None


async def test_what_is_kept_of_a_person_is_counted_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns by who asked, messages by who wrote them here; nobody else's are in it."""
    await record_run(tmp_path, run_id=RUN)
    async with open_database(
        tmp_path / "inglenook.db", clock=ManualClock(), patience_seconds=BOUND_SECONDS
    ) as database:
        insert = "INSERT INTO history VALUES (?, 'discord:1', NULL, ?, ?, 'x', 'text', 0, ?)"
        said = [("a", 1, "discord:7", 0), ("b", 2, "discord:8", 0), ("c", 3, "discord:7", 1)]

        await database.write(lambda db: db.executemany(insert, said))
        asker = await database.read(
            lambda db: UserId(db.execute("SELECT user_id FROM turns LIMIT 1").fetchone()[0])
        )
        store, here = KeptStore(database), ChannelId("discord:1")
        assert (await store.of_person(asker, here)).turns == 2
        assert await store.of_person(UserId("discord:7"), here) == KeptOfPerson(turns=0, messages=1)
        assert await store.of_person(UserId("discord:99"), None) == KeptOfPerson(
            turns=0, messages=0
        )
        monkeypatch.setattr(kept_module, "MOST", 1)
        assert (await store.of_person(asker, here)).turns == 2, "one more than the bound"
