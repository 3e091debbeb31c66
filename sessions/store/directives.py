"""House rules at rest: one authoritative state a conversation, and what befell it.

A message and what it changes are one transaction: the row in ``history``, which is how a repeated
event is told from a new one (P04), and the state. So a crash between the two can neither lose a
rule nor set it twice. A thread takes a copy of its channel's state the first time it is seen, and
has its own from then on.

``house_rule_events`` says what befell a conversation, in order. An event that changed something
keeps the state before it, which is what ``undo`` puts back: the latest change that stands, so that
undoing twice goes back two changes. The texts that people wrote are not there, only what they
changed; the last ``KEPT_EVENTS`` of either sort are kept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from compiler.request import ChannelId, MessageId, RunId, UserId
from sessions.errors import StoreUnavailable
from sessions.house.rules import Conversation, KeptRules, Origin
from sessions.inbound import InboundMessage, SeenMessage
from sessions.store.database import Database
from sessions.store.history import insert_seen
from sessions.store.inbox import accept

KEPT_EVENTS: Final = 100
"""Of each conversation: so many changes, and so many texts that changed nothing."""
_KEPT: Final[TypeAdapter[KeptRules]] = TypeAdapter(KeptRules)
_EVENT = "seq, channel_id, kind, code, told, at, user_id, message_id, run_id, undone"


class EventKind(StrEnum):
    """What befell a conversation's house rules."""

    UPDATED = "updated"
    CLARIFIED = "clarified"
    REFUSED = "refused"
    UNDONE = "undone"
    IMPORTED = "imported"
    COPIED = "copied"
    """A thread began with its channel's rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a decision asks of the store; ``kept`` is None where nothing is to change."""

    kind: EventKind
    origin: Origin
    kept: KeptRules | None = None
    code: str = ""
    told: str = ""
    """The change in one line, for the history; never a message's text."""


