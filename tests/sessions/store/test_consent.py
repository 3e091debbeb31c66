"""Consent in SQLite: words are added, never rewritten, and the last one is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sessions.store.consent import Consent, ConsentLevel, ConsentStore, Purpose
from support.memory_world import BO, CY, EMBER, HEARTH, WORKSHOP, memory_in

WORD = Consent(
    imp=EMBER,
    user_id=BO,
    channel_id=HEARTH,
    purpose=Purpose.REMEMBER,
    level=ConsentLevel.OFF,
    at_ms=1_000,
    until_ms=9_000,
)


async def test_the_last_word_of_the_very_person_place_and_purpose(tmp_path: Path) -> None:
    async with memory_in(tmp_path) as memory:
        store = ConsentStore(memory.database)
        await store.put(WORD)
        later = replace(WORD, level=ConsentLevel.ON, at_ms=500, until_ms=None)
        await store.put(later)
        # The order of writing counts, not the clock, which may have been set back.
        assert await store.last(EMBER, BO, HEARTH, Purpose.REMEMBER) == later
        for user, channel, purpose in (
            (CY, HEARTH, Purpose.REMEMBER),
            (BO, WORKSHOP, Purpose.REMEMBER),
            (BO, None, Purpose.REMEMBER),
            (BO, HEARTH, Purpose.SHARE),
        ):
            assert await store.last(EMBER, user, channel, purpose) is None


async def test_nothing_that_was_said_is_lost(tmp_path: Path) -> None:
    """Grants and withdrawals are kept as records."""
    async with memory_in(tmp_path) as memory:
        store = ConsentStore(memory.database)
        for level in (ConsentLevel.ON, ConsentLevel.OFF, ConsentLevel.ON):
            await store.put(replace(WORD, level=level))
        rows = await memory.database.read(
            lambda db: db.execute("SELECT level, length(record_id) FROM memory_consents").fetchall()
        )
        assert rows == [("on", 64), ("off", 64), ("on", 64)]


def test_a_word_holds_until_its_end() -> None:
    assert WORD.holds(8_999)
    assert not WORD.holds(9_000)
    assert replace(WORD, until_ms=None).holds(10**15)
