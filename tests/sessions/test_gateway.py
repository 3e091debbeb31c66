"""The judge of tool calls: what goes on, what waits, what is refused, and by which rule."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.request import Place, Role, RunScope
from sessions.gates import SHELL, EffectKind
from sessions.gateway import (
    MAX_ARGUMENT_CHARS,
    NOBODY_TO_ASK,
    NOT_GRANTED,
    NOT_LATER,
    NOT_OFFERED,
    TOO_MANY_WAIT,
    WITHHELD,
    Ruling,
)
from sessions.grants import Grant, Trust, Verdict
from sessions.tools.call import BAD_ARGUMENTS, ToolCall
from sessions.tools.table import BUILTIN_NAMES, TOOL_NAMES
from support.gateway_world import Bench, RecordingFiler, turn_with
from support.session_world import ADA, HEARTH

ALLOW_ALL = (Grant(tool="*", verdict=Verdict.ALLOW),)


async def judged(
    bench: Bench, tool: str, scope: RunScope | None = None, **arguments: object
) -> Ruling:
    call = ToolCall(name=tool, arguments=json.dumps(arguments), builtin=tool in BUILTIN_NAMES)
    return await bench.gateway.judge(turn_with(*TOOL_NAMES, scope=scope), call)


async def test_nothing_granted_is_denied_and_the_first_rule_decides() -> None:
    """Issue "Gateway of actions"; the rule's number is told to the trace, not to the model."""
    assert await judged(Bench(), "read", path="a") == Ruling(
        verdict=Verdict.DENY, rule=None, text=NOT_GRANTED
    )
    grants = (
        Grant(tool="read", verdict=Verdict.DENY, arguments={"path": "/session/*"}),
        Grant(tool="read", verdict=Verdict.ALLOW),
        Grant(tool="read", verdict=Verdict.DENY),
    )
    bench = Bench(grants=grants)
    assert (await judged(bench, "read", path="a")) == Ruling(verdict=Verdict.ALLOW, rule=1)
    refused = await judged(bench, "read", path="@../session/x")
    assert (refused.verdict, refused.rule) == (Verdict.DENY, 0)


async def test_a_tool_that_was_not_shown_is_denied_whatever_is_granted() -> None:
    """Also one that does not exist: ``*`` speaks of tools, not of any word."""
    bench = Bench(grants=ALLOW_ALL, trusted=True)
    for name in ("bash", "powershell", "", "constructor"):
        call = ToolCall(name=name, arguments="{}", builtin=True)
        ruling = await bench.gateway.judge(turn_with("read"), call)
        assert (ruling.verdict, ruling.text) == (Verdict.DENY, NOT_OFFERED)


@pytest.mark.parametrize(
    "arguments",
    ["", "null", "[]", "{", '{"path":"a","path":"b"}', '{"n":NaN}', "[" * 100_000],
)
async def test_arguments_that_cannot_be_read_are_denied(arguments: str) -> None:
    """What is judged has to be what is done: two readings of a call are none."""
    bench = Bench(grants=ALLOW_ALL, trusted=True)
    call = ToolCall(name="read", arguments=arguments, builtin=True)
    ruling = await bench.gateway.judge(turn_with("read"), call)
    assert (ruling.verdict, ruling.text) == (Verdict.DENY, BAD_ARGUMENTS)


async def test_longer_arguments_are_not_even_read() -> None:
    bench = Bench(grants=ALLOW_ALL, trusted=True)
    for spare, verdict in ((0, Verdict.ALLOW), (1, Verdict.DENY)):
        text = json.dumps({"path": "x" * (MAX_ARGUMENT_CHARS - 12 + spare)})
        call = ToolCall(name="read", arguments=text, builtin=True)
        assert (await bench.gateway.judge(turn_with("read"), call)).verdict is verdict


async def test_house_rules_come_before_every_grant() -> None:
    """``prohibit bash`` closes the engine's own tools too, and files nothing."""
    bench = Bench(grants=ALLOW_ALL, trusted=True, closed=frozenset({"bash"}))
    ruling = await judged(bench, "bash", command="ls")
    assert (ruling.verdict, ruling.text) == (Verdict.DENY, WITHHELD)
    bench.grants = (Grant(tool="bash", verdict=Verdict.GATE),)
    assert (await judged(bench, "bash", command="ls")).verdict is Verdict.DENY
    assert bench.filer is not None
    assert bench.filer.proposals == []
    assert (await judged(bench, "read", path="a")).verdict is Verdict.DENY


async def test_a_gate_is_filed_for_the_turn_and_nothing_is_done() -> None:
    """Who asks and where is the turn's; what is approved is exactly what was called."""
    bench = Bench(grants=(Grant(tool="bash", verdict=Verdict.GATE),))
    ruling = await judged(bench, "bash", command="make tea", reason="Ada is thirsty")
    assert (ruling.verdict, ruling.rule, ruling.gate_id) == (Verdict.GATE, 0, "g-1")
    assert "g-1" in ruling.text
    assert "not done" in ruling.text
    assert bench.filer is not None
    (proposal,) = bench.filer.proposals
    assert dict(proposal.arguments) == {"command": "make tea", "reason": "Ada is thirsty"}
    assert (proposal.origin.channel_id, proposal.origin.requester) == (HEARTH, ADA)
    assert (proposal.origin.run_id, proposal.origin.turn_id) == ("run-1", "discord:message:1")
    assert (proposal.effect, proposal.rationale) == (EffectKind.ONCE, "Ada is thirsty")
    assert "tea" not in proposal.intent, "an intent may be shown in its channel"


