"""The tool calls of a turn: judged by the host, in the scope of the turn, whoever carries them out.

The engine here is a fake; ``test_real_tools`` and ``test_box`` have the real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from compiler.errors import SafeError
from sessions.errors import StoreUnavailable
from sessions.gateway import NOT_GRANTED, NOT_OFFERED
from sessions.grants import Grant, Verdict
from sessions.hands import Arguments, Hands, HostTool
from sessions.pi.host_request import HostRequest
from sessions.registry import Registry
from sessions.tools.call import FAILED, ToolAnswer, ToolCall, ToolTurn
from sessions.tools.table import FILE_TASK, PROPOSE_PURPOSE, ToolSpec
from sessions.trace import TraceUnwritable, TraceWriter
from sessions.traces.events import TraceEvent, TraceMark
from sessions.traces.proof import verify
from sessions.turn_tools import ENOUGH
from support.gateway_world import RecordingFiler
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
    session_world,
)

SPEC = ToolSpec(name="reply", label="Reply", description="Say more.", parameters={})
ALLOW_ALL = (Grant(tool="*", verdict=Verdict.ALLOW),)


@dataclass(slots=True)
class Armed:
    """A world whose imp has hands."""

    world: World
    grants: tuple[Grant, ...] = ALLOW_ALL
    trusted: bool = True
    boxed: bool = True
    filer: RecordingFiler = field(default_factory=RecordingFiler)
    turns: list[ToolTurn] = field(default_factory=list)
    does: Callable[[ToolCall], ToolAnswer] = lambda call: ToolAnswer(ok=True, text=call.arguments)

    async def reply(self, turn: ToolTurn, call: ToolCall) -> ToolAnswer:
        """Answer the host's one tool."""
        self.turns.append(turn)
        return self.does(call)

    async def turn(self, registry: Registry, *calls: tuple[str, bool]) -> list[dict[str, object]]:
        """Take a turn in which tools are called; give what the engine was told."""
        self.world.engine.behave = hold
        self.world.engine.prompted.clear()
        ticket = registry.submit(inbound(len(self.world.engine.prompts) + 1))
        await asyncio.wait_for(self.world.engine.prompted.wait(), 120)
        client = self.world.engine.last
        for name, builtin in calls:
            self.world.engine.tool_answered.clear()
            client.call(name, builtin=builtin, text="x")
            await asyncio.wait_for(self.world.engine.tool_answered.wait(), 120)
        told = list(client.tool_answers)
        client.tool_answers.clear()
        client.reply("Done.")
        await ticket.outcome()
        return told


@asynccontextmanager
async def armed(home: Path) -> AsyncIterator[Armed]:
    async with session_world(home) as world:
        made = Armed(world=world)
        hands = Hands(
            grants=lambda: made.grants,
            trusted=lambda _: made.trusted,
            boxed=lambda _: made.boxed,
            filer=made.filer,
            tools=(HostTool(spec=SPEC, answer=made.reply),),
        )
        world.parts = replace(world.parts, hands=hands)
        yield made


def shown(client: FakeClient) -> tuple[str, ...]:
    return (*client.launch.builtin_tools, *(tool.name for tool in client.launch.tools))


