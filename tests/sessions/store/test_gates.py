"""Gates in the database: decided once, executed exactly once, also over SIGKILLs."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.request import ChannelId, ImpName, Place, RunId, TurnId, UserId
from sessions.clock import SystemClock
from sessions.continuations import follow_up, gate_of_task
from sessions.gates import (
    INTERRUPTED,
    SHELL,
    Decider,
    EffectKind,
    Gate,
    GateId,
    GateOrigin,
    GateRefused,
    GateRules,
    GateState,
    Tier,
    approve,
    approve_by_trust,
    begin,
    deny,
    file_gate,
    finish,
    turn_id_of,
    withdraw,
)
from sessions.store import gates
from sessions.store.database import Database, open_database
from sessions.store.gates import GateStore
from sessions.store.inbox import InboxStore, accept
from sessions.store.outbox import OutboxStore
from sessions.store.tasks import TaskStore
from sessions.tasks import TaskKind, TaskState
from support.session_world import BOUND_SECONDS, inbound

OWNER = Decider(user_id=UserId("discord:1"), tier=Tier.OWNER)
RULES = GateRules()
NOW = 1_796_000_000_000
HERE = ChannelId("discord:100")
DRILL = int(os.environ.get("INGLENOOK_DRILL_GATES", "100"))
"""How many gates the drill has."""
LONGEST = int(os.environ.get("INGLENOOK_DRILL_LONGEST", "30"))
"""Fewer gates than this are carried out before a host is killed: a smaller one has more kills."""


def filed(number: int, *, effect: EffectKind = EffectKind.RECORDED) -> Gate:
    return file_gate(
        GateId(f"g-{number:03}"),
        GateOrigin(
            imp=ImpName("ember"),
            channel_id=HERE,
            is_dm=True,
            requester=UserId("discord:2"),
            run_id=RunId("r"),
            turn_id=TurnId("discord:message:1"),
        ),
        tool="note",
        arguments={"number": number},
        effect=effect,
        intent="Write it down.",
        rationale="Bo asked.",
        now_ms=NOW + number,
        rules=RULES,
    )


def yes(gate: Gate) -> Gate:
    return approve(gate, OWNER, RULES, shown_sha256=gate.payload_sha256, now_ms=NOW + 9)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(
        tmp_path / "inglenook.db", clock=SystemClock(), patience_seconds=BOUND_SECONDS
    ) as opened:
        yield opened


@pytest.fixture
def store(database: Database) -> GateStore:
    return GateStore(database)


async def test_a_gate_is_kept_as_it_was_filed(store: GateStore) -> None:
    """All of it comes back, also what was decided."""
    gate = filed(1)
    private = replace(gate.origin, is_dm=False, in_private_thread=True)
    gate = replace(gate, origin=private)
    await store.file(gate)
    assert await store.get(gate.gate_id) == gate
    after = await store.move(gate.gate_id, yes)
    assert after == yes(gate)
    assert await store.get(gate.gate_id) == after
    assert await store.get(GateId("g-none")) is None
    assert await store.move(GateId("g-none"), yes) is None


async def test_a_task_hears_of_what_the_shell_asked_for(
    database: Database, store: GateStore
) -> None:
    """Issue: "or a continuation task": one for each gate, written with its end; no turn is owed."""
    tasks = TaskStore(database, OutboxStore(database, clock=SystemClock()))
    alone = replace(filed(1).origin, channel_id=None, is_dm=False, requester=SHELL)
    here = replace(alone, channel_id=HERE)
    for number, origin in ((1, alone), (2, here), (3, alone)):
        await store.file(replace(filed(number), origin=origin))
    gate = await store.get(GateId("g-001"))
    assert gate is not None
    assert gate.origin == alone
    assert await tasks.listed() == ()
    await store.move(gate.gate_id, yes)
    await store.execute(gate.gate_id, lambda *_: "Done.", now_ms=NOW + 50)
    await store.move(GateId("g-002"), lambda one: deny(one, OWNER, RULES, now_ms=NOW + 60))
    await store.move(GateId("g-003"), lambda one: withdraw(one, now_ms=NOW + 70))
    with pytest.raises(GateRefused):
        await store.move(gate.gate_id, yes)
    first, second = await tasks.listed()
    assert [gate_of_task(each) for each in (first, second)] == ["g-001", "g-002"]
    assert (first.kind, first.state, first.due_ms) == (
        TaskKind.CONTINUATION,
        TaskState.QUEUED,
        NOW + 50,
    )
    assert (first.scope.place, first.scope.channel_id, first.scope.user_id) == (
        Place.NONE,
        None,
        None,
    )
    assert (second.scope.place, second.scope.channel_id) == (Place.GROUP, HERE)
    assert await InboxStore(database).owed_for_gates() == ()
    with pytest.raises(ValueError, match="continues nothing"):
        follow_up(filed(4))
    assert gate_of_task(replace(first, kind=TaskKind.PROMPT)) is None


async def test_an_answer_that_waits_ends_what_its_message_is_owed(
    database: Database, store: GateStore
) -> None:
    """With the gate and not before it, so that a killed host neither doubles nor loses it."""
    asked, inbox = inbound(1), InboxStore(database)
    await database.write(lambda db: accept(db, asked))
    await store.file(filed(1))
    assert [each.turn_id for each in await inbox.owed()] == [asked.turn_id]
    await store.file(filed(2), ends=asked.turn_id)
    assert await inbox.owed() == ()


async def test_the_frozen_part_cannot_be_moved(store: GateStore) -> None:
    """A step that changes the payload changes nothing of it in the table."""
    gate = filed(1)
    await store.file(gate)
    await store.move(gate.gate_id, lambda one: replace(yes(one), payload="{}", intent="Else."))
    kept = await store.get(gate.gate_id)
    assert kept is not None
    assert (kept.payload, kept.intent, kept.intact) == (gate.payload, gate.intent, True)


async def test_of_many_clicks_at_once_one_counts(store: GateStore) -> None:
    """Each click is answered, one decides."""
    gate = filed(1)
    await store.file(gate)

    async def click(number: int) -> str:
        try:
            step = yes if number % 2 else (lambda one: deny(one, OWNER, RULES, now_ms=NOW))
            after = await store.move(gate.gate_id, step)
        except GateRefused as refused:
            return f"was {refused.state}"
        return "" if after is None else f"made {after.state}"

    answers = await asyncio.gather(*map(click, range(8)))
    (made,) = [answer for answer in answers if answer.startswith("made")]
    assert set(answers) == {made, made.replace("made", "was")}


async def test_a_failing_effect_leaves_the_gate_approved(
    store: GateStore, database: Database
) -> None:
    """Both are written or neither is."""
    gate = filed(1)
    await store.file(gate)
    await store.move(gate.gate_id, yes)
    await database.write(lambda db: db.execute("CREATE TABLE effects (number INTEGER)"))

    def half(db: sqlite3.Connection, _: Gate) -> None:
        db.execute("INSERT INTO effects VALUES (1)")
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        await store.execute(gate.gate_id, half, now_ms=NOW)
    kept = await store.get(gate.gate_id)
    assert kept is not None
    assert kept.state is GateState.APPROVED
    assert await database.read(
        lambda db: db.execute("SELECT count(*) FROM effects").fetchone()
    ) == (0,)


async def test_only_an_approved_gate_is_executed(store: GateStore) -> None:
    """Neither a pending one, nor one that was executed before."""
    gate = filed(1)
    await store.file(gate)
    with pytest.raises(GateRefused):
        await store.execute(gate.gate_id, lambda _db, _gate: None, now_ms=NOW)
    await store.move(gate.gate_id, yes)
    ended = await store.execute(gate.gate_id, lambda _db, _gate: None, now_ms=NOW)
    assert ended is not None
    assert ended.state is GateState.EXECUTED
    with pytest.raises(GateRefused):
        await store.execute(gate.gate_id, lambda _db, _gate: None, now_ms=NOW)


async def test_what_nobody_decided_expires(store: GateStore) -> None:
    """Those in time stay; the expired are told once."""
    for number in (1, 2):
        await store.file(filed(number))
    due = filed(1).expires_ms
    (ended,) = await store.expire_due(now_ms=due)
    assert (ended.gate_id, ended.state) == ("g-001", GateState.EXPIRED)
    assert await store.expire_due(now_ms=due) == ()
    assert [gate.gate_id for gate in await store.all_in(GateState.PENDING)] == ["g-002"]
    assert await store.of_channel(HERE, GateState.EXPIRED) == (ended,)
    assert await store.of_channel(ChannelId("discord:200"), GateState.EXPIRED) == ()


async def test_a_restart_takes_up_what_may_be_repeated(store: GateStore) -> None:
    """The others end, with a code that says that nobody knows."""
    kinds = (EffectKind.REPEATABLE, EffectKind.ONCE)
    for number, effect in enumerate(kinds):
        await store.file(filed(number, effect=effect))
        await store.move(filed(number).gate_id, yes)
        await store.move(filed(number).gate_id, begin)
    await store.file(filed(7))
    await store.move(filed(7).gate_id, yes)
    left = await store.recover(now_ms=NOW)
    assert [(gate.gate_id, gate.state.value) for gate in left] == [
        ("g-000", "executing"),
        ("g-007", "approved"),
    ]
    ended = await store.get(GateId("g-001"))
    assert ended is not None
    assert (ended.state, ended.result_code) == (GateState.FAILED, INTERRUPTED)


async def test_with_its_end_a_conversation_is_owed_a_word_once(
    store: GateStore, database: Database
) -> None:
    """Issue: on resolution a continuation runs; P06: owed until it was said, over restarts."""
    inbox = InboxStore(database)

    async def owed() -> list[str]:
        return [each.turn_id for each in await inbox.owed_for_gates()]

    for number in range(5):
        await store.file(filed(number, effect=EffectKind.ONCE))
    assert await owed() == []
    for number in (0, 1):
        await store.move(filed(number).gate_id, yes)
        await store.move(filed(number).gate_id, begin)
    assert await owed() == []
    await store.move(GateId("g-000"), lambda gate: finish(gate, now_ms=NOW, detail="Written."))
    assert await store.recover(now_ms=NOW) == ()  # the second one was cut off: it failed
    await store.move(GateId("g-002"), lambda gate: deny(gate, OWNER, RULES, now_ms=NOW))
    await store.move(GateId("g-003"), lambda gate: withdraw(gate, now_ms=NOW))
    await store.expire_due(now_ms=filed(4).expires_ms)
    ended = ["g-000", "g-001", "g-002", "g-004"]
    assert await owed() == [turn_id_of(GateId(each)) for each in ended]
    assert await inbox.owed() == ()
    for each in ended:
        await inbox.finish(turn_id_of(GateId(each)))
    await store.move(GateId("g-000"), lambda gate: replace(gate, detail="x"))
    assert await owed() == []


async def test_what_people_decided_is_told_apart_from_what_was_let_through(
    store: GateStore,
) -> None:
    """Earned trust earns nothing; another conversation's decisions count nothing."""
    for number in range(4):
        await store.file(filed(number))
    await store.move(GateId("g-000"), yes)
    await store.move(GateId("g-001"), lambda gate: deny(gate, OWNER, RULES, now_ms=NOW + 5))
    await store.move(GateId("g-002"), lambda gate: approve_by_trust(gate, now_ms=NOW + 6))
    imp, tool = filed(0).origin.imp, filed(0).tool
    past = await store.past(imp, tool, HERE, since_ms=0)
    assert [(each.decided_ms - NOW, each.approved) for each in past] == [(9, True), (5, False)]
    assert await store.past(imp, tool, HERE, since_ms=NOW + 6) == past[:1]
    assert await store.past(imp, tool, ChannelId("discord:200"), since_ms=0) == ()
    assert [gate.gate_id for gate in await store.latest(2)] == ["g-003", "g-002"]


