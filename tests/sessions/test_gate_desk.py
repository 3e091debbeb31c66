"""The desk of gates: filed, decided, carried out once, told where it was asked for."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from compiler.request import Briefing, ChannelId, MessageId, RunId, TurnId, UserId
from sessions.continuations import BY_TRUST, GAVE, continuation, resolved, scope_of
from sessions.errors import StoreUnavailable
from sessions.gate_desk import Choice, GateDesk, GateUnknown, at
from sessions.gate_execution import Action, ActionErrorCode, ActionFailed, Execution
from sessions.gate_filing import Proposal
from sessions.gates import (
    EARNED,
    INTERRUPTED,
    SHELL,
    Decider,
    EffectKind,
    Gate,
    GateErrorCode,
    GateId,
    GateOrigin,
    GateRefused,
    GateState,
    Tier,
    begin,
    turn_id_of,
)
from sessions.inbound import OutcomeKind
from sessions.limits import GateSettings
from sessions.schedule import ScheduleUnreadable
from sessions.store.gates import GateStore
from sessions.store.inbox import InboxStore
from sessions.tools.table import PROPOSE_PURPOSE
from support.session_world import EMBER, World, eventually, locked, session_world
from support.session_world import scope_of as a_channel

ADA = Decider(user_id=UserId("discord:7"), tier=Tier.OWNER)
BO = UserId("discord:8")
HEARTH = ChannelId("discord:100")
DIRECT = ChannelId("discord:900")


@dataclass
class Bench:
    """A desk, what it did, and the world around it."""

    world: World
    settings: GateSettings = field(default_factory=GateSettings)
    done: list[str] = field(default_factory=list)
    go: asyncio.Event | None = None
    fails: Exception | None = None
    desk: GateDesk = field(init=False)

    def __post_init__(self) -> None:
        self.store = GateStore(self.world.database)
        self.desk = self.fresh()

    def fresh(self) -> GateDesk:
        """The desk of the next host."""
        actions = {"do": Action(execute=self._do), "note": Action(write=self._note)}
        return GateDesk(
            self.store, clock=self.world.clock, settings=lambda: self.settings, actions=actions
        )

    async def _do(self, gate: Gate) -> str:
        if self.fails is not None:
            raise self.fails
        self.done.append(gate.gate_id)
        if self.go is not None:
            await self.go.wait()
        return f"Did {gate.payload}."

    def _note(self, db: sqlite3.Connection, gate: Gate) -> str | None:
        if self.fails is not None:
            raise self.fails
        db.execute("INSERT INTO usage_notes VALUES (?)", (gate.gate_id,))
        return None

    async def file(
        self,
        what: str = "it",
        *,
        tool: str = "do",
        effect: EffectKind = EffectKind.ONCE,
        channel: ChannelId = HEARTH,
    ) -> Gate:
        origin = GateOrigin.of(
            EMBER,
            replace(a_channel(message=5), channel_id=channel, user_id=BO),
            run_id=RunId("r"),
            turn_id=TurnId("discord:message:5"),
        )
        gate = await self.desk.file(
            Proposal(
                origin=origin,
                tool=tool,
                arguments={"what": what},
                effect=effect,
                intent=f"Do {what}.",
                rationale="Bo asked.",
            )
        )
        assert gate is not None
        return gate

    async def state(self, gate: Gate) -> str:
        return (await self.desk.get(gate.gate_id)).state.value

    async def ended(self, gate: Gate) -> Gate:
        """Wait for the end of a gate."""
        async with asyncio.timeout(120):
            while (found := await self.desk.get(gate.gate_id)).ended_ms is None:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        return found

    async def owed(self) -> list[str]:
        return [each.turn_id for each in await InboxStore(self.world.database).owed_for_gates()]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.desk.run())
            try:
                yield
            finally:
                await self.desk.close(seconds=10)
                await running


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with session_world(tmp_path) as world:
        yield Bench(world)


async def test_what_is_approved_is_carried_out_once_and_told(bench: Bench) -> None:
    """Issue: approved, executing, executed; who comes second is told what it had become."""
    heard: list[int] = []
    bench.desk.listen(lambda: heard.append(1))
    gate = await bench.file()
    again = await bench.file()
    assert again.gate_id == gate.gate_id
    own = Decider(user_id=BO, tier=Tier.MEMBER)
    with pytest.raises(GateRefused) as refused:
        await bench.desk.decide(gate.gate_id, own, Choice.APPROVE)
    assert refused.value.code == GateErrorCode.NOT_YOURS
    with pytest.raises(GateRefused) as refused:
        await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE, shown_sha256="0" * 64)
    assert refused.value.code == GateErrorCode.ALTERED
    async with bench.running():
        await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE, shown_sha256=gate.payload_sha256)
        ended = await bench.ended(gate)
        assert (ended.state, ended.detail) == (GateState.EXECUTED, 'Did {"what":"it"}.')
        with pytest.raises(GateRefused) as refused:
            await bench.desk.decide(gate.gate_id, ADA, Choice.DENY)
        assert refused.value.state is GateState.EXECUTED
    assert bench.done == [gate.gate_id]
    assert heard
    assert await bench.owed() == [f"gate:{gate.gate_id}"]
    with pytest.raises(GateUnknown):
        await bench.desk.decide(GateId("g-none"), ADA, Choice.DENY)


async def test_of_two_owners_at_once_one_decides(bench: Bench) -> None:
    """The other one hears that it is decided, and nothing is done twice or after a denial."""
    gate = await bench.file()
    other = Decider(user_id=UserId("discord:9"), tier=Tier.OWNER)
    wishes = ((ADA, Choice.APPROVE), (other, Choice.DENY), (other, Choice.APPROVE))
    told = await asyncio.gather(
        *(bench.desk.decide(gate.gate_id, who, wish) for who, wish in wishes),
        return_exceptions=True,
    )
    refused = [each for each in told if isinstance(each, GateRefused)]
    assert [each.code for each in refused] == [GateErrorCode.ALREADY_DECIDED] * 2
    (decided,) = [each for each in told if isinstance(each, Gate)]
    assert await bench.desk.get(gate.gate_id) == decided


async def test_an_approval_from_elsewhere_is_noticed(bench: Bench) -> None:
    """The shell writes into the store; the running bot takes it up at its next look."""
    gate = await bench.file()
    other = bench.fresh()
    async with bench.running():
        await other.decide(gate.gate_id, ADA, Choice.APPROVE)
        async with asyncio.timeout(120):
            while (await bench.desk.get(gate.gate_id)).ended_ms is None:
                bench.world.clock.advance(2.0)
                await asyncio.sleep(0.001)
    assert bench.done == [gate.gate_id]


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (ActionFailed(ActionErrorCode.TIMEOUT, "It took too long."), "action_timeout", "It took"),
        (ScheduleUnreadable("That time is over already."), "schedule_unreadable", "That time is"),
        (RuntimeError("CANARY"), "action_broken", ""),
    ],
)
async def test_what_fails_is_told_by_its_code(
    bench: Bench, error: Exception, code: str, told: str
) -> None:
    """Both kinds of action; an unexpected fault shows nothing of itself."""
    await bench.world.database.write(lambda db: db.execute("CREATE TABLE usage_notes (id TEXT)"))
    bench.fails = error
    gates = [
        await bench.file("a"),
        await bench.file("b", tool="note", effect=EffectKind.RECORDED),
        await bench.file("c", tool="unknown"),
    ]
    for gate in gates:
        await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
    async with bench.running():
        ended = [await bench.ended(gate) for gate in gates]
    assert [gate.state for gate in ended] == [GateState.FAILED] * 3
    assert [gate.result_code for gate in ended] == [code, code, "no_action"]
    assert resolved(ended[0]).detail.startswith(f"{code}. {GAVE if told else ''}{told}".strip())
    assert "CANARY" not in repr(ended)


async def test_what_is_not_in_the_store_any_more_is_not_done(bench: Bench) -> None:
    """What was erased meanwhile was approved by nobody that anybody knows of."""
    await bench.world.database.write(lambda db: db.execute("CREATE TABLE usage_notes (id TEXT)"))
    actions = {"do": Action(execute=bench._do), "note": Action(write=bench._note)}
    execution = Execution(bench.store, clock=bench.world.clock, actions=actions)
    for tool, effect in (("do", EffectKind.ONCE), ("note", EffectKind.RECORDED)):
        gate = replace(await bench.file(tool=tool, effect=effect), state=GateState.APPROVED)
        await bench.world.database.write(lambda db: db.execute("DELETE FROM gates"))
        assert await execution.carry_out(gate) is GateState.FAILED
    notes = await bench.world.database.read(
        lambda db: db.execute("SELECT id FROM usage_notes").fetchall()
    )
    assert (bench.done, notes) == ([], [])
    kept = await bench.file("kept", tool="note", effect=EffectKind.RECORDED)
    approved = await bench.desk.decide(kept.gate_id, ADA, Choice.APPROVE)
    assert await execution.carry_out(approved) is GateState.EXECUTED


async def test_a_recorded_effect_and_its_end_are_one(bench: Bench) -> None:
    """``EffectKind.RECORDED``: never seen executing."""
    await bench.world.database.write(lambda db: db.execute("CREATE TABLE usage_notes (id TEXT)"))
    gate = await bench.file(tool="note", effect=EffectKind.RECORDED)
    await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
    async with bench.running():
        assert (await bench.ended(gate)).state is GateState.EXECUTED
    rows = await bench.world.database.read(
        lambda db: db.execute("SELECT id FROM usage_notes").fetchall()
    )
    assert rows == [(gate.gate_id,)]


async def test_a_restart_repeats_what_may_be_repeated_and_nothing_else(bench: Bench) -> None:
    """Executed exactly once, also after a crash: what nobody knows of has failed."""
    kinds = {EffectKind.ONCE: "a", EffectKind.REPEATABLE: "b"}
    gates = {kind: await bench.file(what, effect=kind) for kind, what in kinds.items()}
    for gate in gates.values():
        await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
        await bench.store.move(gate.gate_id, begin)  # and the host is killed here
    waiting = await bench.file("c")
    bench.desk = bench.fresh()
    await bench.desk.load()
    async with bench.running():
        assert (await bench.ended(gates[EffectKind.REPEATABLE])).state is GateState.EXECUTED
    once = await bench.desk.get(gates[EffectKind.ONCE].gate_id)
    assert (once.state, once.result_code) == (GateState.FAILED, INTERRUPTED)
    assert bench.done == [gates[EffectKind.REPEATABLE].gate_id]
    assert await bench.state(waiting) == "pending"
    briefing = await bench.desk.briefing(HEARTH)
    assert [gate.gate_id for gate in briefing.open_gates] == [waiting.gate_id]


async def test_what_a_killed_host_left_is_tried_until_it_has_an_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is away in the moment of taking it up leaves no gate executing for good."""
    monkeypatch.setattr("sessions.gate_desk.RETRY_SECONDS", 0.01)
    gate = await bench.file(tool="gone", effect=EffectKind.REPEATABLE)
    await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
    await bench.store.move(gate.gate_id, begin)  # and the host is killed here
    bench.desk = bench.fresh()
    await bench.desk.load()
    moves, away = bench.store.move, [StoreUnavailable("locked")]

    async def move(gate_id: GateId, step: Callable[[Gate], Gate]) -> Gate | None:
        if away:
            raise away.pop()
        return await moves(gate_id, step)

    monkeypatch.setattr(bench.store, "move", move)
    async with bench.running():
        ended = await bench.ended(gate)
    assert (ended.state, ended.result_code, away) == (GateState.FAILED, "no_action", [])


