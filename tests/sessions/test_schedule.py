"""Times of tasks, in both nights of daylight saving (P25), and how they are read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions.schedule import (
    MAX_CRON_CHARS,
    MAX_MISSED,
    Cron,
    Every,
    Once,
    Schedule,
    ScheduleUnreadable,
    first_time,
    missed_between,
    next_after,
    parse_schedule,
    read_schedule,
    repeats,
    schedule_words,
    span_words,
    write_schedule,
)

BERLIN = "Europe/Berlin"
ZONE = ZoneInfo(BERLIN)
NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
LINES = ("30 8 * * *", "30 2 * * *", "0 3 * * 1-5", "*/20 * * * *", "15 1,2,3 * * *", "0 0 1 * *")
ZONES = (BERLIN, "America/New_York", "Australia/Lord_Howe", "UTC")


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000)


def local(*parts: int) -> int:
    return ms(datetime(*parts, tzinfo=ZONE))  # type: ignore[arg-type, misc]  # a date's parts


def parse(at: str = "", every: str = "", cron: str = "", zone: str = BERLIN) -> Schedule:
    return parse_schedule(at=at, every=every, cron=cron, zone=zone, now=NOW, least_seconds=300)


def times(schedule: Schedule, after_ms: int, count: int) -> list[str]:
    found = []
    for _ in range(count):
        at_ms = next_after(schedule, after_ms)
        assert at_ms is not None
        after_ms = at_ms
        found.append(datetime.fromtimestamp(at_ms / 1_000, ZONE).isoformat())
    return found


@pytest.mark.parametrize("night", [(2026, 3, 29), (2026, 10, 25)])
def test_a_daily_0830_comes_once_each_local_day_over_both_nights(
    night: tuple[int, int, int],
) -> None:
    """P25: "one 08:30 each local day", whichever way the clocks go."""
    start = datetime(*night, tzinfo=ZONE) - timedelta(days=3)
    found = times(Cron(line="30 8 * * *", zone=BERLIN), ms(start), 6)
    assert [each[11:16] for each in found] == ["08:30"] * 6
    assert len({each[:10] for each in found}) == 6


def test_an_hour_that_is_left_out_runs_right_after_it_and_a_double_one_once() -> None:
    """P25: 02:30 does not exist in spring and comes twice in autumn."""
    daily = Cron(line="30 2 * * *", zone=BERLIN)
    assert times(daily, local(2026, 3, 28, 12), 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]
    assert times(daily, local(2026, 10, 24, 12), 2) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]
    second_half_past_two = ms(datetime(2026, 10, 25, 1, 30, tzinfo=UTC))
    after = times(daily, second_half_past_two - 60_000, 1)
    assert after == ["2026-10-26T02:30:00+01:00"], "asked within the repeated hour"


@settings(deadline=None, max_examples=40)
@given(
    line=st.sampled_from(LINES),
    zone=st.sampled_from(ZONES),
    minute=st.integers(0, 2 * 366 * 24 * 60),
)
def test_the_next_time_is_always_later_and_none_lies_between(
    line: str, zone: str, minute: int
) -> None:
    """Whatever the moment, times go on and on, and asking from in between finds the same one."""
    schedule = Cron(line=line, zone=zone)
    after_ms = ms(datetime(2026, 1, 1, tzinfo=UTC)) + minute * 60_000
    found = [after_ms]
    for _ in range(4):
        at_ms = next_after(schedule, found[-1])
        assert at_ms is not None
        found.append(at_ms)
    for before, after in pairwise(found):
        assert before < after
        assert next_after(schedule, (before + after) // 2) == after


@settings(deadline=None, max_examples=40)
@given(
    seconds=st.integers(60, 10_000_000),
    first=st.integers(0, 2**41),
    after=st.integers(0, 2**41),
)
def test_every_keeps_its_rhythm_from_its_first_time(seconds: int, first: int, after: int) -> None:
    """No drift: each time is a whole number of steps from the first."""
    schedule = Every(seconds=seconds, first_ms=first)
    at_ms = next_after(schedule, after)
    assert at_ms is not None
    assert at_ms > after
    assert at_ms >= first
    assert (at_ms - first) % (seconds * 1_000) == 0
    assert at_ms == first or at_ms - seconds * 1_000 <= after


def test_missed_times_are_counted_up_to_a_bound() -> None:
    """One run stands for all that nobody was there for."""
    daily = Cron(line="30 8 * * *", zone=BERLIN)
    due = local(2026, 3, 27, 8, 30)
    assert missed_between(daily, due, due + 3_600_000) == 0
    assert missed_between(daily, due, local(2026, 3, 30, 9)) == 3
    every = Every(seconds=60, first_ms=0)
    assert missed_between(every, 0, 10**12) == MAX_MISSED
    assert missed_between(Once(at_ms=5), 5, 10**12) == 0


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("08:30", (2026, 11, 30, 8, 30)),
        ("3:59", (2026, 12, 1, 3, 59)),
        ("tomorrow 08:30", (2026, 12, 1, 8, 30)),
        ("Today 18:00", (2026, 11, 30, 18, 0)),
        ("in 20m", (2026, 11, 30, 4, 20)),
        ("1h30m", (2026, 11, 30, 5, 30)),
        ("in 2 hours", (2026, 11, 30, 6, 0)),
        ("2026-12-24 18:00", (2026, 12, 24, 18, 0)),
        ("2026-12-24T17:00Z", (2026, 12, 24, 18, 0)),
    ],
)
def test_times_that_people_write(at: str, expected: tuple[int, ...]) -> None:
    """By the clock of the zone; it is four in the morning there."""
    assert parse(at) == Once(at_ms=local(*expected))


def test_nothing_means_now() -> None:
    """A task without a time is due at once."""
    assert parse() == Once(at_ms=ms(NOW))
    assert first_time(parse(every="2h"), ms(NOW)) == ms(NOW) + 7_200_000
    assert first_time(parse(cron="@daily"), ms(NOW)) == local(2026, 12, 1)


def test_the_least_distance_itself_is_not_too_often() -> None:
    """Issue "Tasks": the owner's bound is one that may be reached."""
    assert parse(every="5m") == Every(seconds=300, first_ms=ms(NOW) + 300_000)
    assert isinstance(parse(cron="*/5 * * * *"), Cron)
    long_line = " ".join(("0", "8", ",".join(["1"] * 96), "*", "*"))
    assert len(long_line) == MAX_CRON_CHARS - 1
    assert isinstance(parse(cron=long_line), Cron)
    assert isinstance(parse(cron=long_line.replace("0 8", "00 8")), Cron)


