"""When a task runs: once, at a time, every so often, or by a cron line in a time zone. Pure.

Times are kept as milliseconds since 1970, UTC, and worked out in the owner's zone. A night of
daylight saving moves no job: one for 08:30 comes once each local day; one for an hour that is left
out comes right after it, and one for an hour that comes twice runs in its first. For cron lines
that is what Debian's cron does, and ``cronsim`` with it; what it gives is taken only when it lies
after the moment asked for, so a clock that was set back brings nothing a second time (P25).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from cronsim import CronSim, CronSimError

from compiler.errors import SafeError
from sessions.zones import zone_of

MAX_MISSED: Final = 1_000
"""No more missed times are counted: it is told to people, and "many" is the same."""
MAX_AHEAD_DAYS: Final = 5 * 366
MAX_CRON_CHARS: Final = 200
"""Longer lines are nobody's wish, and a number in one could be too long to be read."""
_FIELDS: Final = 5
_LOOKED_AT: Final = 60
_LOOKED_AHEAD_MS: Final = 7 * 86_400_000
"""So many times of a cron line are looked at, and so far, for the distance between them."""
_NO_CRON: Final = (
    "A cron line has five fields (minute, hour, day, month, weekday), such as 30 8 * * 1-5."
)
_MACROS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
}
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SPAN: Final = re.compile(
    r"(\d{1,6})\s*(s|m|h|d|w)(?:ec(?:ond)?s?|in(?:ute)?s?|(?:ou)?rs?|ays?|eeks?)?(?=\s|\d|$)"
)
_CLOCK: Final = re.compile(r"(?:(today|tomorrow)\s+)?(\d{1,2}):(\d{2})")


class ScheduleErrorCode(StrEnum):
    """Why a time cannot be taken."""

    UNREADABLE = "schedule_unreadable"