async def test_so_many_are_carried_out_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was approved for many conversations does not start a box for each of them."""
    monkeypatch.setattr("sessions.gate_desk.AT_ONCE", 2)
    bench.go = asyncio.Event()
    gates = [await bench.file(channel=ChannelId(f"discord:{number}")) for number in (1, 2, 3)]
    for gate in gates:
        await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
    async with bench.running():
        await eventually(lambda: len(bench.done) >= 2)
        seen = list[list[str]]()
        for _ in range(5):
            bench.desk.wake()
            seen.append(sorted([await bench.state(gate) for gate in gates]))
        bench.go.set()
        for gate in gates:
            assert (await bench.ended(gate)).state is GateState.EXECUTED
    assert seen == [["approved", "executing", "executing"]] * 5


async def test_one_conversation_does_one_thing_at_a_time(bench: Bench) -> None:
    """In the order of filing; another conversation does not wait for it."""
    bench.go = asyncio.Event()
    first, second = await bench.file("a"), await bench.file("b")
    other = await bench.file("c", channel=DIRECT)
    for gate in (second, first, other):
        await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
    async with bench.running():
        await eventually(lambda: len(bench.done) == 2)
        assert other.gate_id in bench.done
        assert await bench.state(second if first.gate_id in bench.done else first) == "approved"
        bench.go.set()
        for gate in (first, second, other):
            assert (await bench.ended(gate)).state is GateState.EXECUTED
    assert sorted(bench.done) == sorted(gate.gate_id for gate in (first, second, other))


async def test_what_nobody_decides_expires_by_the_clock(bench: Bench) -> None:
    """P25: once dead it stays dead, whatever the clock does; a late approval is refused."""
    gate = await bench.file()
    bench.world.clock.advance(24 * 3600)
    with pytest.raises(GateRefused) as refused:
        await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
    assert refused.value.code == GateErrorCode.TOO_LATE
    async with bench.running():
        assert (await bench.ended(gate)).state is GateState.EXPIRED
    bench.world.clock.advance(-48 * 3600)
    with pytest.raises(GateRefused) as refused:
        await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
    assert refused.value.state is GateState.EXPIRED
    assert await bench.owed() == [f"gate:{gate.gate_id}"]


async def test_what_is_taken_back_ends_without_a_word(bench: Bench) -> None:
    """P13: a deleted message asks for nothing any more; a conversation that is gone neither."""
    other = await bench.file("elsewhere", channel=DIRECT)
    first, approved = await bench.file("a"), await bench.file("b")
    await bench.desk.decide(approved.gate_id, ADA, Choice.APPROVE)
    assert await bench.desk.withdraw(HEARTH, MessageId("discord:6")) == ()
    (ended,) = await bench.desk.withdraw(HEARTH, MessageId("discord:5"))
    assert (ended.gate_id, ended.state, ended.decided_by) == (first.gate_id, "denied", None)
    assert await bench.state(approved) == "approved"
    assert await bench.state(other) == "pending"
    assert [gate.gate_id for gate in await bench.desk.withdraw(DIRECT)] == [other.gate_id]
    assert await bench.owed() == []


async def test_a_briefing_is_of_its_own_conversation_alone(bench: Bench) -> None:
    """CC "Briefing", acceptance 2 and 3 by their kind: a DM's gate is never seen in a group."""
    secret = await bench.file("CANARY-DM", channel=DIRECT)
    here = await bench.file("b")
    later = await bench.file("c")
    shown = await bench.desk.briefing(HEARTH)
    assert {each.gate_id for each in shown.open_gates} == {here.gate_id, later.gate_id}
    assert "CANARY" not in repr(shown)
    (own,) = (await bench.desk.briefing(DIRECT)).open_gates
    assert (own.gate_id, own.filed_at) == (secret.gate_id, at(secret.filed_ms))
    assert await bench.desk.briefing(None) == Briefing()
    assert await bench.desk.briefing(ChannelId("discord:1")) == Briefing()
    for gate in (here, later):
        await bench.desk.decide(gate.gate_id, ADA, Choice.DENY)
    assert await bench.desk.briefing(HEARTH) == Briefing()
    again = await bench.file("d")
    assert [each.gate_id for each in (await bench.desk.briefing(HEARTH)).open_gates] == [
        again.gate_id
    ]