def test_bounds_may_be_reached_and_not_passed() -> None:
    """Five years ahead, a line of 200 signs, a thousand missed times; one more is too much."""
    ends = NOW + timedelta(days=5 * 366)
    assert parse(at=ends.isoformat()) == Once(at_ms=ms(ends))
    assert parse(every="1830d") == Every(seconds=1830 * 86_400, first_ms=ms(ends))
    assert next_after(Once(at_ms=5), 4) == 5
    assert next_after(Once(at_ms=5), 5) is None
    padded = "0 8 1 1 " + ",".join(["1"] * 96)
    assert isinstance(parse(cron=f"0{padded}"), Cron)
    for wish in (
        {"at": (ends + timedelta(milliseconds=1)).isoformat()},
        {"at": NOW.isoformat()},
        {"every": "1831d"},
        {"cron": f"000{padded}"},
        {"every": "4m59s"},
    ):
        with pytest.raises(ScheduleUnreadable):
            parse(**wish)
    minute = Every(seconds=60, first_ms=0)
    assert MAX_MISSED == 1_000
    assert missed_between(minute, 0, 999 * 60_000) == 999
    assert missed_between(minute, 0, 1_001 * 60_000) == 1_000


def test_every_unit_has_its_length() -> None:
    """In every spelling that people write."""
    for text, seconds in (
        ("600s", 600),
        ("600 seconds", 600),
        ("10 min", 600),
        ("2 hrs", 7_200),
        ("1 day", 86_400),
        ("2 weeks", 1_209_600),
        ("1w1d1h1m1s", 694_861),
    ):
        assert parse(every=text) == Every(seconds=seconds, first_ms=ms(NOW) + seconds * 1_000)
    words = [span_words(seconds) for seconds in (1, 59, 60, 90, 3_600, 7_200, 86_400, 172_800)]
    assert words == [
        *("second", "59 seconds", "minute", "90 seconds"),
        *("hour", "2 hours", "day", "2 days"),
    ]


