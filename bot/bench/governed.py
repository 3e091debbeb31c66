"""What the host's word on a call of pi's own tools costs, against a pi that asks nobody.

Two processes of the real pi take the same turns by turns, beside one scripted model: a call of
``read`` and an answer. One of them has the extension as it is, and the whole judge behind it, with
house rules read from the store and the call's line made durable in a trace before the word goes
out; the other's extension lacks the question. The difference between the two turns is what
governing costs.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot.bench.figures import Figure, figure, milliseconds
from bot.bench.host import pi_install
from bot.logs import configure_logging
from bot.playground.model_wire import ToolCall as Wanted
from bot.playground.scripted_model import Answer, ScriptedModel
from compiler.budget import ContextBudgets
from compiler.request import ChannelId, ImpName, Place, Role, RunId, RunScope, TurnId, UserId
from config.settings import LogLevel, LogSettings
from sessions.clock import SystemClock
from sessions.engine import EXTENSION
from sessions.gateway import Gateway
from sessions.grants import DEFAULT_GRANTS, Grant, Trust, Verdict
from sessions.house.keeper import RuleKeeper
from sessions.house.rules import DirectiveSettings
from sessions.limits import EngineSettings, SessionLimits
from sessions.pi.client import PiClient
from sessions.pi.engine_files import engine_environment, model_of, write_engine_files
from sessions.pi.process import PiSpec
from sessions.pi.protocol import AgentSettled
from sessions.store.database import open_database
from sessions.store.directives import DirectiveStore
from sessions.tools.call import ToolAnswer, ToolCall, ToolTurn
from sessions.tools.desk import ToolDesk
from sessions.tools.record import tool_event
from sessions.trace import TraceWriter

ADDED_TARGET_MS: Final = 3.0
WARM_UPS: Final = 10
TOOL_SECONDS: Final = 10.0
_QUESTION: Final = "  judgeCalls("
_RULES: Final = (
    Grant(tool="bash", verdict=Verdict.DENY, arguments={"command": "*rm -r*"}),
    Grant(tool="bash", verdict=Verdict.ALLOW, trust=Trust.TRUSTED),
    Grant(tool="write", verdict=Verdict.GATE, arguments={"path": "/workspace/*"}),
    Grant(tool="read", verdict=Verdict.DENY, arguments={"path": "/session/*"}),
    Grant(tool="read", verdict=Verdict.ALLOW),
    *DEFAULT_GRANTS,
)
_TURN: Final = ToolTurn(
    imp=ImpName("ember"),
    scope=RunScope(
        provider="discord",
        place=Place.DM,
        channel_id=ChannelId("discord:1"),
        user_id=UserId("discord:2"),
        role=Role.OWNER,
    ),
    run_id=RunId("bench"),
    turn_id=TurnId("bench"),
    offered=frozenset({"read"}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pi:
    client: PiClient
    gateway: Gateway | None
    """None: nobody is asked."""
    trace: TraceWriter

    def desk(self) -> AbstractAsyncContextManager[object]:
        gateway = self.gateway
        if gateway is None:
            return contextlib.nullcontext()

        async def answer(call: ToolCall) -> ToolAnswer:
            began_ns = time.monotonic_ns()
            ruling = await gateway.judge(_TURN, call)
            judged_us = (time.monotonic_ns() - began_ns) // 1_000
            run_id, turn_id, now = _TURN.run_id, _TURN.turn_id, datetime.now(UTC)
            await self.trace.append(
                tool_event(
                    call, ruling, run_id=run_id, turn_id=turn_id, judged_us=judged_us, at=now
                )
            )
            return ToolAnswer(ok=ruling.verdict is Verdict.ALLOW, text=ruling.text)

        return ToolDesk(self.client, answer, tool_seconds=TOOL_SECONDS)

    async def turn(self, model: ScriptedModel) -> float:
        """Take a turn with one call; give its milliseconds."""
        wanted = Wanted(name="read", arguments={"path": "note.txt"})
        model.script(Answer.call(wanted), Answer.of("Done."))
        began_ns = time.monotonic_ns()
        async with self.desk():
            async for event in self.client.prompt("Read it."):
                if isinstance(event, AgentSettled):
                    break
        took = milliseconds(time.monotonic_ns() - began_ns)
        (told,) = [each.text for each in model.requests[-1].messages if each.role == "tool"][-1:]
        if told != "warm":
            raise RuntimeError("the call was not carried out")
        model.requests.clear()
        return took


async def governed_calls(home: Path, *, rounds: int) -> list[Figure]:
    """Measure both, by turns."""
    configure_logging(LogSettings(level=LogLevel.ERROR))
    clock = SystemClock()
    await asyncio.to_thread(home.mkdir, parents=True)
    async with (
        open_database(home / "bench.db", clock=clock, patience_seconds=10) as database,
        ScriptedModel() as model,
    ):
        rules = RuleKeeper(
            DirectiveStore(database),
            clock=clock,
            settings=DirectiveSettings,
            budgets=lambda _: ContextBudgets(),
        )
        gateway = Gateway(
            rules=lambda: _RULES,
            trusted=lambda _: False,
            prohibited=rules.prohibited_tools,
            filer=None,
        )
        async with (
            _pi(home / "free", model, None) as free,
            _pi(home / "governed", model, gateway) as governed,
        ):
            for _ in range(min(WARM_UPS, rounds)):
                await free.turn(model)
                await governed.turn(model)
            pairs = [(await free.turn(model), await governed.turn(model)) for _ in range(rounds)]
    return [
        figure("t  turn with a built-in call, nobody asked", [one for one, _ in pairs]),
        figure("t  the same, judged by the host", [other for _, other in pairs]),
        figure(
            "t  added by the host's word",
            [other - one for one, other in pairs],
            target=ADDED_TARGET_MS,
        ),
    ]


@asynccontextmanager
async def _pi(home: Path, model: ScriptedModel, gateway: Gateway | None) -> AsyncIterator[_Pi]:
    engine = EngineSettings(
        provider="bench", model="scripted", url=model.url, context_window=4_000_000
    )
    run_dir = home / "run"
    (run_dir / "workspace").mkdir(parents=True)
    (run_dir / "workspace" / "note.txt").write_text("warm", encoding="utf-8")
    (run_dir / "system.md").write_text("You are Ember.", encoding="utf-8")
    extension = EXTENSION
    if gateway is None:
        extension = run_dir / EXTENSION.name
        extension.write_text(_without_question(), encoding="utf-8")
    write_engine_files(home / "engine", engine)
    spec = PiSpec(
        install=pi_install(),
        model=model_of(engine),
        session_id="inglenook-bench",
        session_dir=run_dir / "session",
        workspace=run_dir / "workspace",
        config_dir=home / "engine",
        system_prompt_file=run_dir / "system.md",
        extensions=(extension,),
        compile_cache=home / "compiled",
        thinking=engine.thinking,
        env=engine_environment(engine, {}),
        tools=("read",),
    )
    async with PiClient(spec, SessionLimits(start_seconds=60)) as client:
        await client.start()
        trace = await TraceWriter.create(home / "traced", _TURN.run_id)
        yield _Pi(client=client, gateway=gateway, trace=trace)


def _without_question() -> str:
    """Give the extension as it would be if pi asked nobody."""
    lines = EXTENSION.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(_QUESTION)]
    if len(kept) != len(lines) - 1:
        raise RuntimeError("the extension asks in another way")
    return "\n".join(kept) + "\n"
