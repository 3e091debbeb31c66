"""Many conversations at once, while the database or the disk takes nothing (P24)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.crowd import crowd_of
from support.database_lock import held

pytestmark = pytest.mark.slow
CONVERSATIONS = 50


async def test_fifty_conversations_outlast_a_lock(tmp_path: Path) -> None:
    """P24, issue "Storage": held for longer than our patience, in the middle of things, each person
    gets one answer or one line; for less, one answer. The bot is not ready meanwhile and is again
    afterwards, each conversation goes on, and no later start says anything twice."""
    async with crowd_of(tmp_path, CONVERSATIONS) as crowd:
        async with crowd.bot() as app:
            assert (await crowd.health())[0] == 200
            first = await crowd.say()
            await crowd.answered(first, count=5)
            async with app.locked():
                second = await crowd.say()
                await crowd.answered((*first, *second))
                assert (await crowd.health())[0] == 503
            told = crowd.account()["told"]
            assert told > CONVERSATIONS, "all of the second time, some of the first"
            with held(app.home):
                third = await crowd.say()
                status, parts = await crowd.health()
                assert (status, "cannot be written (busy)" in parts) == (503, True)
                assert not any(map(crowd.replies, third))
            await crowd.answered(third)
            assert crowd.account()["told"] == told
            assert (await crowd.health())[0] == 200
            await crowd.answered(await crowd.say())
            before = crowd.account()
            assert before["lost, doubled or untraced"] == 0, before
        crowd.pg.talk._nonces.clear()
        async with crowd.bot() as app:
            await app.rest()
        assert crowd.account() == before
        assert crowd.broken_chains() == []