async def test_who_reads_while_a_gate_is_written_makes_nobody_forget_it(
    bench: Bench, tmp_path: Path
) -> None:
    """Issue "Gateway of actions": the briefing lists the open gates; nobody waits for the writer to
    read them (P24), and who read too early hides nothing from who comes later."""
    async with asyncio.TaskGroup() as tasks:
        with locked(tmp_path / "inglenook.db"):
            filing = tasks.create_task(bench.file())
            assert await bench.owed() == []  # the writing has begun by now
            assert await bench.desk.briefing(HEARTH) == Briefing()
            assert not filing.done()
    (told,) = (await bench.desk.briefing(HEARTH)).open_gates
    assert told.gate_id == filing.result().gate_id


async def test_who_deletes_while_a_gate_is_written_takes_it_back(
    bench: Bench, tmp_path: Path
) -> None:
    """P13's kind: what a deleted message asked for is not left to be approved."""
    async with asyncio.TaskGroup() as tasks:
        with locked(tmp_path / "inglenook.db"):
            filing = tasks.create_task(bench.file())
            assert await bench.owed() == []  # the writing has begun by now
            deleting = tasks.create_task(bench.desk.withdraw(HEARTH, MessageId("discord:5")))
            assert await bench.owed() == []
            assert not filing.done()
    assert [each.gate_id for each in deleting.result()] == [filing.result().gate_id]
    assert await bench.state(filing.result()) == "denied"


