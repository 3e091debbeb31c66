"""Word of changed runs: everybody who listens hears it, and nobody who tells waits."""

from __future__ import annotations

import asyncio

from compiler.request import RunId, TurnId
from sessions.run_feed import RunFeed
from support.session_world import BOUND_SECONDS

ONE, OTHER = RunId("one"), RunId("other")


async def test_changes_of_a_run_come_together() -> None:
    """A listener that is slow hears of a run once, however often it changed."""
    feed = RunFeed()
    with feed.listen() as listener, feed.listen() as second:
        assert feed.listening == 2
        for run_id in (ONE, OTHER, ONE):
            feed.tell(run_id)
        assert listener.take() == (ONE, OTHER)
        assert listener.take() == ()
        feed.tell(ONE)
        assert listener.take() == (ONE,)
        assert second.take() == (ONE, OTHER)
    assert feed.listening == 0
    feed.tell(ONE)  # to nobody


async def test_a_listener_waits_for_the_next_change() -> None:
    feed = RunFeed()
    with feed.listen() as listener:
        async with asyncio.timeout(BOUND_SECONDS), asyncio.TaskGroup() as tasks:
            heard = tasks.create_task(listener.heard())
            feed.tell(OTHER)
            await heard
        assert listener.take() == (OTHER,)
        async with asyncio.timeout(BOUND_SECONDS), asyncio.TaskGroup() as tasks:
            heard = tasks.create_task(listener.heard())
            feed.wake()
            await heard
        assert listener.take() == ()


def test_a_turn_s_first_word_is_known_while_it_runs() -> None:
    """Issue 8 "Live": told as a change of its run, and forgotten with the turn's end."""
    feed, turn = RunFeed(), TurnId("discord:message:1")
    with feed.listen() as listener:
        feed.speaks(ONE, turn, 1_500)
        assert listener.take() == (ONE,)
    assert feed.first_text_us(turn) == 1_500
    assert feed.first_text_us(TurnId("discord:message:2")) is None
    feed.falls_silent(turn)
    feed.falls_silent(turn)
    assert feed.first_text_us(turn) is None
