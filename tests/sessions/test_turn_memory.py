"""Memory in the turns of a session: given, written, forgotten, and never sent once forgotten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer
from compiler.relevance import RELEVANCE_POLICY
from compiler.request import ChannelId, Place, RunId, RunScope
from sessions.errors import StoreUnavailable
from sessions.inbound import InboundMessage, OutcomeKind
from sessions.memory.notes import Claim
from sessions.memory.results import CleanupStatus
from sessions.memory.service import MemoryService
from sessions.registry import Registry
from sessions.store.consent import ConsentLevel, Purpose
from sessions.trace import TraceWriter
from sessions.traces.events import TraceEvent, TraceMark
from support.memory_world import by_hand, forgotten, kept, memory_in
from support.real_world import RealWorld, real_world
from support.session_world import (
    ADA,
    HEARTH,
    FakeClient,
    World,
    ask,
    eventually,
    hold,
    inbound,
    only_run,
    scope_of,
    seen,
    session_world,
)


@asynccontextmanager
async def remembering(home: Path) -> AsyncIterator[World]:
    async with session_world(home, remembers=True) as world:
        yield world


def service_of(world: World) -> MemoryService:
    assert world.parts.memory is not None
    return world.parts.memory


def prompt_of(world: World) -> str:
    return world.engine.prompts[-1][1]


async def put(world: World, text: str) -> str:
    result = await service_of(world).remember(by_hand(scope_of()), text, explicit=True)
    return kept(result).note.short_id


def forgetting_while_traced(
    monkeypatch: pytest.MonkeyPatch, world: World, scope: RunScope, note: str
) -> asyncio.Event:
    """Have a note forgotten between the first line that holds it and its delivery."""
    append, done = TraceWriter.append, asyncio.Event()

    async def forget_meanwhile(self: TraceWriter, event: TraceEvent) -> TraceMark:
        mark = await append(self, event)
        if "CANARY-26" in event.model_dump_json() and not done.is_set():
            done.set()
            await service_of(world).forget(by_hand(scope), note)
        return mark

    monkeypatch.setattr(TraceWriter, "append", forget_meanwhile)
    return done


async def test_notes_are_in_the_input_and_their_run_is_known(tmp_path: Path) -> None:
    """What a run is given is written down before it is sent."""
    async with remembering(tmp_path) as world, world.registry() as registry:
        note = await put(world, "CANARY likes tea")
        await ask(registry, 1, "tea?")
        assert "CANARY likes tea" in prompt_of(world)
        run = only_run(registry)
        held = await world.database.read(
            lambda db: db.execute(
                "SELECT memory_runs.run_id FROM memory_runs JOIN memory_records USING (record_id)"
                " WHERE short_id = ?",
                (note,),
            ).fetchall()
        )
        assert held == [(run,)]


async def test_the_model_s_call_is_bound_to_the_active_turn(tmp_path: Path) -> None:
    """Scope, person and place come from the turn; the answer comes while it runs."""
    async with remembering(tmp_path) as world, world.registry() as registry:
        world.engine.behave = hold
        ticket = registry.submit(inbound(1, "I am Ada and like tea"))
        await asyncio.wait_for(world.engine.prompted.wait(), 30)
        client = world.engine.last
        client.call("remember", text="Likes tea")
        await asyncio.wait_for(world.engine.tool_answered.wait(), 30)
        client.reply("Noted.")
        assert (await ticket.outcome()).kind is OutcomeKind.REPLIED
        assert client.tool_answers[0]["ok"] is True
        (note,) = (await service_of(world).list_own(by_hand(scope_of()))).notes
        assert (note.about, note.channel_id, note.message_id) == (ADA, HEARTH, "discord:1")
        assert client.host is None, "between turns nothing is served"


async def test_a_first_turn_records_what_memory_stands_behind_it(tmp_path: Path) -> None:
    """Plan and startup package: contradictions, the index, what the speaker allows, as codes."""
    async with remembering(tmp_path) as world, world.registry() as registry:
        service, ctx = service_of(world), by_hand(scope_of())
        await service.set_consent(ctx, ConsentLevel.ON, purpose=Purpose.SHARE)
        names = []
        for explicit, day in ((True, "Monday"), (False, "Friday")):
            said = Claim(subject="tea", predicate="is on", value=day)
            note = await service.remember(
                ctx, f"Tea is on {day}", explicit=explicit, about_channel=True, claim=said
            )
            names.append(kept(note).note.short_id)
        await ask(registry, 1, "When is tea?")
        await ask(registry, 2)
        run = only_run(registry)
    first, second = (each for each in world.trace(run) if each.get("phase") == "turn")
    plan, startup = first["plan"], first["startup"]
    assert isinstance(plan, dict)
    assert isinstance(startup, dict)
    assert plan["conflicts"] == [["PREFERENCE_STALE_PROFILE", sorted(names), names[0]]]
    assert plan["retrieval_index_id"] == RELEVANCE_POLICY
    assert not plan["stale_index"]
    sources = dict(startup["sources"])
    assert sources["conflicts"] == ["/".join(("PREFERENCE_STALE_PROFILE", *sorted(names)))]
    assert sources["index"] == [RELEVANCE_POLICY, plan["retrieval_index_revision"]]
    assert sources["memory-pointers"] == sources["confirmed-preferences"] == [names[0]]
    assert sources["consent"] == ["remember:ask", "share:on"]
    assert second["startup"] is None


async def test_without_memory_the_model_has_no_tools(tmp_path: Path) -> None:
    async with session_world(tmp_path) as world, world.registry() as registry:
        await ask(registry, 1)
        assert world.engine.last.launch.tools == ()
        assert world.engine.last.host is None


async def test_switching_memory_on_starts_sessions_afresh(tmp_path: Path) -> None:
    """Tools are part of the prefix, so of the route key and of what may be resumed."""
    async with session_world(tmp_path) as world, world.registry() as registry:
        await ask(registry, 1)
        first = only_run(registry)
    async with remembering(tmp_path) as world, world.registry() as registry:
        await ask(registry, 2)
        assert only_run(registry) != first
        assert [tool.name for tool in world.engine.last.launch.tools] == [
            "remember",
            "recall",
            "forget",
            "correct",
        ]


async def test_a_warm_session_ends_when_what_it_holds_is_forgotten(tmp_path: Path) -> None:
    """The next message starts a clean one: no prompt and no history of it holds the words."""
    async with remembering(tmp_path) as world, world.registry() as registry:
        await world.parts.history.append(seen(1, "CANARY-26 is my boat"))
        note = await put(world, "CANARY-26 is Ada's boat")
        await ask(registry, 2, "boat?")
        first = only_run(registry)
        files = tmp_path / "runs" / first / "session"
        assert files.exists()
        proof = forgotten(await service_of(world).forget(by_hand(scope_of()), note)).proof
        assert proof.status is CleanupStatus.COMPLETED
        assert registry.views() == ()
        assert not files.exists()
        await ask(registry, 3, "boat?")
        assert only_run(registry) != first
        assert "CANARY-26" not in prompt_of(world)


async def test_a_forgetting_within_a_turn_is_finished_after_it(tmp_path: Path) -> None:
    """The session ends after its answer, and only then its files go."""
    async with remembering(tmp_path) as world, world.registry() as registry:
        note = await put(world, "CANARY-26 is Ada's boat")
        world.engine.behave = hold
        ticket = registry.submit(inbound(1, "forget my boat"))
        await asyncio.wait_for(world.engine.prompted.wait(), 30)
        run = only_run(registry)
        client = world.engine.last
        client.call("forget", id=note)
        await asyncio.wait_for(world.engine.tool_answered.wait(), 30)
        assert client.tool_answers == [
            {"ok": True, "text": f"Forgotten: {note}. Do not repeat it."}
        ]
        client.reply("Done.")
        await ticket.outcome()
        files = tmp_path / "runs" / run / "session"
        await eventually(lambda: not files.exists())
        await eventually(lambda: registry.views() == ())
        pending = await world.database.read(
            lambda db: db.execute("SELECT count(*) FROM memory_pending").fetchone()
        )
        assert pending == (0,)


async def test_a_note_forgotten_while_the_turn_is_traced_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table 9: "a source tombstoned between plan and send": compiled anew without it."""
    async with remembering(tmp_path) as world, world.registry() as registry:
        note = await put(world, "CANARY-26 is Ada's boat")
        done = forgetting_while_traced(monkeypatch, world, scope_of(), note)
        outcome = await ask(registry, 1, "boat?")
        assert done.is_set()
        assert outcome.kind is OutcomeKind.REPLIED
        assert "CANARY-26" not in prompt_of(world)
        run = only_run(registry)
    plans = [each["plan"] for each in world.trace(run) if each.get("phase") == "turn"]
    outdated, sent = ({**each} for each in plans if isinstance(each, dict))
    assert outdated["conflicts"] == []
    assert sent["conflicts"] == [["SUPERSEDED_PLAN", [outdated["canonical_plan_hash"]], ""]]