async def test_earned_trust_approves_by_itself_until_a_denial(bench: Bench) -> None:
    """Off by default; of the same imp, tool and conversation; a denial resets."""

    async def decided(what: str, choice: Choice) -> None:
        gate = await bench.file(what)
        assert gate.state is GateState.PENDING
        await bench.desk.decide(gate.gate_id, ADA, choice)

    for number in range(3):
        await decided(f"early {number}", Choice.APPROVE)
    assert (await bench.file("off")).state is GateState.PENDING
    bench.settings = GateSettings(earned_after=3)
    trusted = await bench.file("on")
    assert (trusted.state, trusted.decided_by) == (GateState.APPROVED, EARNED)
    assert (await bench.file("elsewhere", channel=DIRECT)).state is GateState.PENDING
    assert (await bench.file("other", tool="note")).state is GateState.PENDING
    for number in range(4):  # a channel's purpose waits for a person, whatever was approved before
        purpose = await bench.file(f"purpose {number}", tool=PROPOSE_PURPOSE.name)
        assert purpose.state is GateState.PENDING
        await bench.desk.decide(purpose.gate_id, ADA, Choice.APPROVE)
    async with bench.running():
        ended = await bench.ended(trusted)
    assert resolved(ended).detail.startswith(BY_TRUST)
    off = next(g for g in await bench.store.all_in(GateState.PENDING) if "off" in g.payload)
    bench.world.clock.advance(1)
    await bench.desk.decide(off.gate_id, ADA, Choice.DENY)
    assert (await bench.file("after a denial")).state is GateState.PENDING


