"""``check_gates`` tells of this conversation's gates, and of no other's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from compiler.request import ChannelId, ImpName, Place, Role, RunId, RunScope, TurnId, UserId
from sessions.gates import EffectKind, GateId, GateOrigin, GateRules, file_gate, withdraw
from sessions.store.database import open_database
from sessions.store.gates import GateStore
from sessions.tools.call import ToolAnswer, ToolCall, ToolTurn
from sessions.tools.gates import BAD_ARGUMENTS, NONE, GatesTool
from support.session_world import BOUND_SECONDS, ManualClock

HOUR_MS = 3_600_000


def scope_of(channel: str, place: Place = Place.GROUP) -> RunScope:
    return RunScope(
        provider="discord",
        place=place,
        channel_id=ChannelId(channel),
        user_id=UserId("discord:8"),
        role=Role.MEMBER,
    )


async def asked(tool: GatesTool, scope: RunScope, arguments: str = "{}") -> ToolAnswer:
    turn = ToolTurn(
        imp=ImpName("ember"),
        scope=scope,
        run_id=RunId("r"),
        turn_id=TurnId("t"),
        offered=frozenset({"check_gates"}),
    )
    return await tool.answer(turn, ToolCall(name="check_gates", arguments=arguments))


async def test_only_this_conversations_gates_are_told(tmp_path: Path) -> None:
    """Issue "Tools": id, intent, state, age; no gate of a direct message is told in a group."""
    clock = ManualClock()
    now_ms = round(clock.utc_now().timestamp() * 1000)
    async with open_database(
        tmp_path / "db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        store = GateStore(database)
        for number, (channel, place, hours) in enumerate(
            [
                ("discord:900", Place.DM, 1),
                ("discord:100", Place.GROUP, 3),
                ("discord:100", Place.GROUP, 2),
                ("discord:101", Place.GROUP, 1),
            ]
        ):
            origin = GateOrigin.of(
                ImpName("ember"), scope_of(channel, place), run_id=RunId("r"), turn_id=TurnId("t")
            )
            gate = file_gate(
                GateId(f"g-{number}"),
                origin,
                tool="bash",
                arguments={"command": "PRIVATE"},
                effect=EffectKind.ONCE,
                intent=f"Run command {number}.",
                rationale="PRIVATE",
                now_ms=now_ms - hours * HOUR_MS,
                rules=GateRules(),
            )
            await store.file(gate)
        tool = GatesTool(store, clock=clock)
        told = await asked(tool, scope_of("discord:100"))
        assert told.ok
        assert [json.loads(line) for line in told.text.splitlines()] == [
            {"gate": "g-1", "intent": "Run command 1.", "state": "pending", "minutes_old": 180},
            {"gate": "g-2", "intent": "Run command 2.", "state": "pending", "minutes_old": 120},
        ]
        assert "PRIVATE" not in told.text
        # What ended is told for a day.
        await store.move(GateId("g-1"), lambda gate: withdraw(gate, now_ms=now_ms))
        await store.move(GateId("g-2"), lambda gate: withdraw(gate, now_ms=now_ms - 25 * HOUR_MS))
        told = await asked(tool, scope_of("discord:100"))
        assert [json.loads(line)["state"] for line in told.text.splitlines()] == ["denied"]
        nowhere = replace(scope_of("discord:100"), channel_id=None)
        for scope in (scope_of("discord:999"), nowhere):
            assert await asked(tool, scope) == ToolAnswer(ok=True, text=NONE)
        told = await asked(tool, scope_of("discord:100"), '{"channel":"discord:900"}')
        assert told == ToolAnswer(ok=False, text=BAD_ARGUMENTS)
