"""What an owner asks of a year: lists, single runs and figures over 1,000,000 turns.

Rows are made up and written at once; one run among them has a real trace with full prompts. Then
the very readers of the inspector and of the slash commands are asked, the page over its own socket.
Drawing and Discord are not in the figures.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp

from bot.bench.figures import Figure, figure, milliseconds
from bot.bench.pure import recorded
from bot.inspector.server import open_inspector
from bot.names import NoNames
from bot.runs.book import RunBook
from bot.runs.inspect_text import run_text
from bot.runs.kept_traces import KeptTraces
from bot.runs.list_text import list_text
from bot.usage_text import whole_usage_text
from compiler.request import ChannelId, ImpName, RunId, TurnId, UserId
from config.homedir import DATABASE_FILE
from config.settings import InspectorSettings
from sessions.allowance import Allowance, Holder, Spender
from sessions.clock import Clock, SystemClock, timestamp
from sessions.limits import UsageLimits
from sessions.pruning import Pruner
from sessions.retention import RetentionSettings
from sessions.run_feed import RunFeed
from sessions.store.database import Database, open_database
from sessions.store.kept import KeptStore
from sessions.store.run_list import RunFilter, RunList
from sessions.store.runs import RunStore, TraceExtent
from sessions.store.usage import UsageStore
from sessions.trace import TraceWriter
from sessions.traces.writing import Occasion, compiled_event
from sessions.usage_book import UsageBook

YEAR_TURNS: Final = 1_000_000
TARGET_MS: Final = 200.0
_TURNS_OF_RUN: Final = 10
_DAYS: Final = 365
_CHANNELS, _PEOPLE, _IMPS = 60, 400, ("ember", "wren", "moss")
_CHUNK: Final = 20_000
_PATIENCE_SECONDS: Final = 60.0
_BEGAN: Final = datetime(2025, 11, 30, tzinfo=UTC)
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
Work = Callable[[], Awaitable[object]]


class _YearsEnd(SystemClock):
    """The moment after the last turn."""

    def utc_now(self) -> datetime:
        return _BEGAN + timedelta(days=_DAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What was filled in: a run with a trace, in the middle, and the first one."""

    turns: int
    middle: RunId
    first: RunId


async def year(home: Path, *, turns: int, rounds: int) -> list[Figure]:
    """Fill a home with a year and ask it what owners and people ask.

    The targets hold for the full year; with fewer turns the figures say how many there were.
    """
    (home / "runs").mkdir(parents=True)
    clock = _YearsEnd()
    async with open_database(home / DATABASE_FILE, clock=clock, patience_seconds=_PATIENCE_SECONDS):
        pass
    began = time.monotonic()
    made = _fill(home, turns)
    await _record(home, made.middle)
    filled_seconds = time.monotonic() - began
    began = time.monotonic()
    figures: list[Figure] = []
    async with open_database(
        home / DATABASE_FILE, clock=clock, patience_seconds=_PATIENCE_SECONDS
    ) as database:
        opened_seconds = time.monotonic() - began
        questions = await _questions(home, database, clock, made)
        for name, work in questions.items():
            figures.append(await _asked(name, work, rounds))
    async with _page(home) as get:
        for name, path in _PAGES.items():
            address = path.format(middle=made.middle, first=made.first)
            figures.append(await _asked(f"y  page: {name}", partial(get, address), rounds))
    size = (home / DATABASE_FILE).stat().st_size / 1e6
    return [
        *figures,
        figure("y  opening the database, checked", [opened_seconds * 1000]),
        figure(f"y  size of the database with {turns:,} turns", [size], unit="MB"),
        figure("y  filling it in (not the bot's work)", [filled_seconds], unit="s"),
    ]


_PAGES: Final = {
    "list of runs": "/",
    "list, its last page": "/?before={first}0",
    "list of one channel": "/?where=discord:107",
    "list of a rare outcome": "/?outcome=failed",
    "list of a common outcome": "/?outcome=replied",
    "list by a person": "/?q=2007",
    "list by a part of an id": "/?q=zzz",
    "list by what every id has": "/?q=2026",
    "list by what nothing has": "/?q=98765",
    "a run with its turns": "/runs/{middle}",
}