async def test_a_history_that_repeats_what_was_forgotten_meanwhile_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table 9: a private note is in no channel's selection, but its words may be in the history."""
    private = replace(scope_of(), place=Place.DM, channel_id=ChannelId("discord:700"))
    async with remembering(tmp_path) as world, world.registry() as registry:
        said = seen(1, "CANARY-26 is Ada's boat", label="Ada")
        said = replace(said, entry=replace(said.entry, author_id=ADA))
        await world.parts.history.append(said)
        result = await service_of(world).remember(
            by_hand(private), "CANARY-26 is Ada's boat", explicit=True
        )
        done = forgetting_while_traced(monkeypatch, world, private, kept(result).note.short_id)
        outcome = await ask(registry, 2, "hello?")
        assert done.is_set()
        assert outcome.kind is OutcomeKind.REPLIED
        assert "CANARY-26" not in prompt_of(world)


async def test_memory_that_cannot_be_read_keeps_the_turn_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail closed: nothing is sent as if there were no notes."""
    async with remembering(tmp_path) as world, world.registry() as registry:

        async def broken(*_: object) -> None:
            raise StoreUnavailable("locked")

        monkeypatch.setattr(service_of(world), "select", broken)
        outcome = await ask(registry, 1)
        assert (outcome.kind, outcome.error_code) == (OutcomeKind.FAILED, "store_unavailable")
        assert world.engine.prompts == []


async def test_a_call_after_the_turn_has_ended_reaches_nothing(tmp_path: Path) -> None:
    async with remembering(tmp_path) as world, world.registry() as registry:
        handlers: list[object] = []

        def note_handler(client: FakeClient, text: str) -> None:
            del text
            handlers.append(client.host)
            client.reply("ok")

        world.engine.behave = note_handler
        await ask(registry, 1)
        assert handlers[0] is not None
        assert world.engine.last.host is None


@dataclass(slots=True)
class Talk:
    """A direct message of Ada's with the real pi."""

    real: RealWorld
    memory: MemoryService
    registry: Registry
    number: int = 0

    async def say(self, text: str) -> str:
        self.number += 1
        base = inbound(self.number, text, channel=700)
        scope = RunScope(
            provider="discord",
            place=Place.DM,
            channel_id=base.scope.channel_id,
            user_id=ADA,
            message_id=base.scope.message_id,
        )
        message: InboundMessage = replace(base, scope=scope)
        await self.real.parts.history.append(
            replace(seen(self.number, text, channel=700), scope=scope)
        )
        outcome = await asyncio.wait_for(self.registry.submit(message).outcome(), 30)
        assert outcome.kind is OutcomeKind.REPLIED, outcome
        return outcome.text


