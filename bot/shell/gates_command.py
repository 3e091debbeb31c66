"""``gates`` in the shell: whoever sits at the machine decides, as an owner.

The decision is a transaction of its own, so it works beside a running bot, which notices it within
seconds and carries it out; without one the next start does. Nothing is carried out here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from bot.gates import texts
from bot.home.lock import HomeInUse, home_lock
from bot.shell.terminal import write_out
from compiler.canonical_json import JsonValue
from compiler.errors import SafeError
from config.homedir import DATABASE_FILE
from sessions.clock import SystemClock
from sessions.gate_desk import Choice, GateDesk, at
from sessions.gates import SHELL, Decider, Gate, GateId, GateRefused, GateState, Tier
from sessions.limits import GateSettings
from sessions.store.database import open_database
from sessions.store.gates import GateStore

PATIENCE_SECONDS: Final = 10.0
LISTED: Final = 50
RUNS: Final = "The running bot takes it up now."
STARTS: Final = "The bot takes it up when it starts."
Action = Callable[[GateDesk, Namespace, Path], Awaitable[int]]


def main(home: Path, options: Namespace) -> int:
    """Run one of the ``gates`` commands; 0 when it did what was wanted."""
    return asyncio.run(_main(home, options))


async def _main(home: Path, options: Namespace) -> int:
    clock = SystemClock()
    try:
        # Read-only where nothing is decided: then a home that is none yet stays none.
        async with open_database(
            home / DATABASE_FILE,
            clock=clock,
            patience_seconds=PATIENCE_SECONDS,
            read_only=True,
        ):
            pass
        async with open_database(
            home / DATABASE_FILE,
            clock=clock,
            patience_seconds=PATIENCE_SECONDS,
            read_only=options.action in {"list", "show"},
        ) as database:
            desk = GateDesk(GateStore(database), clock=clock, settings=GateSettings)
            return await _ACTIONS[options.action](desk, options, home)
    except SafeError as error:
        if options.json:
            write_out(json.dumps({"error": {"code": error.code, "message": error.safe_message}}))
        else:
            sys.stderr.write(f"{error.safe_message}\n")
        return 1


async def _list(desk: GateDesk, options: Namespace, home: Path) -> int:
    del home
    waiting = await desk.store.all_in(GateState.PENDING)
    found = await desk.store.latest(LISTED) if options.all else waiting
    document: list[JsonValue] = [_document(gate) for gate in found]
    _tell(options, texts.plain_list(found), {"gates": document})
    return 0


async def _show(desk: GateDesk, options: Namespace, home: Path) -> int:
    del home
    gate = await desk.get(GateId(options.gate))
    lines = (
        texts.details_text(gate),
        "",
        f"intent {texts.one_line_of(gate.intent)}",
        f"why {texts.one_line_of(gate.rationale)}",
        f"for {gate.origin.requester} in {gate.origin.channel_id or 'no conversation'}",
        f"state {gate.state.value} {gate.result_code}".rstrip(),
        f"open until {at(gate.expires_ms)}",
    )
    whole = _document(gate) | {"payload": gate.payload, "rationale": gate.rationale}
    _tell(options, "\n".join(lines), whole)
    return 0


async def _approve(desk: GateDesk, options: Namespace, home: Path) -> int:
    return await _decide(desk, options, home, Choice.APPROVE)


async def _deny(desk: GateDesk, options: Namespace, home: Path) -> int:
    return await _decide(desk, options, home, Choice.DENY)


async def _decide(desk: GateDesk, options: Namespace, home: Path, choice: Choice) -> int:
    decider = Decider(user_id=SHELL, tier=Tier.OWNER)
    try:
        gate = await desk.decide(GateId(options.gate), decider, choice)
    except GateRefused as refused:
        gate = await desk.get(GateId(options.gate))
        told = refused.safe_message if gate.open else f"It is {gate.state.value} already."
        _tell(options, told, {"refused": str(refused.code), **_document(gate)})
        return 1
    follows = RUNS if _is_running(home) else STARTS
    done = "Approved" if choice is Choice.APPROVE else "Denied"
    _tell(options, f"{done} {gate.gate_id}. {follows}", _document(gate))
    return 0


_ACTIONS: Final[Mapping[str, Action]] = {
    "list": _list,
    "show": _show,
    "approve": _approve,
    "deny": _deny,
}


def _is_running(home: Path) -> bool:
    """Tell whether a bot holds the home, by trying to hold it for a moment."""
    try:
        with home_lock(home):
            return False
    except HomeInUse:
        return True


def _document(gate: Gate) -> dict[str, JsonValue]:
    return {
        "id": gate.gate_id,
        "state": gate.state.value,
        "tool": gate.tool,
        "intent": gate.intent,
        "channel": gate.origin.channel_id,
        "requester": gate.origin.requester,
        "payload_sha256": gate.payload_sha256,
        "filed_at": at(gate.filed_ms),
        "expires_at": at(gate.expires_ms),
        "decided_by": gate.decided_by,
        "result_code": gate.result_code,
    }


def _tell(options: Namespace, text: str, document: Mapping[str, JsonValue]) -> None:
    write_out(json.dumps(document, indent=2) if options.json else text)
