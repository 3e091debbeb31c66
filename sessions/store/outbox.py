"""Every message of the imp, written down before it is sent and until it is certainly there.

A parcel is all that answers one message: its parts are rows of one transaction, which also ends
what the inbox owes. A part goes ``pending`` -> ``sent`` or ``failed``; its text stays only while
it is pending. Opening a parcel again gives the rows as they stand, so what was delivered is never
delivered a second time, whoever asks (P06).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from compiler.request import ChannelId, GuildId, MessageId, RunId, TurnId
from sessions.clock import Clock, timestamp
from sessions.inbound import SeenMessage
from sessions.store.database import Database
from sessions.store.history import answers_deleted, insert_seen, storable
from sessions.store.inbox import finish
from sessions.workspace_files import WorkspaceFile

CARD = "gate-card:"
"""How the keys of parcels begin that ask about a gate: ``gate-card:<gate>:<place>:<hash>``."""
KEPT_SETTLED = 5_000
"""Rows of settled parts that are kept: how a late second delivery of the same is told."""


class PieceState(StrEnum):
    """Where a part is on its way."""

    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """What is to be posted in answer to one message."""

    key: str
    """Names the parcel: the same for the same answer, after a restart too."""
    channel_id: ChannelId
    guild_id: GuildId | None = None
    reply_to: MessageId | None = None
    turn_id: TurnId | None = None
    run_id: RunId | None = None
    contents: tuple[str, ...] = ()
    nonces: tuple[str, ...] = ()
    """One for each of ``contents``."""
    file_text: str | None = None
    """Goes with the first part."""
    files: tuple[WorkspaceFile, ...] = ()
    """These too."""
    quotable: bool = False
    """Whether the parts belong into the conversation's history: the model's own words do."""
    settles: bool = True
    """Whether the inbox owes ``turn_id`` nothing more with it; more may follow of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part of a parcel as it stands; texts are empty once it is settled."""

    key: str
    part: int
    channel_id: ChannelId
    guild_id: GuildId | None
    reply_to: MessageId | None
    turn_id: TurnId | None
    run_id: RunId | None
    nonce: str
    content: str
    file_text: str | None
    quotable: bool
    state: PieceState
    created_at: str
    files: tuple[WorkspaceFile, ...] = ()
    recorded: bool = True
    """False for a part that could not be written down."""


_COLUMNS = (
    "parcel, part, channel_id, guild_id, reply_to, turn_id, run_id, nonce, content, file_text,"
    " quotable, state, created_at"
)


class OutboxStore:
    """The table ``outbox``; every method raises ``StoreUnavailable``."""

    def __init__(
        self, database: Database, *, clock: Clock, told: Callable[[RunId], None] | None = None
    ) -> None:
        """Take the open database; ``told`` hears of each run with a message that is posted."""
        self._database = database
        self._clock = clock
        self._told = told

    async def open(self, parcel: Parcel) -> tuple[Piece, ...]:
        """Write a parcel down unless it is there, and give its parts as they stand.

        With it the inbox owes its message nothing more.
        """
        return await self._database.write(lambda db: self.put(db, parcel))

    def put(self, db: sqlite3.Connection, parcel: Parcel) -> tuple[Piece, ...]:
        """See ``open``, inside a transaction of the caller's."""
        known = _select(db, "parcel = ? ORDER BY part", (parcel.key,))
        if not known:
            for piece in self.unrecorded(parcel):
                _insert(db, piece)
            known = _select(db, "parcel = ? ORDER BY part", (parcel.key,))
        if parcel.turn_id is not None and parcel.settles:
            finish(db, parcel.turn_id)
        return known

    def unrecorded(self, parcel: Parcel) -> tuple[Piece, ...]:
        """Give the parts of a parcel that the store cannot take just now."""
        now = timestamp(self._clock.utc_now())
        return tuple(
            Piece(
                key=parcel.key,
                part=part,
                channel_id=parcel.channel_id,
                guild_id=parcel.guild_id,
                reply_to=parcel.reply_to,
                turn_id=parcel.turn_id,
                run_id=parcel.run_id,
                nonce=nonce,
                content=content,
                file_text=parcel.file_text if part == 0 else None,
                files=parcel.files if part == 0 else (),
                quotable=parcel.quotable,
                state=PieceState.PENDING,
                created_at=now,
                recorded=False,
            )
            for part, (content, nonce) in enumerate(
                zip(parcel.contents, parcel.nonces, strict=True)
            )
        )

    async def sent(self, piece: Piece, message_id: MessageId, seen: SeenMessage | None) -> None:
        """Note that a part is in the channel, and which turn it answers with.

        ``seen`` is the part as a message of the history, where it belongs there: not if it answers
        a message that was deleted meanwhile.
        """
        at = timestamp(self._clock.utc_now())

        def work(db: sqlite3.Connection) -> None:
            _settle(db, piece, PieceState.SENT, message_id=message_id)
            if piece.turn_id is not None and piece.run_id is not None:
                db.execute(
                    "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)",
                    (message_id, piece.run_id, piece.turn_id, at),
                )
            withdrawn = piece.turn_id is not None and answers_deleted(db, piece.turn_id)
            if seen is not None and not withdrawn:
                insert_seen(db, seen)

        await self._database.write(work)
        if self._told is not None and piece.run_id is not None:
            self._told(piece.run_id)

    async def failed(self, piece: Piece, reason: str) -> None:
        """Give up a part and all after it; ``reason`` is a status and code."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE outbox SET state = 'failed', content = '', file_text = NULL, error = ?"
                " WHERE parcel = ? AND part >= ? AND state = 'pending'",
                (reason, piece.key, piece.part),
            )

        await self._database.write(work)

    async def drop(self, turn_id: TurnId) -> None:
        """Give up what was still to be posted for a turn, because its message is gone."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE outbox SET state = 'failed', content = '', file_text = NULL,"
                " error = 'withdrawn' WHERE turn_id = ? AND state = 'pending'",
                (turn_id,),
            )
            finish(db, turn_id)

        await self._database.write(work)

    async def pending(self, prefix: str = "") -> tuple[Piece, ...]:
        """Read what is not brought to an end, in the order of writing; ``prefix`` is of its key."""
        return await self._database.read(
            lambda db: _select(
                db,
                "state = 'pending' AND parcel >= ? AND parcel < ? ORDER BY rowid",
                (prefix, prefix + "\U0010ffff"),
            )
        )

    async def placed(self, prefix: str) -> tuple[tuple[ChannelId, MessageId], ...]:
        """Name the messages of all parcels whose key begins so, and where they are."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT channel_id, message_id FROM outbox WHERE parcel >= ? AND parcel < ?"
                " AND message_id IS NOT NULL ORDER BY rowid",
                (prefix, prefix + "\U0010ffff"),
            ).fetchall()
        )
        return tuple((ChannelId(row[0]), MessageId(row[1])) for row in rows)

    async def known_messages(self, channel_id: ChannelId) -> frozenset[MessageId]:
        """Name the messages in a channel that parts are known to be."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT message_id FROM outbox WHERE channel_id = ? AND message_id IS NOT NULL",
                (channel_id,),
            ).fetchall()
        )
        return frozenset(MessageId(row[0]) for row in rows)

    async def prune(self) -> None:
        """Drop the rows of settled parts, but for the latest and for cards that change still."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "DELETE FROM outbox WHERE state != 'pending' AND rowid <"
                " (SELECT rowid FROM outbox ORDER BY rowid DESC LIMIT 1 OFFSET ?)"
                " AND NOT (parcel LIKE ? || '%' AND EXISTS (SELECT 1 FROM gates"
                " WHERE parcel LIKE ? || gate_id || ':%'"
                " AND (gates.state = 'pending' OR shown IS NOT gates.state)))",
                (KEPT_SETTLED, CARD, CARD),
            )

        await self._database.write(work)


def _insert(db: sqlite3.Connection, piece: Piece) -> None:
    db.execute(
        f"INSERT INTO outbox ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            piece.key,
            piece.part,
            piece.channel_id,
            piece.guild_id,
            piece.reply_to,
            piece.turn_id,
            piece.run_id,
            piece.nonce,
            storable(piece.content),
            None if piece.file_text is None else storable(piece.file_text),
            piece.quotable,
            piece.state,
            piece.created_at,
        ),
    )
    db.executemany(
        "INSERT INTO outbox_files (parcel, place, name, content) VALUES (?, ?, ?, ?)",
        [(piece.key, place, each.name, each.content) for place, each in enumerate(piece.files)],
    )


def _settle(
    db: sqlite3.Connection, piece: Piece, state: PieceState, *, message_id: MessageId
) -> None:
    db.execute(
        "UPDATE outbox SET state = ?, message_id = ?, content = '', file_text = NULL"
        " WHERE parcel = ? AND part = ?",
        (state, message_id, piece.key, piece.part),
    )


def _select(
    db: sqlite3.Connection, condition: str, values: tuple[object, ...]
) -> tuple[Piece, ...]:
    rows = db.execute(f"SELECT {_COLUMNS} FROM outbox WHERE {condition}", values)  # noqa: S608
    return tuple(_with_files(db, _piece(row)) for row in rows)


def _with_files(db: sqlite3.Connection, piece: Piece) -> Piece:
    """Add what goes with the first part; it is gone from the store once that is settled."""
    if piece.part or piece.state is not PieceState.PENDING:
        return piece
    rows = db.execute(
        "SELECT name, content FROM outbox_files WHERE parcel = ? ORDER BY place", (piece.key,)
    )
    files = tuple(WorkspaceFile(name=row[0], content=row[1]) for row in rows)
    return replace(piece, files=files) if files else piece


def _piece(row: tuple[Any, ...]) -> Piece:
    return Piece(
        key=row[0],
        part=row[1],
        channel_id=ChannelId(row[2]),
        guild_id=None if row[3] is None else GuildId(row[3]),
        reply_to=None if row[4] is None else MessageId(row[4]),
        turn_id=None if row[5] is None else TurnId(row[5]),
        run_id=None if row[6] is None else RunId(row[6]),
        nonce=row[7],
        content=row[8],
        file_text=row[9],
        quotable=bool(row[10]),
        state=PieceState(row[11]),
        created_at=row[12],
    )
