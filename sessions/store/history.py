"""What was said in each conversation, as it was seen.

Order is the platform's own: message ids grow with time, so a late or repeated event cannot change
it, nor can a changed clock (P25). A message is written once; its second arrival is told from its
first, which is how a repeated gateway event never runs a turn twice (P04). A deleted message keeps
its place without its text, so that a late copy of it does not bring it back (P13).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from compiler.request import ChannelId, HistoryMessage, MessageId, RunId, TurnId, UserId
from sessions.inbound import SeenMessage
from sessions.store.database import Database

LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""SQLite's text is UTF-8, which cannot hold half a character; U+FFFD takes its place."""
MAX_RECENT = 500
"""No snapshot reads more messages than this, whatever the owner's budget says."""
MAX_ORDINAL = 2**63 - 1
_FORGET = "UPDATE history SET text = '', author_label = '', deleted = 1 WHERE deleted = 0 AND"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A kept message with the conversation it belongs to; ``entry.text`` is empty if deleted."""

    channel_id: ChannelId
    entry: HistoryMessage
    deleted: bool


class HistoryStore:
    """The table ``history``; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, seen: SeenMessage) -> bool:
        """Write down a message, people's and the imp's own alike.

        Returns:
            Whether it is new. False means that this message was seen before: nothing changed, and
            nothing must be done about it again.

        Raises:
            ValueError: the scope names no conversation.
        """
        return await self._database.write(lambda db: insert_seen(db, seen))

    async def recent(
        self, channel_id: ChannelId, limit: int, *, before: MessageId | None = None
    ) -> tuple[HistoryMessage, ...]:
        """Read the last messages of a conversation, the newest last.

        The message that a thread was made of stands first; Discord gives both the same id.
        ``before`` leaves out that message and all after it, however many came since.
        """
        bound = MAX_ORDINAL if before is None else ordinal(before)
        kept = max(0, min(limit, MAX_RECENT))

        def work(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
            begun = db.execute(
                "SELECT message_id, author_label, text, author_id, is_imp FROM history"
                " WHERE message_id = ? AND channel_id != ? AND deleted = 0 AND ordinal < ?",
                (channel_id, channel_id, bound),
            ).fetchall()[:kept]
            latest = db.execute(
                "SELECT message_id, author_label, text, author_id, is_imp FROM history"
                " WHERE channel_id = ? AND deleted = 0 AND ordinal < ? AND message_id IS NOT ?"
                " ORDER BY ordinal DESC LIMIT ?",
                (channel_id, bound, before, kept - len(begun)),
            ).fetchall()
            return [*latest, *begun]

        rows = await self._database.read(work)
        return tuple(_entry(row) for row in reversed(rows))

    async def get(self, message_id: MessageId) -> StoredMessage | None:
        """Read one kept message."""
        row = await self._database.read(
            lambda db: db.execute(
                "SELECT message_id, author_label, text, author_id, is_imp, channel_id, deleted"
                " FROM history WHERE message_id = ?",
                (message_id,),
            ).fetchone()
        )
        if row is None:
            return None
        return StoredMessage(
            channel_id=ChannelId(row[5]), entry=_entry(row[:5]), deleted=bool(row[6])
        )

    async def standing(self, message_ids: Iterable[MessageId]) -> dict[str, HistoryMessage]:
        """Read those of some messages that are kept and not deleted, in their order."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT message_id, author_label, text, author_id, is_imp"
                " FROM json_each(?) JOIN history ON message_id = value WHERE deleted = 0"
                " ORDER BY key",
                (json.dumps([*message_ids]),),
            ).fetchall()
        )
        return {str(row[0]): _entry(row) for row in rows}

    async def holders(self, message_id: MessageId, channel_id: ChannelId) -> frozenset[RunId]:
        """Find the open runs of a conversation that may hold what a message says.

        What is not newer than a run's last turn may have been its history, a turn of its own, or
        quoted in one; of what is newer, that which went into a turn while it ran. A turn that no
        known message stands for may have been given anything.
        """
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT run_id FROM runs WHERE channel_id = ?1 AND ended_at IS NULL AND EXISTS ("
                "SELECT 1 FROM turns WHERE turns.run_id = runs.run_id AND ("
                "turn_id = (SELECT turn_id FROM inbox WHERE message_id = ?2)"
                " OR coalesce((SELECT ordinal FROM history"
                " WHERE message_id = replace(turn_id, ':message:', ':')), ?3) >= ?3))",
                (channel_id, message_id, ordinal(message_id)),
            ).fetchall()
        )
        return frozenset(RunId(row[0]) for row in rows)

    async def edit(self, message_id: MessageId, text: str) -> bool:
        """Replace the text of a message; False when it is unknown or deleted, or reads so."""
        return await self._change(
            "UPDATE history SET text = ?1 WHERE message_id = ?2 AND deleted = 0 AND text != ?1",
            (storable(text), message_id),
        )

    async def delete(self, message_id: MessageId) -> bool:
        """Forget what a message said, and what the imp answered to it, which may repeat it.

        Returns:
            Whether it was known; False when it is unknown or deleted already.
        """
        turn_id = message_id.replace(":", ":message:", 1)

        def work(db: sqlite3.Connection) -> bool:
            if db.execute(f"{_FORGET} message_id = ?", (message_id,)).rowcount != 1:
                return False
            db.execute(
                f"{_FORGET} is_imp AND message_id IN (SELECT message_id FROM replies"  # noqa: S608
                " WHERE turn_id = ?1"
                " OR turn_id = (SELECT turn_id FROM inbox WHERE message_id = ?2))",
                (turn_id, message_id),
            )
            return True

        return await self._database.write(work)

    async def _change(self, statement: str, values: tuple[str, ...]) -> bool:
        return await self._database.write(lambda db: db.execute(statement, values).rowcount == 1)


def insert_seen(db: sqlite3.Connection, seen: SeenMessage) -> bool:
    """Write down a message inside an open transaction; False when it was seen before.

    Raises:
        ValueError: the scope names no conversation.
    """
    entry, scope = seen.entry, seen.scope
    if scope.channel_id is None:
        raise ValueError("a seen message needs a conversation")
    done = db.execute(
        "INSERT INTO history (message_id, channel_id, guild_id, ordinal, author_id,"
        " author_label, text, is_imp) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (message_id) DO NOTHING",
        (
            entry.message_id,
            scope.channel_id,
            scope.guild_id,
            ordinal(entry.message_id),
            entry.author_id,
            storable(entry.author_label),
            storable(entry.text),
            entry.is_imp,
        ),
    )
    return done.rowcount == 1


def answers_deleted(db: sqlite3.Connection, turn_id: TurnId) -> bool:
    """Tell whether the message of a turn was deleted, inside an open transaction."""
    row = db.execute(
        "SELECT deleted FROM history WHERE message_id = ?",
        (turn_id.replace(":message:", ":", 1),),
    ).fetchone()
    return row is not None and bool(row[0])


def ordinal(message_id: MessageId) -> int:
    """Take the place of a message in time from its id, ``discord:<snowflake>``.

    Raises:
        ValueError: the id ends in no number; every platform served gives one.
    """
    return min(int(message_id.rpartition(":")[2]), MAX_ORDINAL)


def storable(text: str) -> str:
    """Make a text fit for SQLite: all of it, but for halves of characters."""
    return LONE_SURROGATE.sub("\ufffd", text)


def _entry(row: tuple[Any, ...]) -> HistoryMessage:
    return HistoryMessage(
        message_id=MessageId(row[0]),
        author_label=row[1],
        text=row[2],
        author_id=None if row[3] is None else UserId(row[3]),
        is_imp=bool(row[4]),
    )