async def test_every_call_is_judged_in_the_scope_of_its_turn(tmp_path: Path) -> None:
    """The engine's own tools get a verdict, the host's are carried out; desks close with turns."""
    async with armed(tmp_path) as hands, hands.world.registry() as registry:
        told = await hands.turn(registry, ("bash", True), ("reply", False), ("bash", False))
        assert told == [
            {"verdict": "allow", "text": ""},
            {"ok": True, "text": '{"text": "x"}'},
            {"ok": False, "text": FAILED},
        ]
        (turn,) = hands.turns
        assert (turn.scope.channel_id, turn.scope.user_id) == (HEARTH, ADA)
        assert (turn.run_id, turn.turn_id) == (only_run(registry), "discord:message:1")
        assert hands.world.engine.last.host is None
        hands.grants = (Grant(tool="bash", verdict=Verdict.GATE),)
        # The rules changed: the next session shows what they are now.
        waits, refused = await hands.turn(registry, ("bash", True), ("write", True))
        assert "g-1" in str(waits.pop("text"))
        assert waits == {"verdict": "block"}
        assert refused == {"verdict": "block", "text": NOT_OFFERED}
        assert [each.tool for each in hands.filer.proposals] == ["bash"]
        traced = [each for each in hands.world.trace(turn.run_id) if each["event"] == "tool"]
        assert [(each["tool"], each["verdict"], each["rule"]) for each in traced] == [
            ("bash", "allow", 0),
            ("reply", "allow", 0),
            ("bash", "allow", 0),
        ]
        assert {each["arguments"] for each in traced} == {'{"text": "x"}'}
        told = [each for each in hands.world.trace(turn.run_id) if each["event"] == "told"]
        assert [each["failed"] for each in told] == [False, True]
        report = verify(tmp_path / "runs" / turn.run_id / "context.jsonl")
        assert report.ok, report.problems