MIDNIGHTS = ("America/Santiago", "Africa/Cairo", "America/Havana", "Atlantic/Azores")


@pytest.mark.parametrize("zone", [*MIDNIGHTS, "Australia/Lord_Howe", "Pacific/Chatham"])
def test_a_daily_time_comes_once_each_local_day_where_midnight_is_left_out(zone: str) -> None:
    """P25: clocks are put on at midnight, by half an hour, or at a quarter to three."""
    days = 366
    for line in ("0 0 * * *", "45 2 * * *"):
        at_ms, found = ms(datetime(2026, 1, 1, 12, tzinfo=UTC)), list[str]()
        for _ in range(days):
            following = next_after(Cron(line=line, zone=zone), at_ms)
            assert following is not None
            at_ms = following
            found.append(f"{datetime.fromtimestamp(at_ms / 1_000, ZoneInfo(zone)):%Y-%m-%d}")
        first = datetime.fromisoformat(found[0])
        assert found == [f"{first + timedelta(days=day):%Y-%m-%d}" for day in range(days)]


@pytest.mark.parametrize(
    ("wish", "part"),
    [
        ({"at": "yesterday"}, "such as"),
        ({"at": "2026-12-24"}, "such as"),
        ({"at": "25:00"}, "no such time"),
        ({"at": "2020-01-01 08:00"}, "over already"),
        ({"at": "today 01:00"}, "over already"),
        ({"at": "2040-01-01 08:00"}, "too far"),
        ({"at": "9999-12-31 23:59"}, "too far"),
        ({"every": "soon"}, "span of time"),
        ({"every": "10m or so"}, "span of time"),
        ({"at": "in about 10m"}, "such as"),
        ({"every": "2m"}, "every 5 minutes at most"),
        ({"every": "9999 weeks"}, "too seldom"),
        ({"cron": "* * * * *"}, "too often"),
        ({"cron": "0,2 8 * * *"}, "too often"),
        ({"cron": "* * *"}, "five fields"),
        ({"cron": "x 8 * * *"}, "five fields"),
        ({"cron": "0 0 30 2 *"}, "five fields"),
        ({"cron": "* * * * * *"}, "five fields"),
        ({"cron": f"{'0' * 5_000} * * * *"}, "five fields"),
        ({"cron": "0 0 32 * *"}, "five fields"),
        ({"cron": "*/7 * * * *"}, "too often"),
        ({"cron": "0 8 * * *", "zone": "Middle/Earth"}, "time zone"),
        ({"at": "08:30", "every": "1d"}, "one of"),
    ],
)
def test_what_is_no_time_is_told(wish: dict[str, str], part: str) -> None:
    """The sentence says what would do."""
    with pytest.raises(ScheduleUnreadable) as caught:
        parse(**wish)
    assert part in caught.value.safe_message


@pytest.mark.parametrize(
    ("wish", "words", "again"),
    [
        ({"at": "08:30"}, "once, 2026-11-30 08:30 (Europe/Berlin)", False),
        ({"every": "90m"}, "every 90 minutes", True),
        ({"every": "1d"}, "every day", True),
        ({"cron": "30 8 * * mon-fri"}, "cron 30 8 * * MON-FRI (Europe/Berlin)", True),
    ],
)
def test_a_schedule_is_told_and_kept(wish: dict[str, str], words: str, again: bool) -> None:  # noqa: FBT001
    """What is written into the store reads back as it was."""
    schedule = parse(**wish)
    assert schedule_words(schedule, BERLIN) == words
    assert repeats(schedule) is again
    assert read_schedule(write_schedule(schedule)) == schedule


def test_no_schedule_is_read_out_of_something_else() -> None:
    """Damage is not taken for a time."""
    with pytest.raises(ValueError, match="no schedule"):
        read_schedule('{"once": "soon"}')
