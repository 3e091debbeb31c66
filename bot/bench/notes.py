"""Selection of notes through the whole of memory, with a large store behind it.

The store holds other people's records, sealed bytes that nobody will open; 2,000 notes of one
channel are real ones. What is measured is what a turn waits for: ``MemoryService.select``.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from bot.bench.figures import Figure, figure, milliseconds
from bot.bench.pure import ELIGIBLE, RECALL_TARGET_MS, some_text
from compiler.audience import Binding, MemoryScope
from compiler.records import CreatorClass, RecordKind, RecordStatus, TrustClass
from compiler.request import ChannelId, GuildId, ImpName, Place, RunScope, UserId
from sessions.clock import SystemClock
from sessions.limits import MemorySettings
from sessions.memory.notes import Note, NoteRow, binding_fields, to_ms, with_identity
from sessions.memory.service import MemoryService
from sessions.store.database import Database, open_database
from sessions.store.key_fault import KEYS_FILE
from sessions.store.memory import MemoryStore
from sessions.store.vault import Vault, open_vault

SMALL, LARGE = 100_000, 1_000_000
RATIO_TARGET: Final = 1.5
GROWTH_TARGET_MB: Final = 32.0
"""Of this process, while the store grows tenfold: the page cache may fill, no index may grow."""
_PATIENCE_SECONDS: Final = 120.0
_CHUNK: Final = 20_000
_PER_CHANNEL: Final = 40
_PRIVATE: Final = 200
"""The asking person's own private notes, which each selection in the channel accounts for."""
_YEAR_MS: Final = 365 * 86_400_000
_EMBER = ImpName("ember")
_ADA = UserId("discord:7")
_GUILD, _HEARTH = GuildId("discord:1"), ChannelId("discord:100")
_SCOPE = RunScope(
    provider="discord",
    place=Place.GROUP,
    channel_id=_HEARTH,
    guild_id=_GUILD,
    user_id=_ADA,
)
_COLUMNS: Final = (
    "record_id, short_id, kind, imp, scope, guild_id, channel_id, user_id, subject_id, author_id,"
    " creator, trust, status, pinned, created_ms, expires_ms, message_id, place_id, run_id,"
    " turn_id, supersedes, superseded_by, nonce, sealed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _House:
    database: Database
    vault: Vault
    service: MemoryService
    clock: SystemClock
    chance: random.Random


async def selecting(
    home: Path, *, small: int = SMALL, large: int = LARGE, eligible: int = ELIGIBLE, rounds: int
) -> list[Figure]:
    """Measure selection with a small and with a large store, and hold one against the other."""
    home.mkdir()  # noqa: ASYNC240  (nothing else runs yet)
    figures: list[Figure] = []
    held: list[int] = []
    async with _house(home) as house:
        await _real_notes(house, eligible)
        there = 0
        for number in (small, large):
            await _fill(house, there, number)
            there = number
            await _select(house)  # the index is loaded once
            times = [await _select(house) for _ in range(rounds)]
            held.append(psutil.Process().memory_info().rss)
            figures.append(
                figure(
                    f"g  selection among {eligible:,} notes, {number:,} records in the store",
                    [milliseconds(one) for one in times],
                    target=RECALL_TARGET_MS,
                )
            )
    ratio = figures[1].median / max(figures[0].median, 0.001)
    grown = (held[1] - held[0]) / 1e6
    return [
        *figures,
        figure("g  selection, large store to small", [ratio], unit="x", target=RATIO_TARGET),
        figure("g  memory grown with the store", [grown], unit="MB", target=GROWTH_TARGET_MB),
    ]


@asynccontextmanager
async def _house(home: Path) -> AsyncIterator[_House]:
    clock = SystemClock()
    async with (
        open_database(
            home / "inglenook.db", clock=clock, patience_seconds=_PATIENCE_SECONDS
        ) as database,
        open_vault(
            home / KEYS_FILE, database, clock=clock, patience_seconds=_PATIENCE_SECONDS
        ) as vault,
    ):
        service = MemoryService(
            home=home, database=database, vault=vault, clock=clock, settings=MemorySettings
        )
        await service.start()
        chance = random.Random(20_261_130)  # noqa: S311  (reproducible, not secret)
        yield _House(database=database, vault=vault, service=service, clock=clock, chance=chance)


async def _select(house: _House) -> int:
    """Select for a message nobody has asked about before; give the nanoseconds."""
    text = "what is it about the " + some_text(house.chance, 80)
    now = house.clock.utc_now()
    began_ns = time.perf_counter_ns()
    await house.service.select(_EMBER, _SCOPE, text, now)
    return time.perf_counter_ns() - began_ns


async def _real_notes(house: _House, eligible: int) -> None:
    store = MemoryStore(house.database, house.vault)
    channel = Binding(imp=_EMBER, scope=MemoryScope.CHANNEL, guild_id=_GUILD, channel_id=_HEARTH)
    private = Binding(imp=_EMBER, scope=MemoryScope.USER, user_id=_ADA)
    for binding in [channel] * eligible + [private] * _PRIVATE:
        await store.add(_note(house, binding))


def _note(house: _House, binding: Binding) -> Note:
    row = NoteRow(
        record_id="",
        short_id="",
        kind=RecordKind.SESSION_FACT,
        binding=binding,
        subject_id=binding.user_id,
        author_id=_ADA,
        creator=CreatorClass.MODEL,
        trust=TrustClass.INFERRED,
        status=RecordStatus.ACTIVE,
        pinned=False,
        created_ms=to_ms(house.clock.utc_now()) - house.chance.randrange(_YEAR_MS),
        expires_ms=None,
    )
    return with_identity(Note(row=row, text=some_text(house.chance, 120)))


async def _fill(house: _House, there: int, wanted: int) -> None:
    """Bring the store to a size with records of other people's."""
    marks = ", ".join("?" * (_COLUMNS.count(",") + 1))
    statement = f"INSERT INTO memory_records ({_COLUMNS}) VALUES ({marks})"  # noqa: S608
    for first in range(there, wanted, _CHUNK):
        rows = _others(house.chance, first, min(wanted, first + _CHUNK))

        def work(db: sqlite3.Connection, rows: Iterator[tuple[object, ...]] = rows) -> None:
            db.executemany(statement, rows)

        await house.database.write(work)


def _others(chance: random.Random, first: int, end: int) -> Iterator[tuple[object, ...]]:
    """Make sealed records in many channels; their ids ascend, which fills a table quickest."""
    sealed = chance.randbytes(180)
    now_ms = time.time_ns() // 1_000_000
    for number in range(first, end):
        place = number // _PER_CHANNEL
        binding = Binding(
            imp=_EMBER,
            scope=MemoryScope.CHANNEL,
            guild_id=GuildId(f"discord:g{place // 20:06}"),
            channel_id=ChannelId(f"discord:c{place:06}"),
        )
        person = f"discord:u{place:06}"
        yield (
            f"{number:064x}", f"m-{number:08}", RecordKind.SESSION_FACT.value,
            *binding_fields(binding),
            person, person, CreatorClass.MODEL.value, TrustClass.INFERRED.value,
            RecordStatus.ACTIVE.value, 0, now_ms - number % _YEAR_MS, None, "", "", "", "", "", "",
            sealed[:12], sealed,
        )  # fmt: skip
