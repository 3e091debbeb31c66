"""What may be spent in a day: who is refused, when it opens, and what a restart remembers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from compiler.request import ImpName
from sessions.allowance import (
    Allowance,
    AllowanceErrorCode,
    Holder,
    Spender,
    opening_words,
    price_of,
)
from sessions.day_sums import DaySums
from sessions.limits import EngineSettings, UsageLimits
from sessions.store.database import Database, open_database
from sessions.store.usage import SpentRow, UsageStore
from sessions.wire.usage import WireUsage
from sessions.zones import zone_of
from support.session_world import BOUND_SECONDS, ManualClock, scope_of

EMBER = ImpName("ember")
ADA = Spender(imp=EMBER, user_id="discord:7", channel_id="discord:100")
BO = Spender(imp=EMBER, user_id="discord:8", channel_id="discord:100")
CY = Spender(imp=ImpName("ash"), user_id="discord:9", channel_id="discord:200")


@dataclass(slots=True)
class Purse:
    """An allowance whose limits a test may change."""

    clock: ManualClock
    database: Database
    limits: UsageLimits
    allowance: Allowance

    def again(self) -> Allowance:
        """The allowance of the next host."""
        return Allowance(UsageStore(self.database), lambda: self.limits, clock=self.clock)


@pytest.fixture
async def purse(tmp_path: Path) -> AsyncIterator[Purse]:
    clock = ManualClock()
    async with open_database(
        tmp_path / "inglenook.db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        made = Purse(
            clock=clock,
            database=database,
            limits=UsageLimits(),
            allowance=Allowance(UsageStore(database), lambda: made.limits, clock=clock),
        )
        await made.allowance.load()
        yield made


async def spent(purse: Purse, spender: Spender, tokens: int, micro_usd: int = 0) -> None:
    rows = purse.allowance.spend(spender, tokens=tokens, micro_usd=micro_usd)
    await purse.allowance.keep(rows)


async def test_without_limits_nobody_is_refused(purse: Purse) -> None:
    """0 sets no limit."""
    await spent(purse, ADA, 10**12, 10**12)
    assert purse.allowance.refusal(ADA) is None


@pytest.mark.parametrize(
    ("limits", "code", "free"),
    [
        (UsageLimits(user_tokens=100), AllowanceErrorCode.USER, (BO, CY)),
        (UsageLimits(channel_tokens=100), AllowanceErrorCode.CHANNEL, (CY,)),
        (UsageLimits(imp_tokens=100), AllowanceErrorCode.IMP, (CY,)),
        (UsageLimits(total_tokens=100), AllowanceErrorCode.TOTAL, ()),
        (UsageLimits(user_usd=0.0001), AllowanceErrorCode.USER, (BO, CY)),
        (UsageLimits(channel_usd=0.0001), AllowanceErrorCode.CHANNEL, (CY,)),
        (UsageLimits(imp_usd=0.0001), AllowanceErrorCode.IMP, (CY,)),
        (UsageLimits(total_usd=0.0001), AllowanceErrorCode.TOTAL, ()),
    ],
)
async def test_each_limit_binds_its_holder_alone(
    purse: Purse, limits: UsageLimits, code: AllowanceErrorCode, free: tuple[Spender, ...]
) -> None:
    """Issue "Limits before the call": tokens and money; user, channel, imp, installation."""
    purse.limits = limits
    await spent(purse, ADA, 99, 99)
    assert purse.allowance.refusal(ADA) is None
    await spent(purse, ADA, 1, 1)
    refusal = purse.allowance.refusal(ADA)
    assert refusal is not None
    assert refusal.code == code
    assert [purse.allowance.refusal(each) for each in free] == [None] * len(free)


async def test_the_narrowest_limit_is_named(purse: Purse) -> None:
    """Who has to wait should read his own limit first."""
    purse.limits = UsageLimits(user_tokens=1, total_tokens=1)
    await spent(purse, ADA, 1)
    mine, other = purse.allowance.refusal(ADA), purse.allowance.refusal(BO)
    assert mine is not None
    assert other is not None
    assert (mine.code, other.code) == (AllowanceErrorCode.USER, AllowanceErrorCode.TOTAL)


async def test_one_plain_line_says_when_it_opens(purse: Purse) -> None:
    """23:16:35 UTC is a quarter past midnight in Paris."""
    purse.limits = UsageLimits(channel_tokens=1)
    await spent(purse, ADA, 1)
    refusal = purse.allowance.refusal(ADA)
    assert refusal is not None
    assert refusal.safe_message == (
        "This channel has used up its share of my model for today. "
        "I can answer again at 00:00 (UTC), in 44 min."
    )
    assert refusal.opens_at == datetime(2026, 11, 30, tzinfo=UTC)
    purse.limits = UsageLimits(channel_tokens=1, timezone="Europe/Paris")
    await spent(purse, ADA, 1)
    refusal = purse.allowance.refusal(ADA)
    assert refusal is not None
    assert refusal.safe_message.endswith("at 00:00 (Europe/Paris), in 24 h.")


async def test_midnight_opens_again(purse: Purse) -> None:
    """By the owner's clock; the day before is not carried over."""
    purse.limits = UsageLimits(user_tokens=1)
    await spent(purse, ADA, 1)
    assert purse.allowance.refusal(ADA) is not None
    purse.clock.advance(44 * 60)
    assert purse.allowance.refusal(ADA) is None


async def test_a_restart_remembers_the_day(purse: Purse) -> None:
    """Sums are read back; those of another day are not."""
    purse.limits = UsageLimits(user_tokens=100)
    await spent(purse, ADA, 60)
    await spent(purse, ADA, 40)
    next_host = purse.again()
    await next_host.load()
    assert next_host.refusal(ADA) is not None
    purse.clock.advance(24 * 3600)
    later = purse.again()
    await later.load()
    assert later.refusal(ADA) is None


