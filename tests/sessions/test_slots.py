"""The cap on warm sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from sessions.slots import WarmSlots


async def test_a_free_place_is_taken_at_once() -> None:
    """No wait below the limit."""
    slots = WarmSlots(1, ask_to_leave=lambda _: None)
    before = slots.has_free
    await slots.acquire("a")
    assert (before, slots.has_free, slots.taken) == (True, False, 1)


async def test_the_least_recently_used_idle_holder_is_asked() -> None:
    """Idle again means used just now."""
    asked: list[Hashable] = []
    slots = WarmSlots(3, asked.append)
    for name in "abc":
        await slots.acquire(name)
        slots.mark_idle(name)
    slots.mark_busy("a")
    slots.mark_idle("a")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(slots.acquire("d"))
        await asyncio.sleep(0)
        assert asked == ["b"]
        slots.release("b")
    assert slots.taken == 3


async def test_a_busy_holder_is_never_asked() -> None:
    """The wait lasts until one rests."""
    asked: list[Hashable] = []
    slots = WarmSlots(1, asked.append)
    await slots.acquire("a")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(slots.acquire("b"))
        await asyncio.sleep(0)
        assert asked == []
        slots.mark_idle("a")
        assert asked == ["a"]
        slots.release("a")


async def test_who_got_work_meanwhile_stays_and_another_is_asked() -> None:
    """A message that arrives before the holder has left keeps it."""
    asked: list[Hashable] = []
    slots = WarmSlots(2, asked.append)
    for name in "ab":
        await slots.acquire(name)
        slots.mark_idle(name)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(slots.acquire("c"))
        await asyncio.sleep(0)
        slots.mark_busy("a")
        assert asked == ["a", "b"]
        slots.release("b")


async def test_waiting_is_first_come_first_served() -> None:
    """No place goes past somebody."""
    slots = WarmSlots(1, ask_to_leave=lambda _: None)
    await slots.acquire("a")
    order: list[str] = []

    async def wait(name: str) -> None:
        await slots.acquire(name)
        order.append(name)
        slots.release(name)

    async with asyncio.TaskGroup() as tasks:
        for name in "bcd":
            tasks.create_task(wait(name))
        await asyncio.sleep(0)
        slots.release("a")
    assert order == ["b", "c", "d"]
    assert slots.taken == 0


async def test_who_gives_up_waiting_holds_nothing() -> None:
    """A cancelled wait leaves no place taken, and the next in line is served."""
    slots = WarmSlots(1, ask_to_leave=lambda _: None)
    await slots.acquire("a")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await slots.acquire("b")
    slots.release("a")
    assert slots.taken == 0
    assert slots.has_free


async def test_a_place_given_in_the_moment_of_giving_up_is_passed_on() -> None:
    """Cancelled in the same step in which the place came."""
    slots = WarmSlots(1, ask_to_leave=lambda _: None)
    await slots.acquire("a")
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(slots.acquire("b"))
        await asyncio.sleep(0)
        slots.release("a")
        task.cancel()
    assert slots.taken == 0


class SlotsMachine(RuleBasedStateMachine):
    """Any order of asking, working, resting, leaving and giving up."""

    holders = Bundle("holders")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.asked: list[Hashable] = []
        self.slots = WarmSlots(3, self._ask)
        self.waiting: dict[int, asyncio.Task[None]] = {}
        self.busy: set[int] = set()
        self.number = 0

    def _ask(self, holder: Hashable) -> None:
        assert holder not in self.busy, "a busy holder was asked to leave"
        self.asked.append(holder)

    def settle(self) -> None:
        """Let the loop run, and note who got a place."""
        for _ in range(3):
            self.loop.run_until_complete(asyncio.sleep(0))
        for number, task in list(self.waiting.items()):
            if task.done():
                del self.waiting[number]
                if not task.cancelled():
                    task.result()
                    self.busy.add(number)

    @rule(target=holders)
    def ask_for_a_place(self) -> int:
        self.number += 1
        coroutine = self.slots.acquire(self.number)
        self.waiting[self.number] = self.loop.create_task(coroutine)
        self.settle()
        return self.number

    @rule(holder=holders)
    def rest(self, holder: int) -> None:
        if holder in self.busy:
            self.busy.discard(holder)
            self.slots.mark_idle(holder)
            self.settle()

    @rule(holder=holders)
    def work(self, holder: int) -> None:
        if holder in self.slots._holders:
            self.busy.add(holder)
            self.slots.mark_busy(holder)
            self.settle()

    @rule(holder=holders)
    def leave(self, holder: int) -> None:
        self.busy.discard(holder)
        self.slots.release(holder)
        self.settle()

    @rule(holder=holders, freed=st.sampled_from(["before", "after", "not"]))
    def give_up(self, holder: int, freed: str) -> None:
        task = self.waiting.get(holder)
        if task is None:
            return
        if freed == "before" and self.busy:
            self.slots.release(self.busy.pop())
        task.cancel()
        if freed == "after" and self.busy:
            self.slots.release(self.busy.pop())
        self.settle()

    @invariant()
    def never_above_the_limit(self) -> None:
        assert self.slots.taken <= 3

    @invariant()
    def nobody_waits_beside_a_free_place(self) -> None:
        assert not self.waiting or self.slots.taken == 3

    @invariant()
    def somebody_leaves_if_anybody_can(self) -> None:
        idle = self.slots._holders - self.busy
        assert len(self.slots._leaving) >= min(len(idle), len(self.waiting))

    def teardown(self) -> None:
        for task in self.waiting.values():
            task.cancel()
        self.settle()
        self.loop.close()


TestSlots = SlotsMachine.TestCase
TestSlots.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