async def _questions(home: Path, database: Database, clock: Clock, made: _Made) -> dict[str, Work]:
    store, runs = RunStore(database), RunList(database)
    book = RunBook(home, store, kept=KeptTraces())
    allowance = Allowance(UsageStore(database), UsageLimits, clock=clock)
    await allowance.load()
    usage = UsageBook(UsageStore(database), allowance)
    person, channel = UserId("discord:2007"), ChannelId("discord:107")
    spender = Spender(user_id=person, channel_id=channel, imp=ImpName("ember"))
    pruner = Pruner(
        home=home,
        database=database,
        clock=clock,
        settings=lambda: RetentionSettings(trace_days=400, run_days=400, history_days=400),
        ordinal_at=lambda moment: int(moment.timestamp()),
    )

    async def listed() -> str:
        return list_text(await book.rows(20))

    async def shown(named: str) -> str:
        run = await book.open(named)
        return run_text(run.view, run.report)

    async def told() -> str:
        return whole_usage_text(await usage.whole(_DAYS), str)

    return {
        "y  /runs list": listed,
        "y  /runs list, a channel": lambda: book.rows(20, channel=channel),
        "y  /runs show, by id": lambda: shown(made.middle),
        "y  /runs show, by the end of an id": lambda: shown(made.middle[-8:]),
        "y  /runs verify": lambda: book.check(made.middle),
        "y  completing an id": lambda: book.complete("2026-03", 25),
        "y  the latest run": lambda: book.find("latest"),
        "y  filters of the list": runs.places,
        "y  runs by cost": lambda: runs.page(RunFilter(least_usd=0.2), 50),
        "y  /usage, the owner's, a year": told,
        "y  /usage, a person's": lambda: usage.own(spender, _DAYS),
        "y  /whoami": lambda: KeptStore(database).of_person(person, channel),
        "y  the hourly look for what is too old": pruner.look,
    }


async def _asked(name: str, work: Work, rounds: int) -> Figure:
    await work()
    times = []
    for _ in range(rounds):
        began_ns = time.perf_counter_ns()
        await work()
        times.append(milliseconds(time.perf_counter_ns() - began_ns))
    return figure(name, times, target=TARGET_MS)


@asynccontextmanager
async def _page(home: Path) -> AsyncIterator[Callable[[str], Awaitable[object]]]:
    """Sign in to the inspector of a home, and read its pages."""
    async with AsyncExitStack() as stack:
        inspector = await stack.enter_async_context(
            open_inspector(home, InspectorSettings(port=0), feed=RunFeed(), names=NoNames())
        )
        if inspector is None:
            raise RuntimeError("the inspector does not open")
        http = await stack.enter_async_context(
            aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        )
        form = {"ticket": inspector.link().partition("ticket=")[2]}
        headers = {"Origin": inspector.origin}
        async with http.post(f"{inspector.origin}/sign-in", data=form, headers=headers) as answer:
            answer.raise_for_status()

        async def get(path: str) -> object:
            async with http.get(f"{inspector.origin}{path}") as answer:
                answer.raise_for_status()
                return await answer.read()

        yield get


# --- a year, made up