@asynccontextmanager
async def talking(home: Path) -> AsyncIterator[Talk]:
    async with real_world(home) as real, memory_in(home, start=False) as memory:
        parts = replace(real.parts, memory=memory.service)
        async with Registry(parts) as registry:
            yield Talk(real=real, memory=memory.service, registry=registry)


async def test_told_used_and_forgotten_with_the_real_pi(tmp_path: Path) -> None:
    """P26 on raw request bodies: the canary is in the turns between, and in none after."""
    async with talking(tmp_path) as talk:
        model = talk.real.model
        model.script(
            Answer.call(ToolCall(name="remember", arguments={"text": "The boat is CANARY-26"})),
            Answer.of("I keep that."),
        )
        assert await talk.say("remember that my boat is CANARY-26") == "I keep that."
        assert await talk.say("hello") != ""
        assert b"The boat is CANARY-26" in model.requests[-1].raw
        context = by_hand(RunScope(provider="discord", place=Place.DM, user_id=ADA))
        (note,) = (await talk.memory.list_own(context)).notes
        model.script(
            Answer.call(ToolCall(name="forget", arguments={"id": note.short_id})),
            Answer.of("It is gone."),
        )
        assert await talk.say("forget CANARY-26") == "It is gone."
        told = json.dumps(model.requests[-1].body["messages"][-1])
        assert f"Forgotten: {note.short_id}" in told
        before = len(model.requests)
        await talk.say("what is my boat?")
        await talk.say("and CANAR, what do you know?")
        for request in model.requests[before:]:
            assert b"CANARY-26" not in request.raw
        runs = {each.name for each in (tmp_path / "runs").iterdir()}
        assert len(runs) == 2
        assert not any((tmp_path / "runs").glob("*/session/*.jsonl")) or all(
            "CANARY-26" not in file.read_text()
            for file in (tmp_path / "runs").glob("*/session/*.jsonl")
        )
        assert RunId(min(runs)) is not None
