"""Order within a channel, none between channels."""

from __future__ import annotations

import asyncio

import pytest

from bot.lanes import Lanes


async def test_one_lane_is_served_in_the_order_of_asking() -> None:
    """A channel's messages are handled one after the other, first come first served."""
    lanes, done = Lanes(), list[int]()
    gate = asyncio.Event()

    async def work(number: int) -> None:
        async with lanes.lane("hearth"):
            if number == 0:
                await gate.wait()
            await asyncio.sleep(0)
            done.append(number)

    async with asyncio.TaskGroup() as tasks:
        for number in range(5):
            tasks.create_task(work(number))
        await asyncio.sleep(0)
        gate.set()
    assert done == [0, 1, 2, 3, 4]


async def test_a_slow_lane_does_not_delay_another() -> None:
    """A slow channel never delays others."""
    lanes, gate = Lanes(), asyncio.Event()

    async def slow() -> None:
        async with lanes.lane("hearth"):
            await gate.wait()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(slow())
        await asyncio.sleep(0)
        async with asyncio.timeout(120), lanes.lane("workshop"):
            gate.set()


async def test_unused_lanes_are_forgotten_even_after_errors() -> None:
    """Memory does not grow with the channels ever seen."""
    lanes = Lanes()
    with pytest.raises(ValueError, match="x"):
        async with lanes.lane(1):
            raise ValueError("x")

    async def wait() -> None:
        async with lanes.lane(2):
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(wait()) for _ in range(3)]
        await asyncio.sleep(0)
        assert len(lanes) == 1
        for task in waiting:
            task.cancel()
    assert len(lanes) == 0
