"""What is to be forgotten, as values and as the pending row that outlives a killed host."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass, field
from typing import Any

from compiler.request import ChannelId, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Burial:
    """What is to be forgotten, and by whom."""

    receipt_id: str
    request_hash: str
    record_ids: tuple[str, ...]
    by_id: str
    reason: str
    """A code: ``person``, ``owner``, ``consent``, ``expiry``, ``returned``."""
    at_ms: int
    message_ids: tuple[str, ...] = ()
    """History messages that go whatever they say: what the notes were made from, the request."""
    turn_ids: tuple[str, ...] = ()
    """Turns whose answers go as well."""
    fingerprints: tuple[str, ...] = ()
    """Keyed hashes of the texts, in hex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A burial that is not finished. It names ids only."""

    burial: Burial
    message_ids: tuple[str, ...] = ()
    """History copies that were emptied."""
    channel_ids: tuple[str, ...] = ()
    """Conversations whose sessions may hold the text."""
    run_ids: tuple[str, ...] = ()
    """Runs that held a note or the messages."""
    waiting_runs: tuple[str, ...] = ()
    """Runs that were still open when the rest was done."""
    keys_destroyed: bool = False
    errors: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcernedRun:
    """A run whose engine may hold a forgotten text."""

    run_id: RunId
    channel_id: ChannelId | None
    is_open: bool


def keep_pending(db: sqlite3.Connection, pending: Pending) -> None:
    """Write down how far a forgetting has come."""
    db.execute(
        "INSERT OR REPLACE INTO memory_pending VALUES (?, ?)",
        (pending.burial.receipt_id, json.dumps(asdict(pending))),
    )


def pending_of(detail: str) -> Pending:
    """Read a burial that is not finished back from its row."""
    fields = json.loads(detail)
    burial = Burial(**{name: _frozen(value) for name, value in fields.pop("burial").items()})
    return Pending(burial=burial, **{name: _frozen(value) for name, value in fields.items()})


def _frozen(value: Any) -> Any:  # noqa: ANN401 - JSON's lists are our tuples
    return tuple(value) if isinstance(value, list) else value