class ScheduleUnreadable(SafeError):
    """A time that is none, is over, or comes too often; the sentence says what would do."""

    def __init__(self, safe_message: str) -> None:
        super().__init__(ScheduleErrorCode.UNREADABLE, safe_message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """At one moment."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Again and again, counted from its first time."""

    seconds: int
    first_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """By a cron line of five fields, in a time zone."""

    line: str
    zone: str


Schedule: TypeAlias = Once | Every | Cron


def next_after(schedule: Schedule, after_ms: int) -> int | None:
    """Give the first time that is later than a moment; None where there is none."""
    match schedule:
        case Once():
            return schedule.at_ms if schedule.at_ms > after_ms else None
        case Every():
            step_ms = schedule.seconds * 1_000
            passed = (after_ms - schedule.first_ms) // step_ms + 1
            return schedule.first_ms + max(0, passed) * step_ms
        case Cron():
            zone = zone_of(schedule.zone)
            for moment in CronSim(schedule.line, datetime.fromtimestamp(after_ms / 1_000, zone)):
                # Within an hour that comes twice the first answer may lie in the past.
                if (found := _ms(moment)) > after_ms:
                    return found
            return None
        case _:
            assert_never(schedule)


def first_time(schedule: Schedule, now_ms: int) -> int | None:
    """Give the first time of a schedule that is filed now."""
    match schedule:
        case Once():
            return schedule.at_ms
        case Every():
            return schedule.first_ms
        case Cron():
            return next_after(schedule, now_ms)
        case _:
            assert_never(schedule)


def repeats(schedule: Schedule) -> bool:
    """Whether there is more than one time."""
    return not isinstance(schedule, Once)


def missed_between(schedule: Schedule, due_ms: int, now_ms: int) -> int:
    """Count the times after the one that was due, up to now: one run stands for all of them."""
    count, at_ms = 0, next_after(schedule, due_ms)
    while at_ms is not None and at_ms <= now_ms and count < MAX_MISSED:
        count += 1
        at_ms = next_after(schedule, at_ms)
    return count


def parse_schedule(
    *, at: str = "", every: str = "", cron: str = "", zone: str, now: datetime, least_seconds: int
) -> Schedule:
    """Read when a person or a model wants something; with nothing given it is now.

    Raises:
        ScheduleUnreadable: with a sentence that says what would do.
    """
    if sum(map(bool, (at, every, cron))) > 1:
        raise ScheduleUnreadable("Give one of at, every and cron, not several.")
    now_ms = _ms(now)
    if every:
        seconds = _span(every)
        if seconds is None:
            raise ScheduleUnreadable('"every" needs a span of time, such as 30m, 2h or 1d.')
        _check_often(seconds, least_seconds)
        return Every(seconds=seconds, first_ms=now_ms + seconds * 1_000)
    if cron:
        return _cron(cron, zone, now_ms, least_seconds)
    if at:
        return Once(at_ms=_moment(at, zone, now))
    return Once(at_ms=now_ms)


def _moment(text: str, zone: str, now: datetime) -> int:
    wanted = text.strip().lower()
    seconds = _span(wanted.removeprefix("in "))
    if seconds is not None:
        at_ms = _ms(now) + seconds * 1_000
    elif (clock := _CLOCK.fullmatch(wanted)) is not None:
        at_ms = _next_clock(clock, _zone(zone), now)
    else:
        at_ms = _iso(wanted.upper(), _zone(zone))
    if at_ms <= _ms(now):
        raise ScheduleUnreadable("That time is over already.")
    if at_ms > _ms(now) + MAX_AHEAD_DAYS * 86_400_000:
        raise ScheduleUnreadable("That is too far ahead: five years at most.")
    return at_ms


def _next_clock(clock: re.Match[str], zone: tzinfo, now: datetime) -> int:
    """Find the time of day that was named; without a day, the next one."""
    try:
        wanted = time(int(clock[2]), int(clock[3]))
    except ValueError as error:
        raise ScheduleUnreadable("There is no such time of day.") from error
    today = now.astimezone(zone).date()
    if clock[1] == "tomorrow":
        return _local(today + timedelta(days=1), wanted, zone)
    at_ms = _local(today, wanted, zone)
    if at_ms <= _ms(now) and clock[1] is None:
        return _local(today + timedelta(days=1), wanted, zone)
    return at_ms


def _iso(text: str, zone: tzinfo) -> int:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or ":" not in text:
        raise ScheduleUnreadable(
            '"at" needs a time, such as 08:30, tomorrow 08:30, 2026-12-24 18:00 or in 20m.'
        )
    return _ms(found if found.tzinfo is not None else found.replace(tzinfo=zone))


def _cron(text: str, zone: str, now_ms: int, least_seconds: int) -> Cron:
    line = " ".join(_MACROS.get(text.strip().lower(), text).upper().split())
    _zone(zone)
    schedule = Cron(line=line, zone=zone)
    if len(line) > MAX_CRON_CHARS or len(line.split(" ")) != _FIELDS:
        raise ScheduleUnreadable(_NO_CRON)
    try:
        at_ms = next_after(schedule, now_ms)
    except CronSimError as error:
        raise ScheduleUnreadable(_NO_CRON) from error
    if at_ms is None or at_ms > now_ms + MAX_AHEAD_DAYS * 86_400_000:
        raise ScheduleUnreadable("That cron line never comes.")
    last_ms, seen = at_ms + _LOOKED_AHEAD_MS, 0
    while (later := next_after(schedule, at_ms)) is not None and later < last_ms:
        _check_often((later - at_ms) // 1_000, least_seconds)
        at_ms, seen = later, seen + 1
        if seen == _LOOKED_AT:
            break
    return schedule


def _check_often(seconds: int, least_seconds: int) -> None:
    if seconds < least_seconds:
        raise ScheduleUnreadable(f"That is too often: every {span_words(least_seconds)} at most.")
    if seconds > MAX_AHEAD_DAYS * 86_400:
        raise ScheduleUnreadable("That is too seldom: every five years at least.")


def _span(text: str) -> int | None:
    """Read ``90m``, ``1h30m`` or ``2 hours`` as seconds; None if it is no span."""
    wanted = text.strip().lower()
    found = list(_SPAN.finditer(wanted))
    if not found or "".join(wanted.split()) != "".join("".join(m[0].split()) for m in found):
        return None
    return sum(int(match[1]) * _UNITS[match[2]] for match in found) or None


def _zone(name: str) -> tzinfo:
    try:
        return zone_of(name)
    except ValueError as error:
        raise ScheduleUnreadable(
            "I know no such time zone. One is, for example, Europe/Paris."
        ) from error


def _local(day: date, wanted: time, zone: tzinfo) -> int:
    return _ms(datetime.combine(day, wanted, tzinfo=zone))


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000)


# For people, and for the store.


def span_words(seconds: int) -> str:
    """Say a span in its largest even unit."""
    for unit, name in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= unit and seconds % unit == 0:
            count = seconds // unit
            return f"{count} {name}s" if count > 1 else name
    return f"{seconds} seconds"


def moment_words(at_ms: int, zone: str) -> str:
    """Say a moment by the clock of a zone."""
    return f"{datetime.fromtimestamp(at_ms / 1_000, zone_of(zone)):%Y-%m-%d %H:%M} ({zone})"


def schedule_words(schedule: Schedule, zone: str) -> str:
    """Say when a task runs."""
    match schedule:
        case Once():
            return f"once, {moment_words(schedule.at_ms, zone)}"
        case Every():
            return f"every {span_words(schedule.seconds)}"
        case Cron():
            return f"cron {schedule.line} ({schedule.zone})"
        case _:
            assert_never(schedule)


def write_schedule(schedule: Schedule) -> str:
    """Write a schedule for the store."""
    match schedule:
        case Once():
            form: dict[str, object] = {"once": schedule.at_ms}
        case Every():
            form = {"every": schedule.seconds, "first": schedule.first_ms}
        case Cron():
            form = {"cron": schedule.line, "zone": schedule.zone}
        case _:
            assert_never(schedule)
    return json.dumps(form, separators=(",", ":"))


def read_schedule(text: str) -> Schedule:
    """Read what ``write_schedule`` wrote.

    Raises:
        ValueError: it wrote something else.
    """
    match json.loads(text):
        case {"once": int(at_ms)}:
            return Once(at_ms=at_ms)
        case {"every": int(seconds), "first": int(first_ms)}:
            return Every(seconds=seconds, first_ms=first_ms)
        case {"cron": str(line), "zone": str(zone)}:
            return Cron(line=line, zone=zone)
        case _:
            raise ValueError("no schedule")


def utc(at_ms: int) -> datetime:
    """Give a moment as a time."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC)