async def test_what_goes_wrong_in_a_call_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail closed: a judge that cannot judge refuses, and the turn goes on without a word of it."""
    async with armed(tmp_path) as hands, hands.world.registry() as registry:

        def broken(call: ToolCall) -> ToolAnswer:
            raise RuntimeError(call.arguments)

        hands.does = broken
        assert await hands.turn(registry, ("reply", False)) == [{"ok": False, "text": FAILED}]

        async def unread(*_: object) -> frozenset[str]:
            raise StoreUnavailable("locked")

        monkeypatch.setattr(hands.world.parts.rules, "prohibited_tools", unread)
        (told,) = await hands.turn(registry, ("bash", True))
        assert told["verdict"] == "block"
        safe: SafeError = StoreUnavailable("locked")
        assert told["text"] == safe.safe_message


async def test_a_session_ends_when_other_tools_are_to_be_shown(tmp_path: Path) -> None:
    """Trust and grants are part of the route key; what is revoked is refused at once, too."""
    async with armed(tmp_path) as hands, hands.world.registry() as registry:
        world = hands.world
        hands.grants = (Grant(tool="read", verdict=Verdict.ALLOW),)
        await ask(registry, 1)
        first, key = only_run(registry), world.engine.last.launch.route_key
        assert shown(world.engine.last) == ("read", "reply")
        await hands.turn(registry)
        assert only_run(registry) == first, "nothing changed, so the session goes on"
        hands.grants = (*hands.grants, Grant(tool="bash", verdict=Verdict.GATE))
        await hands.turn(registry)
        assert only_run(registry) != first
        assert shown(world.engine.last) == ("read", "bash", "reply")
        assert world.engine.last.launch.route_key != key
        ended = world.trace(first)[-1]
        assert (ended["event"], ended["reason"]) == ("ended", "tools")
        hands.boxed = False
        await hands.turn(registry)
        assert shown(world.engine.last) == ("reply",)


async def test_a_tool_says_what_a_person_is_asked_about(tmp_path: Path) -> None:
    """What waits is what that very tool makes of the call; what it refuses is asked of nobody."""
    async with armed(tmp_path) as hands:

        async def prepare(turn: ToolTurn, arguments: Arguments) -> Arguments | str:
            assert turn.scope.channel_id == HEARTH
            return "No." if arguments == {"text": "y"} else {**arguments, "whole": "yes"}

        async def never(turn: ToolTurn, arguments: Arguments) -> Arguments | str:
            raise AssertionError(turn, arguments)

        hands.grants = (Grant(tool="*", verdict=Verdict.GATE),)
        tools = (
            HostTool(spec=PROPOSE_PURPOSE, answer=hands.reply, prepare=never),
            HostTool(spec=FILE_TASK, answer=hands.reply, prepare=prepare),
        )
        armed_hands = replace(hands.world.parts.hands, tools=tools)
        hands.world.parts = replace(hands.world.parts, hands=armed_hands)
        async with hands.world.registry() as again:
            waits, plain = await hands.turn(again, ("file_task", False), ("write", True))
            assert "g-1" in str(waits["text"])
            assert "g-2" in str(plain["text"])
            hands.world.engine.behave = hold
            ticket = again.submit(inbound(9))
            await eventually(lambda: hands.world.engine.last.in_flight)
            client = hands.world.engine.last
            client.call("file_task", text="y")
            await eventually(lambda: bool(client.tool_answers))
            assert client.tool_answers == [{"ok": False, "text": "No."}]
            client.reply("Done.")
            await ticket.outcome()
    made = {each.tool: dict(each.arguments) for each in hands.filer.proposals}
    assert made == {"file_task": {"text": "x", "whole": "yes"}, "write": {"text": "x"}}


async def test_a_rule_taken_back_within_a_turn_counts_at_once(tmp_path: Path) -> None:
    """The session still shows the tool, and the host no longer allows it."""
    async with armed(tmp_path) as hands, hands.world.registry() as registry:
        world = hands.world
        world.engine.behave = hold
        ticket = registry.submit(inbound(1))
        await asyncio.wait_for(world.engine.prompted.wait(), 120)
        hands.grants = (Grant(tool="*", verdict=Verdict.DENY),)
        client = world.engine.last
        client.call("bash", builtin=True, command="ls")
        await asyncio.wait_for(world.engine.tool_answered.wait(), 120)
        assert client.tool_answers == [{"verdict": "block", "text": NOT_GRANTED}]
        client.reply("I may not.")
        await ticket.outcome()


async def test_a_call_is_written_down_before_it_is_carried_out(tmp_path: Path) -> None:
    """CC "Failure behavior": a host killed in the middle of a tool leaves the call in the trace.

    The answer is there before the engine has it, so what the model was told is known too.
    """
    async with armed(tmp_path) as hands, hands.world.registry() as registry:
        seen: list[list[object]] = []

        def look() -> None:
            lines = hands.world.trace(hands.world.engine.last.launch.run_dir.name)
            seen.append([each["event"] for each in lines if each["event"] in ("tool", "told")])

        def does(call: ToolCall) -> ToolAnswer:
            look()
            return ToolAnswer(ok=True, text=call.arguments)

        hands.does = does
        await ask(registry, 1)
        client = hands.world.engine.last
        hands_over = client.answer_host

        def answered(request: HostRequest, text: str) -> None:
            look()
            hands_over(request, text)

        client.answer_host = answered  # type: ignore[method-assign]
        await hands.turn(registry, ("reply", False), ("bash", True))
    assert seen == [["tool"], ["tool", "told"], ["tool", "told", "tool"]]


async def test_a_call_that_cannot_be_written_down_is_not_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No trace, no delivery: neither by the host nor by the engine, and no answer goes out."""
    async with armed(tmp_path) as hands, hands.world.registry() as registry:
        await ask(registry, 1)
        full = TraceUnwritable("OSError", number=28)
        append = TraceWriter.append
        refused: list[str] = []

        async def disk_full(writer: TraceWriter, event: TraceEvent) -> TraceMark:
            if event.event in refused:
                raise full
            return await append(writer, event)

        monkeypatch.setattr(TraceWriter, "append", disk_full)
        refused[:] = ["tool"]
        assert await hands.turn(registry, ("reply", False), ("bash", True)) == [
            {"ok": False, "text": full.safe_message},
            {"verdict": "block", "text": full.safe_message},
        ]
        assert hands.turns == []
        refused[:] = ["told"]
        (told,) = await hands.turn(registry, ("reply", False))
        assert told == {"ok": False, "text": full.safe_message}


