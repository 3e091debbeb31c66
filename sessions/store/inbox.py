"""Messages that are owed an answer, from the moment they are known to the moment it is posted.

A row is written in the very transaction that writes the message into the history, before anything
else happens with it, and goes through three states::

    waiting   nobody has answered; a turn of it may be running
    handled   its turn has ended: written by the transaction that records that end
    done      what there is to say is in the outbox, or there is nothing to say

Messages that make up one turn together have its id, from the moment at which it begins.
So a host killed at any moment leaves behind exactly which messages are still owed something, and
whether a turn of theirs had begun (P05, P06). The words themselves are not here.

A gate that ended is owed a word in the same way, under the id of its turn: no message stands for
it, so it is taken up by those who know gates, not with the messages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.request import ChannelId, MessageId, RunId, TurnId, UserId
from sessions.gates import TURN, GateOrigin
from sessions.inbound import InboundMessage
from sessions.store.database import Database
from sessions.store.history import ordinal

KEPT_DONE = 5_000
"""Rows of finished messages that are kept, for the owner's questions; nothing depends on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedMessage:
    """A message that an earlier host left without its last word."""

    message_id: MessageId
    turn_id: TurnId
    channel_id: ChannelId
    user_id: UserId | None
    run_id: RunId | None
    """Of the turn that had begun; None if none had, and the message can be run as new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedTurn:
    """A turn without a message that is owed to a conversation."""

    turn_id: TurnId
    run_id: RunId | None
    """Of the turn that had begun; None if none had."""


class InboxStore:
    """The table ``inbox``; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def owed(self) -> tuple[OwedMessage, ...]:
        """Read what is not done, in the order of the messages."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT message_id, turn_id, channel_id, user_id, (SELECT run_id FROM turns"
                " WHERE turns.turn_id = inbox.turn_id ORDER BY run_id DESC LIMIT 1)"
                " FROM inbox WHERE state != 'done' AND turn_id NOT LIKE ? ORDER BY ordinal",
                (f"{TURN}%",),
            ).fetchall()
        )
        return tuple(_owed(row) for row in rows)

    async def owed_for_gates(self) -> tuple[OwedTurn, ...]:
        """Read the gates that ended and of which their conversations have not heard."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT turn_id, (SELECT run_id FROM turns WHERE turns.turn_id = inbox.turn_id"
                " ORDER BY run_id DESC LIMIT 1)"
                " FROM inbox WHERE state != 'done' AND turn_id LIKE ? ORDER BY ordinal, turn_id",
                (f"{TURN}%",),
            ).fetchall()
        )
        return tuple(
            OwedTurn(turn_id=TurnId(row[0]), run_id=None if row[1] is None else RunId(row[1]))
            for row in rows
        )

    async def finish(self, turn_id: TurnId) -> None:
        """Note that nothing more is owed to a message."""
        await self._database.write(lambda db: finish(db, turn_id))

    async def join(self, turn_id: TurnId, message_id: MessageId) -> None:
        """Note that a message is a part of a turn that has begun, before pi is given it."""
        await self._database.write(lambda db: join(db, turn_id, (message_id,)))

    async def release(self, messages: Sequence[InboundMessage]) -> None:
        """Note that messages wait for a turn of their own again."""

        def work(db: sqlite3.Connection) -> None:
            db.executemany(
                "UPDATE inbox SET turn_id = ?, state = 'waiting' WHERE message_id = ?",
                [(each.turn_id, each.message.message_id) for each in messages],
            )

        await self._database.write(work)

    async def reopen(self, turn_id: TurnId) -> None:
        """Note that a message is owed an answer after all: it is being read in parts."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("UPDATE inbox SET state = 'waiting' WHERE turn_id = ?", (turn_id,))

        await self._database.write(work)

    async def prune(self) -> None:
        """Drop the rows of finished messages, but for the latest."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "DELETE FROM inbox WHERE state = 'done' AND ordinal < (SELECT ordinal FROM inbox"
                " WHERE state = 'done' ORDER BY ordinal DESC LIMIT 1 OFFSET ?)",
                (KEPT_DONE,),
            )

        await self._database.write(work)


def accept(db: sqlite3.Connection, inbound: InboundMessage) -> None:
    """Write down that a message is owed an answer, inside the transaction that records it."""
    message_id = inbound.message.message_id
    if message_id is None or inbound.scope.channel_id is None:
        return  # a request that no message stands for
    db.execute(
        "INSERT INTO inbox (message_id, turn_id, channel_id, user_id, imp, ordinal, state)"
        " VALUES (?, ?, ?, ?, ?, ?, 'waiting') ON CONFLICT (message_id) DO NOTHING",
        (
            message_id,
            inbound.turn_id,
            inbound.scope.channel_id,
            inbound.scope.user_id,
            inbound.imp,
            ordinal(message_id),
        ),
    )


def owe(db: sqlite3.Connection, turn_id: TurnId, origin: GateOrigin) -> None:
    """Write down that a conversation is owed a turn, inside the transaction that causes it."""
    db.execute(
        "INSERT INTO inbox (message_id, turn_id, channel_id, user_id, imp, ordinal, state)"
        " VALUES (?, ?, ?, ?, ?, ?, 'waiting') ON CONFLICT (message_id) DO NOTHING",
        (
            turn_id,
            turn_id,
            origin.channel_id,
            origin.requester,
            origin.imp,
            0 if origin.message_id is None else ordinal(origin.message_id),
        ),
    )


def join(db: sqlite3.Connection, turn_id: TurnId, message_ids: Iterable[MessageId]) -> None:
    """Note that messages are a part of a turn, inside the caller's transaction."""
    db.executemany(
        "UPDATE inbox SET turn_id = ? WHERE message_id = ? AND state != 'done'",
        [(turn_id, each) for each in message_ids],
    )


def handle(db: sqlite3.Connection, turn_id: TurnId) -> None:
    """Note that a turn has ended, inside the transaction that records its end."""
    db.execute(
        "UPDATE inbox SET state = 'handled' WHERE turn_id = ? AND state = 'waiting'", (turn_id,)
    )


def finish(db: sqlite3.Connection, turn_id: TurnId) -> None:
    """Note that nothing more is owed, inside the caller's transaction."""
    db.execute("UPDATE inbox SET state = 'done' WHERE turn_id = ?", (turn_id,))


def _owed(row: tuple[Any, ...]) -> OwedMessage:
    return OwedMessage(
        message_id=MessageId(row[0]),
        turn_id=TurnId(row[1]),
        channel_id=ChannelId(row[2]),
        user_id=None if row[3] is None else UserId(row[3]),
        run_id=None if row[4] is None else RunId(row[4]),
    )
