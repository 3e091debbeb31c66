"""Cursors move on and never back; an interaction is claimed once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.request import ChannelId
from sessions.store.cursors import INTERACTION_MS, Cursor, CursorStore
from sessions.store.database import Database, open_database
from support.session_world import BOUND_SECONDS, ManualClock


@pytest.fixture
def store(database: Database) -> CursorStore:
    return CursorStore(database)


@given(st.lists(st.integers(min_value=0, max_value=2**63 - 1), min_size=1, max_size=6))
@settings(max_examples=20, deadline=None)
async def test_a_cursor_is_the_furthest_it_ever_was(
    tmp_path_factory: pytest.TempPathFactory, moves: list[int]
) -> None:
    """P05: never backwards, whatever is written late."""
    path = tmp_path_factory.mktemp("cursors") / "inglenook.db"
    channel = ChannelId("discord:100")
    async with open_database(path, clock=ManualClock(), patience_seconds=BOUND_SECONDS) as database:
        store = CursorStore(database)
        for last in moves:
            await store.advance([Cursor(channel_id=channel, last=last)])
        assert await store.load() == (Cursor(channel_id=channel, last=max(moves)),)


async def test_a_direct_message_stays_one(store: CursorStore) -> None:
    """After a restart direct messages are known from here alone."""
    cursor = Cursor(channel_id=ChannelId("discord:5"), last=1, is_dm=True)
    await store.advance([cursor])
    assert await store.load() == (cursor,)


async def test_an_interaction_is_claimed_once(store: CursorStore) -> None:
    """Issue "Inbound": an interaction id acts once; forgotten when nobody can repeat it."""
    assert await store.claim_interaction("1", now_ms=0)
    assert not await store.claim_interaction("1", now_ms=5)
    assert await store.claim_interaction("2", now_ms=INTERACTION_MS + 1)
    assert await store.claim_interaction("1", now_ms=INTERACTION_MS + 2)
