"""What holds of consent, with its defaults, ends and races."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.records import RecordKind
from compiler.request import ChannelId, ImpName, UserId
from sessions.memory.consents import ConsentBook, default_level
from sessions.store.consent import (
    Consent,
    ConsentLevel,
    ConsentStore,
    Purpose,
    consent_record,
)
from sessions.store.database import Database
from support.memory_world import BO, CY, EMBER, HEARTH, memory_in

WORD = Consent(
    imp=EMBER,
    user_id=BO,
    channel_id=HEARTH,
    purpose=Purpose.REMEMBER,
    level=ConsentLevel.OFF,
    at_ms=1_000,
)


@pytest.mark.parametrize(
    ("channel", "purpose", "level"),
    [
        (None, Purpose.REMEMBER, ConsentLevel.ON),
        (HEARTH, Purpose.REMEMBER, ConsentLevel.ASK),
        (HEARTH, Purpose.SHARE, ConsentLevel.OFF),
        (None, Purpose.SHARE, ConsentLevel.OFF),
    ],
)
def test_defaults(channel: ChannelId | None, purpose: Purpose, level: ConsentLevel) -> None:
    assert default_level(channel, purpose) is level


async def test_the_last_word_counts_after_a_restart(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        book = ConsentBook(ConsentStore(memory.database))
        for level in (ConsentLevel.OFF, ConsentLevel.ON):
            await book.put(replace(WORD, level=level))
            assert await book.level(EMBER, BO, HEARTH, Purpose.REMEMBER, 2_000) is level
    async with memory_in(tmp_path) as memory:
        book = ConsentBook(ConsentStore(memory.database))
        assert await book.level(EMBER, BO, HEARTH, Purpose.REMEMBER, 2_000) is ConsentLevel.ON
        assert await book.level(EMBER, CY, HEARTH, Purpose.REMEMBER, 2_000) is ConsentLevel.ASK
        assert await book.level(EMBER, BO, None, Purpose.REMEMBER, 2_000) is ConsentLevel.ON
        assert await book.level(EMBER, BO, HEARTH, Purpose.SHARE, 2_000) is ConsentLevel.OFF


async def test_a_word_ends_by_itself(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        book = ConsentBook(ConsentStore(memory.database))
        await book.put(replace(WORD, until_ms=5_000))
        assert await book.level(EMBER, BO, HEARTH, Purpose.REMEMBER, 4_999) is ConsentLevel.OFF
        assert await book.level(EMBER, BO, HEARTH, Purpose.REMEMBER, 5_000) is ConsentLevel.ASK


@pytest.mark.parametrize(
    ("channel", "purpose", "level", "revived"),
    [
        (HEARTH, Purpose.SHARE, ConsentLevel.ON, False),
        (HEARTH, Purpose.REMEMBER, ConsentLevel.ON, False),
        (HEARTH, Purpose.REMEMBER, ConsentLevel.OFF, True),
        (None, Purpose.REMEMBER, ConsentLevel.ASK, True),
    ],
)
async def test_a_clock_set_back_allows_nothing_more(
    tmp_path: Path,
    channel: ChannelId | None,
    purpose: Purpose,
    level: ConsentLevel,
    *,
    revived: bool,
) -> None:
    """Issue "clock jumps around expiry": an allowance that was seen to be over stays over; a limit
    holds at every moment before its end.
    """
    async with memory_in(tmp_path) as memory:
        book = ConsentBook(ConsentStore(memory.database))
        until = replace(WORD, channel_id=channel, purpose=purpose, level=level, until_ms=5_000)
        await book.put(until)
        default = default_level(channel, purpose)
        held = [await book.level(EMBER, BO, channel, purpose, at) for at in (4_999, 5_000, 4_000)]
        assert held == [level, default, level if revived else default]
        await book.put(until)
        assert await book.level(EMBER, BO, channel, purpose, 4_000) is level, "said anew, it holds"


async def test_only_so_many_words_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded on a server of any size; what is not held is read again."""
    monkeypatch.setattr("sessions.memory.consents._HELD", 2)
    async with memory_in(tmp_path) as memory:
        book = ConsentBook(ConsentStore(memory.database))
        await book.put(WORD)
        for number in range(9):
            person = UserId(f"discord:{900 + number}")
            level = await book.level(EMBER, person, HEARTH, Purpose.REMEMBER, 2_000)
            assert level is ConsentLevel.ASK
        assert len(book._last) == 2
        assert await book.level(EMBER, BO, HEARTH, Purpose.REMEMBER, 2_000) is ConsentLevel.OFF


class SlowStore(ConsentStore):
    """A store whose answers arrive when the gate opens."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.gate, self.reading = asyncio.Event(), asyncio.Event()

    async def last(
        self, imp: ImpName, user_id: UserId, channel_id: ChannelId | None, purpose: Purpose
    ) -> Consent | None:
        found = await super().last(imp, user_id, channel_id, purpose)
        self.reading.set()
        await self.gate.wait()
        return found


async def test_a_word_given_while_it_is_looked_up_counts(tmp_path: Path) -> None:
    """A slow read never puts an older word in the place of a newer one."""
    async with memory_in(tmp_path) as memory:
        store = SlowStore(memory.database)
        book = ConsentBook(store)
        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(book.level(EMBER, BO, HEARTH, Purpose.REMEMBER, 2_000))
            await store.reading.wait()
            await book.put(WORD)
            store.gate.set()
        assert looking.result() is ConsentLevel.OFF
        assert await book.level(EMBER, BO, HEARTH, Purpose.REMEMBER, 2_000) is ConsentLevel.OFF


def test_each_word_is_a_record_of_its_own() -> None:
    """TR: ConsentGrant and ConsentWithdrawal, specific to field, purpose and duration."""
    withdrawal = consent_record(WORD)
    grant = consent_record(replace(WORD, level=ConsentLevel.ASK))
    assert withdrawal.kind is RecordKind.CONSENT_WITHDRAWAL
    assert grant.kind is RecordKind.CONSENT_GRANT
    assert withdrawal.record_id != grant.record_id
    assert withdrawal.payload == (
        b'{"field":"notes","level":"off","purpose":"remember","scope":"discord:100","until":null}'
    )