def _fill(home: Path, turns: int) -> _Made:
    chance = random.Random(20_261_130)  # noqa: S311  (reproducible, not secret)
    count = max(2, turns // _TURNS_OF_RUN)
    step = timedelta(days=_DAYS) / count
    ids = [_run_id(chance, _BEGAN + step * number) for number in range(count)]
    with closing(sqlite3.connect(home / DATABASE_FILE, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        for start in range(0, count, _CHUNK):
            chosen = range(start, min(start + _CHUNK, count))
            db.execute("BEGIN")
            db.executemany(_RUN, (_run_row(chance, ids[n], _BEGAN + step * n) for n in chosen))
            for query, rows in (
                (_TURN, _turn_rows(chance, ids, chosen, step)),
                (_REPLY, _reply_rows(ids, chosen)),
                (_SAID, _said_rows(chance, chosen, step)),
            ):
                db.executemany(query, rows)
            db.execute("COMMIT")
        db.execute("BEGIN")
        db.executemany(_SPENT, _spent_rows(chance, people=max(8, min(_PEOPLE, turns // 100))))
        db.execute("COMMIT")
    for run_id in ids:
        (home / "runs" / run_id).mkdir()
    return _Made(turns=turns, middle=ids[count // 2], first=ids[0])


_RUN: Final = (
    "INSERT INTO runs (run_id, surface, imp, channel_id, is_dm, started_at, ended_at, end_reason,"
    " turns, cost_usd) VALUES (?, 'discord-session', ?, ?, ?, ?, ?, 'idle', ?, ?)"
)
_TURN: Final = (
    "INSERT INTO turns (run_id, turn_id, seq, user_id, accepted_at, outcome, error_code, total_us,"
    " input_tokens, output_tokens, cache_read_tokens, cost_usd, model_calls)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, 1500000, 300, 120, 2400, 0.004, 1)"
)
_REPLY: Final = "INSERT INTO replies (message_id, run_id, turn_id, at) VALUES (?, ?, ?, NULL)"
_SAID: Final = (
    "INSERT INTO history (message_id, channel_id, ordinal, author_id, author_label, text, is_imp)"
    " VALUES (?, ?, ?, ?, 'Bo', 'what is it about the hearth and the tea tonight', 0)"
)
_SPENT: Final = (
    "INSERT INTO usage_days (day, kind, holder, tokens, micro_usd, calls, input_tokens,"
    " cached_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def _run_id(chance: random.Random, at: datetime) -> RunId:
    return RunId(f"{at:%Y-%m-%d-%H-%M-%S}-{''.join(chance.choices(_ALPHABET, k=8))}")


def _run_row(chance: random.Random, run_id: RunId, at: datetime) -> tuple[object, ...]:
    place = chance.randrange(_CHANNELS)
    return (
        run_id,
        chance.choice(_IMPS),
        f"discord:{100 + place}",
        place % 3 == 0,
        timestamp(at),
        timestamp(at + timedelta(minutes=5)),
        _TURNS_OF_RUN,
        chance.expovariate(1 / 0.04),
    )


def _turn_rows(
    chance: random.Random, ids: list[RunId], chosen: range, step: timedelta
) -> Iterator[tuple[object, ...]]:
    for number in chosen:
        at = timestamp(_BEGAN + step * number)
        for seq in range(1, _TURNS_OF_RUN + 1):
            failed = chance.random() < 0.0005  # noqa: PLR2004  (rare)
            yield (
                ids[number],
                f"discord:message:{number * _TURNS_OF_RUN + seq}",
                seq,
                f"discord:{2000 + chance.randrange(_PEOPLE)}",
                at,
                "failed" if failed else "replied",
                "provider_error" if failed else "",
            )


def _reply_rows(ids: list[RunId], chosen: range) -> Iterator[tuple[object, ...]]:
    for number in chosen:
        for seq in range(1, _TURNS_OF_RUN + 1):
            turn = number * _TURNS_OF_RUN + seq
            yield f"discord:{10_000_000 + turn}", ids[number], f"discord:message:{turn}"


def _said_rows(
    chance: random.Random, chosen: range, step: timedelta
) -> Iterator[tuple[object, ...]]:
    for number in chosen:
        second = int((_BEGAN + step * number).timestamp())
        channel = f"discord:{100 + chance.randrange(_CHANNELS)}"
        for seq in range(1, _TURNS_OF_RUN + 1):
            message = number * _TURNS_OF_RUN + seq
            person = f"discord:{2000 + chance.randrange(_PEOPLE)}"
            yield f"discord:{20_000_000 + message}", channel, second, person


def _spent_rows(chance: random.Random, *, people: int) -> Iterator[tuple[object, ...]]:
    holders = [
        (Holder.TOTAL, ""),
        *((Holder.IMP, imp) for imp in _IMPS),
        *((Holder.CHANNEL, f"discord:{100 + number}") for number in range(_CHANNELS)),
        *((Holder.USER, f"discord:{2000 + number}") for number in range(people)),
    ]
    for back in range(_DAYS + 1):
        day = (_BEGAN + timedelta(days=back)).date().isoformat()
        for kind, holder in holders:
            tokens = chance.randrange(1_000, 90_000)
            yield day, kind.value, holder, tokens, tokens * 2, 9, tokens - 900, tokens // 2


async def _record(home: Path, run_id: RunId) -> None:
    """Give a run a real trace: its start and ten full turns."""
    chance = random.Random(20_261_130)  # noqa: S311  (reproducible, not secret)
    start, turn = recorded(chance, run_id)
    (home / "runs" / run_id).rmdir()
    trace = await TraceWriter.create(home / "runs" / run_id, run_id)
    try:
        extends = await trace.append(compiled_event(start, Occasion(at=_BEGAN)))
        for seq in range(1, _TURNS_OF_RUN + 1):
            named = TurnId(f"discord:message:{seq}")
            occasion = Occasion(at=_BEGAN, turn_id=named, extends=extends)
            await trace.append(compiled_event(turn, occasion))
        head = trace.head
        extent = TraceExtent(events=trace.events, head_sha256=head.sha256 if head else None)
    finally:
        trace.close()
    async with open_database(
        home / DATABASE_FILE, clock=SystemClock(), patience_seconds=_PATIENCE_SECONDS
    ) as database:
        await RunStore(database).set_extent(run_id, extent)
