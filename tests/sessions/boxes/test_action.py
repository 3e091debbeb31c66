"""Approved calls in a real box: the frozen call, the session's workspace, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.canonical_json import JsonValue
from compiler.hashing import sha256_text
from compiler.request import RunId, TurnId
from sessions.boxes.action import BoxActionErrorCode, BoxActions, request_of
from sessions.boxes.settings import BoxSettings
from sessions.clock import SystemClock
from sessions.gate_execution import ActionFailed
from sessions.gates import Gate, GateId, GateOrigin, GateRules, file_gate
from sessions.review.tool_calls import ToolView, view_tools
from sessions.tools.table import deed_of
from sessions.traces.reader import read_trace
from sessions.workspaces import Workspaces
from support.boxed_world import BoxedWorld, boxed_world
from support.pi_world import INSTALL, LIMITS
from support.session_world import ADA, EMBER, HEARTH, eventually, only_run

SECRET = "the-canary-that-nobody-inside-may-read"  # noqa: S105  (a canary)


def gate_of(run_id: str, tool: str, arguments: JsonValue) -> Gate:
    deed = deed_of(tool)
    assert deed is not None
    return file_gate(
        GateId("g-1"),
        GateOrigin(
            imp=EMBER,
            channel_id=HEARTH,
            is_dm=False,
            requester=ADA,
            run_id=RunId(run_id),
            turn_id=TurnId("discord:message:1"),
        ),
        tool=tool,
        arguments=arguments,
        effect=deed.effect,
        intent=deed.intent,
        rationale="",
        now_ms=0,
        rules=GateRules(),
    )


def tools_in(trace: Path) -> tuple[ToolView, ...]:
    return view_tools(each.event for each in read_trace(trace))


def actions_in(world: BoxedWorld, *, boxed: bool = True) -> BoxActions:
    home, parts = world.real.home, world.real.parts
    return BoxActions(
        INSTALL,
        confined=world.engine.confined if boxed else None,
        unconfined=False,
        limits=LIMITS,
        workspaces=Workspaces(
            home,
            home / "runs",
            parts.warm,
            clock=SystemClock(),
            idle_seconds=parts.limits.idle_seconds,
        ),
        channel_files=lambda _: world.engine.channel_files,
    )


async def failure(actions: BoxActions, gate: Gate) -> ActionFailed:
    with pytest.raises(ActionFailed) as caught:
        await actions.execute(gate)
    return caught.value


@pytest.mark.slow
async def test_what_was_approved_is_done_in_the_session_s_own_box(tmp_path: Path) -> None:
    """Issue "Gate": the payload byte for byte; CC acceptance 18: nothing of the host's is inside.

    One world for all of it: the session writes, the host acts, the session reads.
    """
    async with boxed_world(tmp_path) as world:
        if not world.report.works:
            pytest.skip(f"no box on this machine: {world.report.fault}")
        (tmp_path / ".env").write_text(SECRET)
        world.engine.channel_files = tmp_path / "shown"
        world.engine.channel_files.mkdir()
        (world.engine.channel_files / "menu.txt").write_text("tea\n")
        actions = actions_in(world)
        async with world.real.registry() as registry:
            await world.shell(registry, "echo mine > a.txt")
            run = only_run(registry)

            async def done(tool: str, arguments: JsonValue) -> str:
                return await actions.execute(gate_of(run, tool, arguments))

            text = "tea \u2028 ü\n"
            assert "wrote" in await done("write", {"path": "b/c.txt", "content": text})
            trace = tmp_path / "runs" / run / "context.jsonl"
            # Its result is written after the answer was given.
            await eventually(lambda: any(each.failed is not None for each in tools_in(trace)))
            (seen,) = tools_in(trace)
            assert (seen.tool, seen.verdict, seen.rule, seen.failed) == (
                "bash",
                "allow",
                2,
                False,
            ), "what pi carries out itself is in the trace too, with the size of its result"
            assert seen.result_chars > 0
            asked = sha256_text('{"command":"echo mine > a.txt"}')
            assert seen.arguments_sha256 == asked
            pry = f"cat {tmp_path}/.env /proc/1/environ; ls /run /session; touch /usr/x; env"
            said = await done("bash", {"command": f"cat a.txt /channel/*; id -u; {pry}; exit 3"})
            assert said.startswith("mine\ntea\n1000\n"), said
            assert "code 3" in said, "it ran to its end, and that is what the conversation hears"
            for hidden in (SECRET, "model.sock", "INGLENOOK_MODEL"):
                assert hidden not in said
            refused = await failure(actions, gate_of(run, "edit", {"path": "a.txt", "edits": []}))
            assert refused.code == BoxActionErrorCode.REFUSED
            assert "edits" in refused.detail
            lost = await failure(actions, gate_of(run, "bash", {"command": "kill -9 $PPID"}))
            assert lost.code == BoxActionErrorCode.LOST
            # What the session finds is what was done, and it is its own.
            assert "1000" in await world.shell(registry, "echo more >> b/c.txt; stat -c %u b/c.txt")
        assert (tmp_path / "runs" / run / "workspace/b/c.txt").read_text() == f"{text}more\n"


async def test_without_a_box_nothing_is_done(tmp_path: Path) -> None:
    """Issue "Box": never an unboxed fallback; and only the engine's own tools are its business."""
    async with boxed_world(tmp_path) as world:
        actions = actions_in(world, boxed=False)
        gate = gate_of("run-1", "write", {"path": "a", "content": "b"})
        assert (await failure(actions, gate)).code == BoxActionErrorCode.NO_BOX
        assert not (tmp_path / "runs").exists()
        other = replace(gate, tool="web_fetch")
        assert (await failure(actions_in(world), other)).code == BoxActionErrorCode.NO_BOX


@pytest.mark.parametrize(
    ("asked", "given"), [(None, 9), (5, 5), (0.5, 0.5), (0, 9), (-1, 9), (99, 9), ("5", 9)]
)
def test_a_command_ends_in_time_whatever_it_asks_for(asked: JsonValue, given: float) -> None:
    """The payload stays what was approved; only its patience is bounded."""
    arguments: dict[str, JsonValue] = {"command": "make \u2028 tea"}
    if asked is not None:
        arguments["timeout"] = asked
    gate = gate_of("run-1", "bash", arguments)
    told = json.loads(request_of(gate, BoxSettings(command_seconds=9), cwd="/workspace"))
    assert told["arguments"] == {"command": "make \u2028 tea", "timeout": given}
    assert (told["tool"], told["cwd"], gate.intact) == ("bash", "/workspace", True)
    other = gate_of("run-1", "write", {"path": "a", "content": "b"})
    told = json.loads(request_of(other, BoxSettings(), cwd="/workspace"))
    assert told["arguments"] == {"path": "a", "content": "b"}
