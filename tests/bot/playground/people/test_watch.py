"""Waiting without polling."""

from __future__ import annotations

import asyncio

import pytest

from bot.playground.entities import Event
from bot.playground.people.watch import Watch


async def test_wait_for_takes_the_next_event_of_a_kind() -> None:
    """Others pass by; the subscription ends with the wait."""
    watch = Watch()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(watch.wait_for(lambda e: e.name == "B"))
        await asyncio.sleep(0)
        for name in ("A", "B", "B"):
            watch.tell(Event(name=name, data={"n": name}))
    assert waiting.result().name == "B"
    with pytest.raises(TimeoutError):
        await watch.wait_for(lambda _e: True, timeout=0.01)


async def test_until_looks_now_and_after_each_change() -> None:
    """What is already true needs no event."""
    watch, state = Watch(), [0]
    assert await watch.until(lambda: "now") == "now"
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(watch.until(lambda: state[0] or None))
        await asyncio.sleep(0)
        state[0] = 7
        watch.look_again()
    assert waiting.result() == 7
    with pytest.raises(TimeoutError):
        await watch.until(lambda: None, timeout=0.01)


def test_subscribers_can_leave() -> None:
    """After the end nothing more is heard."""
    watch, heard = Watch(), []
    end = watch.subscribe(lambda event: heard.append(event.name))
    watch.tell(Event(name="A", data={}))
    end()
    end()
    watch.tell(Event(name="B", data={}))
    assert heard == ["A"]
