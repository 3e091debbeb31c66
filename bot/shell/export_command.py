"""``export``: all that a home keeps of one person, as a file for that person.

Beside the rows (``sessions.store.person``) these are the person's notes, opened, and of the exact
traces what that person's messages were to the model, in direct messages. The traces of channels
hold the same words among those of others; they stay, and the file says which they are.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from compiler.blocks import CURRENT_KINDS
from compiler.errors import SafeError
from compiler.request import ImpName, Place, RunScope, UserId
from config.homedir import DATABASE_FILE
from sessions.clock import SystemClock, timestamp
from sessions.memory.results import NoteState
from sessions.memory.rules import MemoryContext
from sessions.memory.service import MemoryService
from sessions.store.database import Database, open_database
from sessions.store.key_fault import KEYS_FILE
from sessions.store.person import PersonStore, Rows
from sessions.store.vault import open_vault
from sessions.trace import TRACE_FILE
from sessions.traces.events import CompiledEvent
from sessions.traces.reader import TraceDamaged, read_trace

FORMAT: Final = "inglenook.person-export.v1"
PATIENCE_SECONDS: Final = 10.0
_PRIVATE: Final = 0o600
_ELSEWHERE: Final = (
    "The exact traces of these runs in channels hold your messages as they were given to the "
    "model, among those of others; they are the owner's, and go when his retention says so."
)


def main(home: Path, *, user: str, target: str) -> int:
    """Run the command: 1 when something of it could not be read."""
    user_id = UserId(f"discord:{user}")
    path = Path(target or f"inglenook-person-{user}.json")
    try:
        document = asyncio.run(export_person(home, user_id))
        _write(path, document)
    except SafeError as error:
        print(error.safe_message, file=sys.stderr)  # noqa: T201
        return 1
    except FileExistsError:
        print("There is a file of that name already; choose another.", file=sys.stderr)  # noqa: T201
        return 1
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        print(f"It did not work, and nothing is left of it: {reason}.", file=sys.stderr)  # noqa: T201
        return 1
    closed = document["not_readable"]
    print(_told(document, path))  # noqa: T201  (the command's output)
    if any(closed.values()):
        print(f"Not readable, so not in it: {json.dumps(closed)}", file=sys.stderr)  # noqa: T201
    return 1 if any(closed.values()) else 0


async def export_person(home: Path, user_id: UserId) -> dict[str, Any]:
    """Gather everything, beside a running bot or without one.

    Raises:
        StoreUnavailable: the database cannot be read.
    """
    clock = SystemClock()
    opening = open_database(
        home / DATABASE_FILE, clock=clock, patience_seconds=PATIENCE_SECONDS, read_only=True
    )
    async with opening as database:
        rows = await PersonStore(database).rows(user_id)
        notes = await _notes(home, database, user_id)
    given, damaged = await asyncio.to_thread(_given, home, rows["turns"])
    unreadable = sum(1 for each in notes if each["state"] == NoteState.UNREADABLE.value)
    among_others = sorted({str(turn["run_id"]) for turn in rows["turns"] if not turn["is_dm"]})
    return {
        "format": FORMAT,
        "exported_at": timestamp(clock.utc_now()),
        "user": user_id,
        "notes": notes,
        **rows,
        "given_to_the_model": given,
        "elsewhere": {"why": _ELSEWHERE, "runs": among_others},
        "not_readable": {"notes": unreadable, "traces": damaged},
    }


async def _notes(home: Path, database: Database, user_id: UserId) -> Rows:
    clock = SystemClock()
    keys = open_vault(
        home / KEYS_FILE, database, clock=clock, patience_seconds=PATIENCE_SECONDS, pair=False
    )
    scope = RunScope(provider="discord", place=Place.DM, channel_id=None, user_id=user_id)
    ctx = MemoryContext(imp=ImpName(""), scope=scope, by_model=False)
    if not (home / KEYS_FILE).is_file():
        return []  # nothing was ever noted; a reader makes no keys
    async with keys as vault:
        memory = MemoryService(home=home, database=database, vault=vault, clock=clock)
        exported = json.loads((await memory.export_own(ctx)).document)
    return list(exported["notes"])


def _given(home: Path, turns: Rows) -> tuple[Rows, int]:
    """Read the person's messages out of the traces of direct messages; count unreadable traces."""
    wanted = {(str(turn["run_id"]), str(turn["turn_id"])) for turn in turns if turn["is_dm"]}
    pruned = {str(turn["run_id"]) for turn in turns if turn["trace_pruned"]}
    found: Rows = []
    damaged = 0
    for run_id in sorted({run_id for run_id, _ in wanted} - pruned):
        try:
            events = read_trace(home / "runs" / run_id / TRACE_FILE)
        except TraceDamaged:
            damaged += 1
            continue
        for event in (each.event for each in events):
            if isinstance(event, CompiledEvent) and (run_id, str(event.turn_id)) in wanted:
                found += (
                    {"run_id": run_id, "turn_id": event.turn_id, "text": block.content}
                    for block in event.blocks
                    if block.kind in CURRENT_KINDS
                )
    return found, damaged


def _write(path: Path, document: Mapping[str, object]) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=2)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as out:
            out.write(f"{text}\n")
    except BaseException:
        path.unlink()  # half of it would look like all of it
        raise


def _told(document: Mapping[str, Any], path: Path) -> str:
    names = ("notes", "messages", "turns", "tasks")
    counts = ", ".join(f"{len(document[name]):,} {name}" for name in names)
    return f"All that is kept of {document['user']} is in {path}: {counts}."
