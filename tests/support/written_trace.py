"""A whole trace as a session writes it, and a forger's change of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from compiler.budget import ContextBudgets
from compiler.compile import CompiledContext, compile_start, compile_turn
from compiler.errors import SourceUnreadable
from compiler.request import TurnId
from sessions.trace import TraceWriter
from sessions.traces.events import TraceMark, chain_root, line_hash
from sessions.traces.writing import (
    Occasion,
    compiled_event,
    ended_event,
    failed_event,
    resumed_event,
)
from support.compiler_factories import (
    PURPOSE,
    RUN,
    message,
    notes,
    snapshot,
    start_request,
    turn_request,
)

AT = datetime(2026, 11, 29, 23, 16, 35, tzinfo=UTC)


BUDGETS = ContextBudgets()


SOURCES = snapshot(purpose=PURPOSE, memory=notes(3, "ünï\u2028"))


def contexts() -> tuple[CompiledContext, ...]:
    """A start and two turns under it."""
    start = compile_start(start_request(), SOURCES, BUDGETS)
    turns = (
        compile_turn(turn_request(message(text)), SOURCES, BUDGETS, start.system)
        for text in ("Good evening.", "And \u2028 goodnight \ud83d!")
    )
    return (start, *turns)


async def write(run_dir: Path) -> TraceMark:
    """A trace with every event that a session writes; gives its head."""
    start, first, second = contexts()
    writer = await TraceWriter.create(run_dir, RUN)
    await writer.append(compiled_event(start, Occasion(at=AT)))
    assert writer.start is not None
    extends = writer.start
    error = SourceUnreadable(block="message", source="x", reason="y")
    turn = Occasion(at=AT, turn_id=TurnId("t1"), extends=extends)
    await writer.append(compiled_event(first, turn))
    await writer.append(failed_event(turn_request(), error, turn))
    await writer.append(
        resumed_event(
            RUN, at=AT, extends=extends, system_sha256=start.system.sha256, kept_answers=1
        )
    )
    await writer.append(compiled_event(second, turn))
    await writer.append(ended_event(RUN, at=AT, reason="idle"))
    writer.close()
    assert writer.head is not None
    return writer.head


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the parsed lines and chain them anew, as a careful forger would."""
    fields = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    change(fields)
    previous, lines = chain_root(RUN), []
    for number, each in enumerate(fields):
        each |= {"seq": number, "prev_sha256": previous}
        line = json.dumps(each, separators=(",", ":")).encode()
        previous = line_hash(line)
        lines.append(line + b"\n")
        if number == 0:
            for other in fields:
                if other.get("extends"):
                    other["extends"]["sha256"] = previous
    path.write_bytes(b"".join(lines))