async def test_a_model_that_has_lost_its_way_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn has so many calls; a further one is neither judged nor done."""
    monkeypatch.setattr("sessions.turn_tools.MOST_CALLS", 2)
    async with armed(tmp_path) as hands, hands.world.registry() as registry:
        told = await hands.turn(registry, *[("reply", False)] * 3)
        assert [each["ok"] for each in told] == [True, True, False]
        assert told[-1]["text"] == ENOUGH
        assert len(hands.turns) == 2


async def test_calls_that_nobody_looked_at_are_counted_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue "Gateway": each call is on record, and a flood of them is no flood of lines.

    Counted are those beyond what is worked on at once, those beyond what a turn may call, and those
    that were cut off before they were judged; a turn without any has no such line.
    """
    monkeypatch.setattr("sessions.turn_tools.MOST_CALLS", 2)
    async with armed(tmp_path) as hands:
        world, judging = hands.world, asyncio.Event()

        async def slow_once(*_: object) -> frozenset[str]:
            if not judging.is_set():
                judging.set()
                await asyncio.Event().wait()
            return frozenset()

        monkeypatch.setattr(world.parts.rules, "prohibited_tools", slow_once)
        async with world.registry() as registry:
            world.engine.behave = hold
            ticket = registry.submit(inbound(1))
            await asyncio.wait_for(world.engine.prompted.wait(), 120)
            client = world.engine.last
            client.call("reply")
            await asyncio.wait_for(judging.wait(), 120)
            client.call("reply")
            await eventually(lambda: len(client.tool_answers) == 1)
            client.call("reply")
            await eventually(lambda: len(client.tool_answers) == 2)
            monkeypatch.setattr("sessions.tools.desk.MAX_OPEN", 1)
            client.call("bash", builtin=True)
            assert [each.get("ok") for each in client.tool_answers] == [True, False, None]
            client.reply("Done.")
            await ticket.outcome()
            run_id = only_run(registry)
            monkeypatch.setattr("sessions.tools.desk.MAX_OPEN", 2)
            await hands.turn(registry, ("reply", False))
    lines = world.trace(run_id)
    assert [each["turn_id"] for each in lines if each["event"] == "tool"] == [
        "discord:message:1",
        "discord:message:2",
    ]
    unlisted = [(each["turn_id"], each["calls"]) for each in lines if each["event"] == "unlisted"]
    assert unlisted == [("discord:message:1", 3)]
    report = verify(tmp_path / "runs" / run_id / "context.jsonl")
    assert report.ok, report.problems


async def test_the_log_names_only_tools_that_were_shown(tmp_path: Path) -> None:
    """Privacy: what the engine calls a tool may be anybody's words."""
    async with armed(tmp_path) as hands, hands.world.registry() as registry:
        with capture_logs() as logged:
            await hands.turn(registry, ("CANARY", True), ("bash", True))
    judged = [each["tool"] for each in logged if each["event"] == "tool.judged"]
    assert judged == [None, "bash"]
    assert "CANARY" not in repr(logged)


async def test_what_the_engine_s_own_tools_gave_is_written_at_once(tmp_path: Path) -> None:
    """A long turn that is cut off leaves behind what its tools gave until then; each once."""
    async with armed(tmp_path) as hands, hands.world.registry() as registry:
        engine = hands.world.engine
        engine.behave = hold
        ticket = registry.submit(inbound(1))
        await asyncio.wait_for(engine.prompted.wait(), 120)
        client, run_id = engine.last, engine.last.launch.run_dir.name

        def told() -> list[object]:
            lines = hands.world.trace(run_id)
            return [each["result_chars"] for each in lines if each["event"] == "told"]

        client.call("bash", builtin=True, call_id="c1", command="ls")
        await eventually(lambda: bool(client.tool_answers))
        assert told() == []
        client.tell("c1", "a.txt")
        await eventually(lambda: told() == [5])
        client.tell("c1", "a.txt b.txt")
        client.tell("unknown", "a.txt")
        client.reply("Done.")
        await ticket.outcome()
        await eventually(lambda: hands.world.trace(run_id)[-1]["event"] == "outcome")
        assert told() == [5, 11], "what it said of it later is written at the end"
        assert verify(tmp_path / "runs" / run_id / "context.jsonl").ok