async def test_what_the_shell_asked_for_waits_too() -> None:
    """Issue: "or a continuation task": a run of no conversation has an owner to ask."""
    bench = Bench(grants=(Grant(tool="bash", verdict=Verdict.GATE),))
    nowhere = RunScope(provider="discord", place=Place.NONE, role=Role.OWNER)
    assert (await judged(bench, "bash", nowhere, command="ls")).verdict is Verdict.GATE
    assert bench.filer is not None
    (proposal,) = bench.filer.proposals
    assert (proposal.origin.channel_id, proposal.origin.requester) == (None, SHELL)


async def test_what_cannot_be_filed_is_denied() -> None:
    """Nobody to ask, too much waiting, no canonical form: never done instead."""
    bench = Bench(grants=(Grant(tool="bash", verdict=Verdict.GATE),))
    half = ToolCall(name="bash", arguments='{"command":"\\ud83d"}', builtin=True)
    assert (await bench.gateway.judge(turn_with("bash"), half)).verdict is not Verdict.ALLOW
    bench.filer = RecordingFiler(full=True)
    assert (await judged(bench, "bash", command="ls")).text == TOO_MANY_WAIT
    bench.filer = None
    assert (await judged(bench, "bash", command="ls")).text == NOBODY_TO_ASK


async def test_nothing_waits_for_files_that_will_be_gone() -> None:
    """A code task's worktree ends with it: what is approved later would be done to nothing."""
    bench = Bench(grants=(Grant(tool="*", verdict=Verdict.GATE),))
    passing = replace(turn_with("bash", "file_task"), workspace_stays=False)
    call = ToolCall(name="bash", arguments='{"command":"ls"}', builtin=True)
    ruling = await bench.gateway.judge(passing, call)
    assert (ruling.verdict, ruling.text) == (Verdict.DENY, NOT_LATER)
    elsewhere = ToolCall(name="file_task", arguments='{"text":"Count."}')
    assert (await bench.gateway.judge(passing, elsewhere)).verdict is Verdict.GATE


async def test_what_acts_on_this_moment_cannot_wait() -> None:
    """A gate over everything closes what has nothing to approve later."""
    bench = Bench(grants=(Grant(tool="*", verdict=Verdict.GATE),))
    assert (await judged(bench, "stay_silent")).text == NOT_GRANTED
    assert (await judged(bench, "write", path="a", content="b")).verdict is Verdict.GATE


async def test_consequences_wait_in_a_channel_that_is_not_trusted() -> None:
    """Issue "Channel trust": unless the rule says so in as many words."""
    bench = Bench(grants=ALLOW_ALL)
    assert (await judged(bench, "bash", command="ls")).verdict is Verdict.GATE
    assert (await judged(bench, "read", path="a")).verdict is Verdict.ALLOW
    bench.trusted = True
    assert (await judged(bench, "bash", command="ls")).verdict is Verdict.ALLOW
    bench.trusted = False
    bench.grants = (Grant(tool="bash", verdict=Verdict.ALLOW, trust=Trust.UNTRUSTED),)
    assert (await judged(bench, "bash", command="ls")).verdict is Verdict.ALLOW


async def test_rules_and_trust_are_asked_at_each_call() -> None:
    """What an owner takes back is gone at once."""
    bench = Bench(grants=ALLOW_ALL, trusted=True)
    gateway, turn = bench.gateway, turn_with("bash")
    call = ToolCall(name="bash", arguments='{"command":"ls"}', builtin=True)
    assert (await gateway.judge(turn, call)).verdict is Verdict.ALLOW
    bench.trusted = False
    assert (await gateway.judge(turn, call)).verdict is Verdict.GATE
    bench.grants = ()
    assert (await gateway.judge(turn, call)).verdict is Verdict.DENY


@given(
    verdicts=st.lists(st.sampled_from(Verdict), max_size=3),
    tool=st.sampled_from(TOOL_NAMES),
    trusted=st.booleans(),
)
async def test_no_rule_lets_more_through_than_it_says(
    verdicts: list[Verdict],
    tool: str,
    trusted: bool,  # noqa: FBT001  (drawn)
) -> None:
    """The verdict is the first rule's or a stricter one."""
    strict = [Verdict.ALLOW, Verdict.GATE, Verdict.DENY]
    bench = Bench(grants=tuple(Grant(tool=tool, verdict=each) for each in verdicts))
    bench.trusted = trusted
    ruling = await judged(bench, tool)
    said = verdicts[0] if verdicts else Verdict.DENY
    assert strict.index(ruling.verdict) >= strict.index(said)
    if ruling.verdict is not Verdict.ALLOW:
        assert ruling.text