async def test_earned_trust_needs_somebody_who_spoke(bench: Bench) -> None:
    """A turn that a gate caused proposes nothing that passes by itself: it could go on for ever."""
    bench.settings = GateSettings(earned_after=1)
    gate = await bench.file("first")
    await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
    caused = replace(gate.origin, turn_id=turn_id_of(gate.gate_id))
    of_shell = replace(gate.origin, requester=SHELL)
    for number, origin in enumerate((caused, of_shell)):
        filed = await bench.desk.file(
            Proposal(
                origin=origin,
                tool="do",
                arguments={"number": number},
                effect=EffectKind.ONCE,
                intent="",
                rationale="",
            )
        )
        assert filed is not None
        assert filed.state is GateState.PENDING
    assert (await bench.file("by a person")).state is GateState.APPROVED


async def test_no_conversation_is_forgotten_where_many_wait(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart each briefing lists its gates, however many wait elsewhere."""
    monkeypatch.setattr("sessions.store.gates._MOST", 2)
    channels = [ChannelId(f"discord:{number}") for number in range(100, 105)]
    filed = [await bench.file(channel=channel) for channel in channels]
    bench.desk = bench.fresh()
    await bench.desk.load()
    for gate, channel in [*zip(filed, channels, strict=True)] * 2:  # and again in the next turn
        (told,) = (await bench.desk.briefing(channel)).open_gates
        assert told.gate_id == gate.gate_id


async def test_the_outcome_stands_first_in_the_turn_that_follows(bench: Bench) -> None:
    """CC "Briefing": continuation first, then open gates by filing time; issue: a serialized turn.

    The turn is of the origin's conversation, in the order of its messages, and its own input says
    that the host speaks: no person's id is on it.
    """
    gate = await bench.file("CANARY-INTENT")
    await bench.desk.decide(gate.gate_id, ADA, Choice.APPROVE)
    async with bench.running():
        ended = await bench.ended(gate)
    first = await bench.file("first")
    bench.world.clock.advance(1)
    second = await bench.file("second")
    bench.world.parts = replace(bench.world.parts, gates=bench.desk)
    kept = await bench.world.parts.rules.rules(a_channel())
    turn = continuation(
        ended,
        scope_of(ended, provider="discord", role=a_channel().role),
        house_rules=kept.in_prompt,
        received_ns=bench.world.clock.monotonic_ns(),
    )
    async with bench.world.registry() as registry:
        outcome = await registry.submit(turn).outcome()
    assert (outcome.kind, outcome.turn_id) == (OutcomeKind.REPLIED, f"gate:{gate.gate_id}")
    ((_, prompt),) = bench.world.engine.prompts
    places = [
        prompt.index(each)
        for each in (
            '"block":"briefing"',
            f'"item":"continuation","gate":"{gate.gate_id}"',
            f'"gate":"{first.gate_id}"',
            f'"gate":"{second.gate_id}"',
            '"block":"message"',
        )
    ]
    assert places == sorted(places)
    assert '"outcome":"executed"' in prompt
    assert f'"detail":"{GAVE}Did' in prompt
    assert '"author":"the host","role":"system"' in prompt
    assert "CANARY-INTENT" in prompt
    system = bench.world.trace(outcome.run_id or "")[0]
    assert gate.gate_id not in repr(system)


@pytest.mark.parametrize("state", [GateState.PENDING, GateState.APPROVED, GateState.EXECUTING])
async def test_what_has_not_ended_continues_nothing(bench: Bench, state: GateState) -> None:
    """A continuation is of an end."""
    with pytest.raises(ValueError, match="has not ended"):
        resolved(replace(await bench.file(), state=state))
