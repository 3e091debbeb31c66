"""House rules at rest: one state a conversation, in the transaction of its message."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from compiler.directives.values import Policy
from compiler.request import ChannelId, MessageId, UserId
from sessions.errors import StoreUnavailable
from sessions.house.rules import Conversation, KeptRules, Origin
from sessions.store import directives
from sessions.store.directives import Decide, DirectiveStore, EventKind, Verdict
from sessions.store.history import HistoryStore
from support.session_world import World, ask, only_run, seen, session_world

HERE = Conversation(channel_id=ChannelId("discord:100"))
THREAD = Conversation(channel_id=ChannelId("discord:200"), parent_id=HERE.channel_id)
AT = "2026-11-29T20:00:00.000Z"


@pytest.fixture
def store(world: World) -> DirectiveStore:
    return DirectiveStore(world.database)


def origin(message: int | None = None) -> Origin:
    said = None if message is None else MessageId(f"discord:{message}")
    return Origin(user_id=UserId("discord:7"), at=AT, message_id=said)


def use(item: str, *, message: int | None = None) -> Decide:
    """Decide to add an item."""

    def decide(kept: KeptRules) -> Verdict:
        before = kept.state
        after = replace(before, policies=MappingProxyType({**before.policies, item: Policy.USE}))
        return Verdict(
            kind=EventKind.UPDATED,
            origin=origin(message),
            kept=kept.amended(after, origin(message)),
            told=item,
        )

    return decide


def nothing(_: KeptRules) -> None:
    return None


def back(_: KeptRules, before: KeptRules) -> Verdict:
    return Verdict(kind=EventKind.UNDONE, origin=origin(), kept=before)


def items(kept: KeptRules | None) -> list[str]:
    assert kept is not None
    return list(kept.state.policies)


async def test_a_message_and_its_rule_are_one(store: DirectiveStore, world: World) -> None:
    """P04: a repeated event changes nothing, and the first one is in the history."""
    first = await store.receive(seen(1, "use tea"), HERE, use("tea", message=1), at=AT)
    again = await store.receive(seen(1, "use tea"), HERE, use("cocoa", message=1), at=AT)
    assert items(first) == ["tea"]
    assert again is None
    assert items(await store.read(HERE)) == ["tea"]
    assert len(await HistoryStore(world.database).recent(HERE.channel_id, 9)) == 1
    (event,) = await store.events(HERE.channel_id, 9)
    assert (event.kind, event.user_id, event.message_id, event.at, event.told) == (
        EventKind.UPDATED,
        "discord:7",
        "discord:1",
        AT,
        "tea",
    )


async def test_what_fails_halfway_leaves_neither(store: DirectiveStore, world: World) -> None:
    """A crash between message and rule can neither lose nor double it."""

    def fail(_: KeptRules) -> Verdict:
        raise sqlite3.OperationalError("disk I/O error")

    with pytest.raises(StoreUnavailable):
        await store.receive(seen(1, "use tea"), HERE, fail, at=AT)
    assert await HistoryStore(world.database).recent(HERE.channel_id, 9) == ()
    assert items(await store.receive(seen(1, "use tea"), HERE, use("tea"), at=AT)) == ["tea"]


async def test_an_ordinary_message_gets_the_rules_and_no_event(store: DirectiveStore) -> None:
    await store.settle(HERE, use("tea"), at=AT)
    assert items(await store.receive(seen(2, "hello"), HERE, nothing, at=AT)) == ["tea"]
    assert len(await store.events(HERE.channel_id, 9)) == 1


async def test_rules_outlive_the_host(tmp_path: Path) -> None:
    """They survive restarts, with who set them and when."""
    async with session_world(tmp_path) as world:
        kept = await DirectiveStore(world.database).settle(HERE, use("tea", message=3), at=AT)
    async with session_world(tmp_path) as world:
        assert await DirectiveStore(world.database).read(HERE) == kept
    assert kept.policies[0].origin == origin(3)


async def test_a_thread_starts_from_a_copy_and_is_its_own(store: DirectiveStore) -> None:
    """Neither changes the other after the thread was seen; the copy is in its account."""
    await store.settle(HERE, use("tea"), at=AT)
    assert items(await store.read(THREAD)) == ["tea"]
    await store.begin(THREAD, at=AT)
    await store.settle(HERE, use("cocoa"), at=AT)
    assert items(await store.settle(THREAD, use("milk"), at=AT)) == ["milk", "tea"]
    assert items(await store.read(HERE)) == ["cocoa", "tea"]
    await store.begin(THREAD, at=AT)
    assert items(await store.read(THREAD)) == ["milk", "tea"]
    kinds = [event.kind for event in await store.events(THREAD.channel_id, 9)]
    assert kinds == [EventKind.UPDATED, EventKind.COPIED]
    assert await store.undo(THREAD, back, at=AT)
    assert not await store.undo(THREAD, back, at=AT), "the copy is no change to take back"
    assert items(await store.read(THREAD)) == ["tea"]


async def test_a_thread_of_a_channel_without_rules_stays_without(store: DirectiveStore) -> None:
    await store.begin(THREAD, at=AT)
    await store.settle(HERE, use("tea"), at=AT)
    assert items(await store.read(THREAD)) == []
    assert await store.events(THREAD.channel_id, 9) == ()


async def test_undo_goes_back_change_by_change(store: DirectiveStore) -> None:
    """Issue "Slash commands": the last change; itself recorded."""
    for number, item in enumerate(("tea", "cocoa", "cocoa"), 1):
        await store.settle(HERE, use(item, message=number), at=AT)
    assert await store.changed_by(MessageId("discord:2"))
    assert await store.undo(HERE, back, at=AT)
    assert items(await store.read(HERE)) == ["tea"], "the third said nothing new"
    assert not await store.changed_by(MessageId("discord:2"))
    await store.settle(HERE, use("milk"), at=AT)
    assert await store.undo(HERE, back, at=AT)
    assert await store.undo(HERE, back, at=AT)
    assert items(await store.read(HERE)) == []
    assert not await store.undo(HERE, back, at=AT)
    events = await store.events(HERE.channel_id, 99)
    assert [event.kind for event in events].count(EventKind.UNDONE) == 3
    assert [event.undone for event in events if event.told == "milk"] == [True]


async def test_an_undo_that_may_not_be_changes_nothing(store: DirectiveStore) -> None:
    await store.settle(HERE, use("tea"), at=AT)

    def refuse(_: KeptRules, __: KeptRules) -> Verdict:
        return Verdict(kind=EventKind.REFUSED, origin=origin(), code="state_too_large")

    assert await store.undo(HERE, refuse, at=AT)
    assert items(await store.read(HERE)) == ["tea"]
    assert await store.undo(HERE, back, at=AT)
    assert items(await store.read(HERE)) == []


async def test_the_account_is_bounded_and_noise_loses_no_change(
    store: DirectiveStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directives, "KEPT_EVENTS", 3)

    def noise(_: KeptRules) -> Verdict:
        return Verdict(kind=EventKind.CLARIFIED, origin=origin(), code="clarify")

    for number in range(5):
        await store.settle(HERE, use(f"item {number}"), at=AT)
    for _ in range(9):
        await store.settle(HERE, noise, at=AT)
    await store.settle(THREAD, noise, at=AT)
    events = await store.events(HERE.channel_id, 99)
    assert [event.told for event in events if event.kind is EventKind.UPDATED] == [
        "item 4",
        "item 3",
        "item 2",
    ]
    assert len(events) == 6


async def test_events_name_the_run_that_was_open(store: DirectiveStore, world: World) -> None:
    """Issue "In the conversation": a run event records it."""
    await store.settle(HERE, use("before"), at=AT)
    async with world.registry() as registry:
        await ask(registry, 1)
        run = only_run(registry)
        await store.settle(HERE, use("tea"), at=AT)
    assert [event.told for event in await store.of_run(run)] == ["tea"]


async def test_damaged_rules_are_never_taken_for_none(store: DirectiveStore, world: World) -> None:
    """Fail closed: a rule that cannot be read must not be dropped."""
    await store.settle(HERE, use("tea"), at=AT)
    await world.database.write(lambda db: db.execute("UPDATE house_rules SET rules = '{'"))
    with pytest.raises(StoreUnavailable):
        await store.receive(seen(1, "hello"), HERE, nothing, at=AT)
    assert await HistoryStore(world.database).recent(HERE.channel_id, 9) == ()