async def test_a_clock_that_goes_back_finds_the_day_as_it_was(purse: Purse) -> None:
    """P25: a changed clock moves the day's end and never its sums, also after a restart."""
    purse.limits = UsageLimits(user_tokens=100)
    await spent(purse, ADA, 100)
    purse.clock.wall += timedelta(days=1)
    assert purse.allowance.refusal(ADA) is None
    await spent(purse, ADA, 1)
    next_host = purse.again()
    await next_host.load()
    purse.clock.wall -= timedelta(days=1)
    for allowance in (purse.allowance, next_host):
        assert allowance.refusal(ADA) is not None
    kept = await UsageStore(purse.database).of_day(purse.allowance.today.isoformat())
    assert {row.tokens for row in kept} == {100}


def test_only_a_few_days_are_held(purse: Purse) -> None:
    """Memory stays bounded over the years of a host."""
    for _ in range(400):
        purse.clock.wall += timedelta(days=1)
        purse.allowance.spend(ADA, tokens=1, micro_usd=0)
    assert len(purse.allowance._sums) <= 4
    assert purse.allowance.standing(Holder.USER, "discord:7").tokens == 1


async def test_edits_of_the_limits_count_at_once(purse: Purse) -> None:
    await spent(purse, ADA, 50)
    purse.limits = UsageLimits(user_tokens=50)
    assert purse.allowance.refusal(ADA) is not None
    purse.limits = UsageLimits(user_tokens=51)
    assert purse.allowance.refusal(ADA) is None


async def test_bots_of_one_process_share_the_limits(purse: Purse, tmp_path: Path) -> None:
    """Issue "Set up", limits of the whole installation: what one bot spent counts for the others,
    also after a restart; each keeps its own part."""
    purse.limits = UsageLimits(total_tokens=100)
    await spent(purse, ADA, 60)
    sums = DaySums()
    async with open_database(
        tmp_path / "other.db", clock=purse.clock, patience_seconds=BOUND_SECONDS
    ) as database:
        stores = [UsageStore(purse.database), UsageStore(database)]
        bots = [
            Allowance(store, lambda: purse.limits, clock=purse.clock, sums=sums) for store in stores
        ]
        for bot in bots:
            await bot.load()
        await bots[1].keep(bots[1].spend(CY, tokens=40, micro_usd=0))
        assert [bot.refusal(BO) is not None for bot in bots] == [True, True]
        day = purse.allowance.today.isoformat()
        kept = [await store.of_day(day) for store in stores]
    assert [{row.tokens for row in rows} for rows in kept] == [{60}, {40}]


async def test_a_store_that_fails_stops_no_answer(purse: Purse, tmp_path: Path) -> None:
    """The sum in memory holds; the failure is the log's."""
    purse.limits = UsageLimits(user_tokens=1)
    broken = SpentRow(day="d", kind="user", holder="x", tokens=1, micro_usd=0, calls=2**70)
    with pytest.raises(OverflowError):
        await UsageStore(purse.database).add([broken])
    assert await UsageStore(purse.database).of_day("d") == ()
    async with open_database(
        tmp_path / "inglenook.db", clock=purse.clock, patience_seconds=BOUND_SECONDS, read_only=True
    ) as read_only:
        allowance = Allowance(UsageStore(read_only), lambda: purse.limits, clock=purse.clock)
        await allowance.load()
        await allowance.keep(allowance.spend(ADA, tokens=1, micro_usd=0))
    assert allowance.refusal(ADA) is not None
    assert purse.allowance.refusal(ADA) is None


def test_prices_are_for_a_million_tokens_and_round_up() -> None:
    """Cached tokens have their own price; what is written to the cache as well."""
    engine = EngineSettings(cost_input=1, cost_output=4, cost_cache_read=0.1, cost_cache_write=2)
    usage = WireUsage(input_tokens=1000, cached_tokens=805, cache_write_tokens=95, output_tokens=10)
    assert price_of(usage, engine) == 411  # 100 + 80.5 + 190 + 40, rounded up


def test_a_thread_spends_its_channels_share() -> None:
    spender = Spender.of(EMBER, scope_of(300, parent=100))
    assert spender.channel_id == "discord:100"


@pytest.mark.parametrize(
    ("now", "opens", "zone", "words"),
    [
        ("2026-11-29T23:59:30+00:00", "2026-11-30T00:00:00+00:00", "UTC", "in 1 min."),
        ("2026-11-29T22:31:00+00:00", "2026-11-30T00:00:00+00:00", "UTC", "in 89 min."),
        ("2026-11-29T19:10:00+00:00", "2026-11-30T00:00:00+00:00", "UTC", "in 5 h."),
    ],
)
def test_the_wait_is_told_in_round_numbers(now: str, opens: str, zone: str, words: str) -> None:
    told = opening_words(datetime.fromisoformat(now), datetime.fromisoformat(opens), zone)
    assert told.endswith(words)


def test_a_day_of_daylight_saving_has_its_own_length() -> None:
    """P25: on that night in Paris the day is 25 hours long."""
    zone = zone_of("Europe/Paris")
    began = datetime(2026, 10, 25, 0, 0, tzinfo=zone)
    ends = datetime(2026, 10, 26, 0, 0, tzinfo=zone)
    assert opening_words(began, ends, "Europe/Paris").endswith("in 25 h.")


@pytest.mark.parametrize("name", ["Nowhere/Land", "", "/etc/passwd", "../../etc/passwd"])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no such time zone"):
        zone_of(name)
