"""Who may ask, how often, and who was let in."""

from __future__ import annotations

import pytest

from compiler.request import UserId
from sessions.store.database import Database
from sessions.store.pairings import CODE_MS, MAX_OPEN, MAX_TRIES, Decision, PairingStore

DEE = UserId("discord:4")
START = 10 * CODE_MS


@pytest.fixture
def store(database: Database) -> PairingStore:
    return PairingStore(database)


async def test_a_code_holds_for_an_hour_and_comes_three_times(store: PairingStore) -> None:
    """Issue "Inbound": one hour, three tries; in between nothing is said."""
    given = []
    for hour in range(MAX_TRIES + 2):
        now = START + hour * CODE_MS
        given.append(await store.ask(DEE, f"code{hour}", now_ms=now))
        assert await store.ask(DEE, "more", now_ms=now + 1) is None
    assert given == ["code0", "code1", "code2", None, None]


async def test_an_owner_decides_once_within_the_hour(store: PairingStore) -> None:
    """One outcome for a code: a late click, another code and a second click are over."""
    await store.ask(DEE, "abc", now_ms=START)
    assert await store.decide(DEE, "xyz", let_in=True, now_ms=START) is Decision.OVER
    late = START + CODE_MS
    assert await store.decide(DEE, "abc", let_in=True, now_ms=late) is Decision.OVER
    assert await store.decide(DEE, "abc", let_in=True, now_ms=START) is Decision.APPROVED
    assert await store.decide(DEE, "abc", let_in=False, now_ms=START) is Decision.OVER
    assert await store.approved() == {DEE}


async def test_who_was_refused_stays_out(store: PairingStore) -> None:
    """He gets no further code."""
    await store.ask(DEE, "abc", now_ms=START)
    assert await store.decide(DEE, "abc", let_in=False, now_ms=START) is Decision.REFUSED
    assert await store.approved() == frozenset()
    assert await store.ask(DEE, "new", now_ms=START + 2 * CODE_MS) is None


async def test_strangers_cannot_flood_the_owner(store: PairingStore) -> None:
    """Rate limit: so many wait at once, whoever they are."""
    for number in range(MAX_OPEN):
        assert await store.ask(UserId(f"discord:{number + 10}"), "abc", now_ms=START)
    assert await store.ask(DEE, "abc", now_ms=START) is None