async def test_the_cards_that_are_not_up_to_date_are_named(store: GateStore) -> None:
    """Each change of a gate is to be shown once; a restart knows what was not."""
    await store.file(filed(0))
    assert [(gate.gate_id, shown) for gate, shown in await store.unshown()] == [("g-000", None)]
    await store.show(GateId("g-000"), GateState.PENDING)
    assert await store.unshown() == ()
    denied = await store.move(GateId("g-000"), lambda gate: deny(gate, OWNER, RULES, now_ms=NOW))
    assert await store.unshown() == ((denied, GateState.PENDING),)


async def test_of_what_is_over_the_latest_are_kept(
    store: GateStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits, what its card does not show yet and what is owed a word stay, however old."""
    monkeypatch.setattr(gates, "KEPT_ENDED", 0)
    for number in range(5):
        await store.file(filed(number))
    for number in (0, 1, 2):
        gate_id = filed(number).gate_id
        await store.move(gate_id, lambda gate: deny(gate, OWNER, RULES, now_ms=NOW))
        if number != 1:
            await store.show(gate_id, GateState.DENIED)
        if number != 2:
            await InboxStore(database).finish(turn_id_of(gate_id))
    await store.prune()
    left = sorted(gate.gate_id for gate in await store.latest(9))
    assert left == ["g-001", "g-002", "g-003", "g-004"]


WORKER = """
import asyncio, sys
from pathlib import Path
from sessions.clock import SystemClock
from sessions.gate_desk import GateDesk
from sessions.gate_execution import Action
from sessions.gates import GateState
from sessions.limits import GateSettings
from sessions.store.database import open_database
from sessions.store.gates import GateStore

def effect(db, gate):
    db.execute("INSERT INTO effects VALUES (?)", (gate.payload,))
    print("doing", flush=True)
    sys.stdin.readline()

async def main():
    clock = SystemClock()
    async with open_database(Path(sys.argv[1]), clock=clock, patience_seconds=30) as database:
        actions = {"note": Action(write=effect)}
        desk = GateDesk(GateStore(database), clock=clock, settings=GateSettings, actions=actions)
        await desk.load()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(desk.run())
            while await desk.store.all_in(GateState.APPROVED):
                await asyncio.sleep(0.01)
            await desk.close(seconds=20)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_every_approved_payload_is_executed_exactly_once_over_kills(
    tmp_path: Path, store: GateStore, database: Database
) -> None:
    """The drill of the issue: the desk's hosts are killed at any moment until all is done.

    Each conversation is owed one word for each gate, however often hosts were killed.
    """
    await database.write(lambda db: db.execute("CREATE TABLE effects (payload TEXT)"))
    for number in range(DRILL):
        await store.file(filed(number))
        await store.move(filed(number).gate_id, yes)
    kills = 0
    while await store.all_in(GateState.APPROVED):
        host = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            WORKER,
            str(tmp_path / "inglenook.db"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        assert host.stdin is not None
        assert host.stdout is not None
        free = kills * 17 % LONGEST  # so many may end; the next one waits in its transaction
        host.stdin.write(b"\n" * free)
        for _ in range(free + (kills % 2)):  # killed in the middle of that one, or anywhere before
            await host.stdout.readline()
        if host.returncode is None:
            host.send_signal(signal.SIGKILL)
            kills += 1
        await host.wait()
    payloads = await database.read(
        lambda db: [row[0] for row in db.execute("SELECT payload FROM effects")]
    )
    assert sorted(payloads) == sorted(filed(number).payload for number in range(DRILL))
    assert len(await store.all_in(GateState.EXECUTED)) == DRILL
    owed = [each.turn_id for each in await InboxStore(database).owed_for_gates()]
    assert sorted(owed) == sorted(turn_id_of(filed(number).gate_id) for number in range(DRILL))
    assert kills >= DRILL // LONGEST