Decide = Callable[[KeptRules], Verdict | None]
"""Pure: the rules as they stand to a verdict; None where there is nothing to write down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEvent:
    """One row of the account."""

    seq: int
    channel_id: ChannelId
    kind: EventKind
    code: str
    told: str
    at: str
    user_id: UserId | None
    message_id: MessageId | None
    run_id: RunId | None
    """The run that was open in the conversation, if any."""
    undone: bool
    """A change that was taken back since."""


class DirectiveStore:
    """The tables ``house_rules`` and ``house_rule_events``.

    Every method raises ``StoreUnavailable``; rules that cannot be read are never taken for none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def receive(
        self,
        seen: SeenMessage,
        place: Conversation,
        decide: Decide,
        *,
        at: str,
        owed: InboundMessage | None = None,
    ) -> KeptRules | None:
        """Write down a message, and with it what it does to the rules; ``at`` is now.

        ``owed`` is the same message as one that is owed an answer: it goes into the inbox.

        Returns:
            The rules after it; None when the message was seen before, and nothing happened.
        """

        def work(db: sqlite3.Connection) -> KeptRules | None:
            if not insert_seen(db, seen):
                return None
            if owed is not None:
                accept(db, owed)
            return _settle(db, place, decide, at)

        return await self._database.write(work)

    async def settle(self, place: Conversation, decide: Decide, *, at: str) -> KeptRules:
        """Decide something that no message said, and give the rules after it."""
        return await self._database.write(lambda db: _settle(db, place, decide, at))

    async def undo(
        self, place: Conversation, decide: Callable[[KeptRules, KeptRules], Verdict], *, at: str
    ) -> bool:
        """Take back the latest change that stands.

        ``decide`` gets the rules now and those before that change. A verdict without rules
        leaves all as it is.

        Returns:
            Whether there was a change to take back.
        """

        def work(db: sqlite3.Connection) -> bool:
            kept = _open(db, place, at)
            row = db.execute(
                "SELECT seq, before FROM house_rule_events WHERE channel_id = ?"
                " AND before IS NOT NULL AND undone = 0 ORDER BY seq DESC LIMIT 1",
                (place.channel_id,),
            ).fetchone()
            if row is None:
                return False
            verdict = decide(kept, _decoded(row[1]))
            if verdict.kept is not None:
                db.execute("UPDATE house_rule_events SET undone = 1 WHERE seq = ?", (row[0],))
                _save(db, place, verdict.kept)
            _record(db, place, verdict, before=None)
            return True

        return await self._database.write(work)

    async def begin(self, place: Conversation, *, at: str) -> None:
        """Give a new thread its copy of the channel's rules, if it has none of its own yet."""
        await self._database.write(lambda db: _open(db, place, at))

    async def read(self, place: Conversation) -> KeptRules:
        """Read the rules of a conversation; a thread without its own yet shows its channel's."""
        return await self._database.read(lambda db: _read(db, place))

    async def events(self, channel_id: ChannelId, limit: int) -> tuple[RuleEvent, ...]:
        """Read the latest events of a conversation, the newest first."""
        return await self._select(
            "channel_id = ? ORDER BY seq DESC LIMIT ?", (channel_id, max(0, limit))
        )

    async def of_run(self, run_id: RunId) -> tuple[RuleEvent, ...]:
        """Read what befell the rules while a run was open, the oldest first."""
        return await self._select("run_id = ? ORDER BY seq", (run_id,))

    async def of_message(self, message_id: MessageId) -> RuleEvent | None:
        """Read what a message did to the rules, or was told about them."""
        found = await self._select("message_id = ? ORDER BY seq LIMIT 1", (message_id,))
        return found[0] if found else None

    async def changed_by(self, message_id: MessageId) -> bool:
        """Tell whether a message changed a rule and that was not taken back."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT 1 FROM house_rule_events"
                " WHERE message_id = ? AND before IS NOT NULL AND undone = 0",
                (message_id,),
            ).fetchone()
        )
        return row is not None

    async def _select(self, where: str, values: tuple[object, ...]) -> tuple[RuleEvent, ...]:
        statement = f"SELECT {_EVENT} FROM house_rule_events WHERE {where}"  # noqa: S608 - constants
        rows = await self._database.read(lambda db: db.execute(statement, values).fetchall())
        return tuple(map(_event, rows))


def _settle(db: sqlite3.Connection, place: Conversation, decide: Decide, at: str) -> KeptRules:
    kept = _open(db, place, at)
    verdict = decide(kept)
    if verdict is None:
        return kept
    changes = verdict.kept is not None and verdict.kept != kept
    if verdict.kept is not None and changes:
        _save(db, place, verdict.kept)
    _record(db, place, verdict, before=kept if changes else None)
    return kept if verdict.kept is None else verdict.kept


def _open(db: sqlite3.Connection, place: Conversation, at: str) -> KeptRules:
    """Read the rules to decide over them; a thread gets its own at this moment."""
    found = _find(db, place.channel_id)
    if found is not None or place.parent_id is None:
        return found or KeptRules()
    copied = _find(db, place.parent_id) or KeptRules()
    _save(db, place, copied)
    if copied != KeptRules():
        origin = Origin(user_id=None, at=at)
        _record(db, place, Verdict(kind=EventKind.COPIED, origin=origin), before=None)
    return copied


def _read(db: sqlite3.Connection, place: Conversation) -> KeptRules:
    found = _find(db, place.channel_id)
    if found is None and place.parent_id is not None:
        found = _find(db, place.parent_id)
    return found or KeptRules()


def _find(db: sqlite3.Connection, channel_id: ChannelId) -> KeptRules | None:
    row = db.execute("SELECT rules FROM house_rules WHERE channel_id = ?", (channel_id,)).fetchone()
    return None if row is None else _decoded(row[0])


def _save(db: sqlite3.Connection, place: Conversation, kept: KeptRules) -> None:
    db.execute(
        "INSERT INTO house_rules (channel_id, parent_id, rules) VALUES (?, ?, ?)"
        " ON CONFLICT (channel_id) DO UPDATE SET rules = excluded.rules",
        (place.channel_id, place.parent_id, _encoded(kept)),
    )


def _record(
    db: sqlite3.Connection, place: Conversation, verdict: Verdict, *, before: KeptRules | None
) -> None:
    origin = verdict.origin
    db.execute(
        "INSERT INTO house_rule_events"
        " (channel_id, kind, code, told, at, user_id, message_id, run_id, before)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT run_id FROM runs WHERE channel_id = ?"
        " AND ended_at IS NULL ORDER BY run_id DESC LIMIT 1), ?)",
        (
            place.channel_id,
            verdict.kind,
            verdict.code,
            verdict.told,
            origin.at,
            origin.user_id,
            origin.message_id,
            place.channel_id,
            None if before is None else _encoded(before),
        ),
    )
    _prune(db, place.channel_id, changed=before is not None)


def _prune(db: sqlite3.Connection, channel_id: ChannelId, *, changed: bool) -> None:
    """Keep the account bounded; what changed nothing never pushes out what did."""
    db.execute(
        "DELETE FROM house_rule_events WHERE channel_id = ?1 AND (before IS NOT NULL) = ?2"
        " AND seq <= (SELECT seq FROM house_rule_events WHERE channel_id = ?1"
        " AND (before IS NOT NULL) = ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3)",
        (channel_id, changed, KEPT_EVENTS),
    )


def _encoded(kept: KeptRules) -> str:
    return _KEPT.dump_json(kept).decode()


def _decoded(text: str) -> KeptRules:
    try:
        return _KEPT.validate_json(text)
    except ValidationError as error:
        raise StoreUnavailable("house rules unreadable") from error


def _event(row: tuple[Any, ...]) -> RuleEvent:
    seq, channel_id, kind, code, told, at, user_id, message_id, run_id, undone = row
    return RuleEvent(
        seq=seq,
        channel_id=ChannelId(channel_id),
        kind=EventKind(kind),
        code=code,
        told=told,
        at=at,
        user_id=None if user_id is None else UserId(user_id),
        message_id=None if message_id is None else MessageId(message_id),
        run_id=None if run_id is None else RunId(run_id),
        undone=bool(undone),
    )
