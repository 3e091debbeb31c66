"""The engine's own tools in the real pi: none runs unless the host said so to that very call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.playground.model_wire import ToolCall
from bot.playground.scripted_model import Answer, ScriptedModel
from compiler.request import RunId, TurnId
from sessions.exchange import TurnExchange
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.pi.client import PiClient
from sessions.pi.host_request import HostRequest
from sessions.pi.process import SYSTEM_PATH
from sessions.tools.table import MEMORY_TOOLS, manifest
from sessions.turn import HaltReason
from support.pi_world import INSTALL, LIMITS, engine_for, spec_for

NO_WORD = "did not answer"
ALLOW = json.dumps({"verdict": "allow", "text": ""})
MAKE = ": > made"
"""Of the shell alone, so it leaves its file wherever a command runs at all."""
GARBLED = (
    *("null", "[]", "{}", "", "allow", "true", '"allow"', "not json"),
    *('{"ok":true,"text":""}', '{"verdict":"ALLOW"}', '{"verdict":true}', '{"verdict":["allow"]}'),
    *('{"verdict":"block"}', '{"verdict":"block","text":7}'),
)


def saying(text: str | None) -> Callable[[HostRequest], str | None]:
    """Answer every question with the same; None says nothing."""
    return lambda _: text


@dataclass(slots=True)
class Judged:
    """A real pi with its own tools, outside of any box, and what it asked."""

    model: ScriptedModel
    client: PiClient
    workspace: Path
    asked: list[HostRequest] = field(default_factory=list)

    async def call(
        self,
        name: str,
        answer: Callable[[HostRequest], str | None] | None,
        arguments: Mapping[str, object],
        *,
        halted: bool = False,
    ) -> tuple[TurnOutcome, str]:
        """Have the model call a tool in a turn; give the outcome and what it was told.

        ``halted`` cuts the turn off in the very moment in which the host is asked.
        """
        self.model.script(Answer.call(ToolCall(name=name, arguments=arguments)))
        if not halted:
            self.model.script(Answer.of("Done."))
        exchange = TurnExchange(self.client, LIMITS, run_id=RunId("run"), turn_id=TurnId("turn"))

        def take(request: HostRequest) -> None:
            self.asked.append(request)
            if halted:
                exchange.halt(HaltReason.STOPPED)
            said = answer(request) if answer else None
            if said is not None:
                self.client.answer_host(request, said)

        self.client.serve_host(take if answer else None)
        async with asyncio.timeout(120):
            outcome = (await exchange.run("Go on.")).outcome
        told = [each.text for each in self.model.requests[-1].messages if each.role == "tool"]
        return outcome, told[-1] if told else ""

    def made(self, name: str) -> bool:
        """Whether a command left its file."""
        return (self.workspace / name).exists()


@asynccontextmanager
async def judged(home: Path, *, timeout_ms: int = 30_000) -> AsyncIterator[Judged]:
    async with ScriptedModel() as model:
        spec = replace(
            spec_for(home, engine_for(model.url)),
            tools=("read", "bash", "edit", "write", "ls", "recall"),
            tool_manifest=manifest(MEMORY_TOOLS, timeout_ms=timeout_ms),
        )
        async with PiClient(spec, LIMITS) as client:
            await client.start()
            yield Judged(model=model, client=client, workspace=spec.workspace)


async def test_each_of_its_own_tools_is_asked_about_and_runs_when_allowed(tmp_path: Path) -> None:
    """The host is given exactly what the model wrote; its own tools are not asked about twice."""
    async with judged(tmp_path) as pi:

        def allow(request: HostRequest) -> str:
            assert request.builtin
            return ALLOW

        path, text = "a.txt", "tea \u2028 ü"
        await pi.call("write", allow, {"path": path, "content": text})
        _, told = await pi.call("read", allow, {"path": path})
        assert told == text
        await pi.call("bash", allow, {"command": MAKE})
        assert pi.made("made"), "elsewhere that file is the sign of a call that ran"
        edits = [{"oldText": "tea", "newText": "cocoa"}]
        await pi.call("edit", allow, {"path": path, "edits": edits})
        _, told = await pi.call("bash", allow, {"command": 'echo "$(<a.txt)"'})
        assert told.startswith("cocoa")
        _, told = await pi.call("ls", allow, {})
        assert path in told
        assert [each.tool for each in pi.asked] == [
            *("write", "read", "bash", "edit", "bash", "ls")
        ]
        assert json.loads(pi.asked[0].arguments) == {"path": path, "content": text}
        assert len({each.call_id for each in pi.asked} - {""}) == len(pi.asked)
        pi.asked.clear()
        told_by_host = '{"ok":true,"text":"No notes."}'
        _, told = await pi.call("recall", saying(told_by_host), {"query": "tea"})
        assert told == "No notes."
        assert [(each.tool, each.builtin) for each in pi.asked] == [("recall", False)]


async def test_a_command_finds_the_system_s_programs_without_a_box(tmp_path: Path) -> None:
    """Issue "Box": with `box = "off"` commands have programs, and no PATH of the host's."""
    async with judged(tmp_path) as pi:
        (pi.workspace / "a.txt").write_text("one\ntwo\n")
        _, told = await pi.call("bash", saying(ALLOW), {"command": "cat a.txt | wc -l; echo $PATH"})
        lines, path = told.split()
        assert lines == "2"
        assert path.endswith(f"{INSTALL.node.parent}:{SYSTEM_PATH}"), path


async def test_no_answer_a_wrong_one_or_no_host_blocks(tmp_path: Path) -> None:
    """Issue "Gateway of actions": fail closed; the model is told that nothing was done."""
    async with judged(tmp_path) as pi:
        no = json.dumps({"verdict": "block", "text": "The owner says no."})
        _, told = await pi.call("bash", saying(no), {"command": MAKE})
        assert told == "The owner says no."
        for answer in GARBLED:
            _, told = await pi.call("bash", saying(answer), {"command": MAKE})
            assert NO_WORD in told, answer
        for tool, arguments in (
            ("bash", {"command": MAKE}),
            ("write", {"path": "made", "content": ""}),
            ("read", {"path": "a.txt"}),
        ):
            _, told = await pi.call(tool, None, arguments)
            assert NO_WORD in told
        assert not pi.made("made")


async def test_a_silent_host_blocks_in_time_and_an_abort_does_not_wait_for_it(
    tmp_path: Path,
) -> None:
    """The question carries a timeout and the turn's signal; a host that goes leaves nothing."""
    async with judged(tmp_path, timeout_ms=300) as pi:
        outcome, told = await pi.call("bash", saying(None), {"command": MAKE})
        assert outcome.text == "Done."
        assert NO_WORD in told
    async with judged(tmp_path / "other") as pi:
        outcome, _ = await pi.call("bash", saying(None), {"command": MAKE}, halted=True)
        assert outcome.kind is OutcomeKind.CUT_OFF
        assert pi.client.alive
        late, *_ = pi.asked
        pi.client.answer_host(late, ALLOW)  # to a question that is over
        _, told = await pi.call("bash", saying(ALLOW), {"command": "echo tea"})
        assert told.startswith("tea")
        assert not pi.made("made")
        asked = asyncio.Event()
        pi.client.serve_host(lambda _: asked.set())
        pi.model.script(Answer.call(ToolCall(name="bash", arguments={"command": MAKE})))
        pi.client.prompt("Go on.")
        await asyncio.wait_for(asked.wait(), 120)
    # The host has gone in the middle of its question, and pi with it.
    assert pi.client.process.exit_code is not None
    assert not pi.made("made")
