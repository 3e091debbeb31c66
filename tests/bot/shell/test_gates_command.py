"""``python3 -m bot gates``: decided by whoever sits at the machine, with nothing carried out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bot.cli import main
from bot.gates import texts
from bot.home.lock import home_lock
from bot.shell import gates_command
from compiler.request import RunId, UserId
from config.homedir import DATABASE_FILE
from sessions.clock import SystemClock
from sessions.gate_filing import PlainFiler, Proposal
from sessions.gates import SHELL, EffectKind, Gate, GateOrigin
from sessions.store.database import open_database
from sessions.store.gates import GateStore
from support.session_world import BOUND_SECONDS, EMBER, inbound, scope_of


def file(home: Path, what: str) -> Gate:
    """Leave a waiting gate in a home."""

    async def filed() -> Gate:
        clock = SystemClock()
        async with open_database(
            home / DATABASE_FILE, clock=clock, patience_seconds=BOUND_SECONDS
        ) as database:
            turn_id = inbound(1).turn_id
            scope = scope_of(message=1)
            origin = GateOrigin.of(EMBER, scope, run_id=RunId("r"), turn_id=turn_id)
            gate = await PlainFiler(GateStore(database), clock=clock).file(
                Proposal(
                    origin=origin,
                    tool="write",
                    arguments={"content": what},
                    effect=EffectKind.ONCE,
                    intent="Write a file.",
                    rationale="",
                )
            )
            assert gate is not None
            return gate

    return asyncio.run(filed())


def test_a_gate_is_listed_shown_and_decided_once(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Exit code 1 where the decision was not taken; the running bot is told of as such."""
    gate, other = file(tmp_path, "exactly this"), file(tmp_path, "that")

    def run(*arguments: str, code: int = 0) -> str:
        assert main(["gates", *arguments, "--home", str(tmp_path)]) == code
        out, err = capsysbinary.readouterr()
        return (out + err).decode()

    assert run("list").splitlines() == texts.plain_list([gate, other]).splitlines()
    assert '{"content":"exactly this"}' in run("show", gate.gate_id)
    assert gate.payload_sha256 in run("show", gate.gate_id)
    assert json.loads(run("show", gate.gate_id, "--json"))["payload"] == gate.payload
    assert run("approve", gate.gate_id) == f"Approved {gate.gate_id}. {gates_command.STARTS}\n"
    assert run("approve", gate.gate_id, code=1) == "It is approved already.\n"
    with home_lock(tmp_path):
        assert run("deny", other.gate_id) == f"Denied {other.gate_id}. {gates_command.RUNS}\n"
    assert run("list") == f"{texts.NOTHING_WAITS}\n"
    states = [each["state"] for each in json.loads(run("list", "--all", "--json"))["gates"]]
    assert sorted(states) == ["approved", "denied"]
    assert run("deny", "g-none", code=1) == f"{texts.GONE}\n"
    assert json.loads(run("deny", "g-none", "--json", code=1))["error"]["code"] == "gate_unknown"
    assert json.loads(run("list", "--all", "--json"))["gates"][0]["decided_by"] == UserId(SHELL)


def test_a_home_that_is_none_stays_none(tmp_path: Path) -> None:
    """No database is made by looking for gates."""
    assert main(["gates", "approve", "g-x", "--home", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []
