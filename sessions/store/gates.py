"""Gates as they are kept: each move in a transaction of its own, decided by the pure machine.

A move reads the gate, asks ``sessions.gates`` what becomes of it, and writes that back, all in one
transaction; whoever comes second reads what the first one wrote. An effect inside this database
is given the same transaction as the end of its gate: both are there or neither is.

The end of a gate and what its conversation is owed for it, a word on how it ended, are one
transaction too (``store.inbox``), whoever brings the end about: a button, the shell, the clock.
Where the shell asked, it is a task that hears it (``store.tasks``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Final

from compiler.request import ChannelId, GuildId, ImpName, MessageId, RunId, TurnId, UserId
from sessions.continuations import follow_up
from sessions.earned import Past
from sessions.gates import (
    EARNED,
    FINAL,
    TURN,
    EffectKind,
    Gate,
    GateId,
    GateOrigin,
    GateState,
    begin,
    expire,
    finish,
    recover,
    turn_id_of,
    withdraw,
)
from sessions.store.database import Database
from sessions.store.history import storable
from sessions.store.inbox import finish as owe_nothing
from sessions.store.inbox import owe
from sessions.store.sql import marks
from sessions.store.task_rows import insert_task

_COLUMNS: Final = (
    "gate_id, imp, channel_id, is_dm, requester, run_id, turn_id, tool, payload, payload_sha256,"
    " effect, intent, rationale, filed_ms, expires_ms, state, decided_by, decided_ms, ended_ms,"
    " result_code, parent_channel_id, guild_id, message_id, detail, in_private_thread"
)
_LIVE: Final = (GateState.APPROVED, GateState.EXECUTING)
KEPT_ENDED: Final = 5_000
"""Gates that ended and are kept, for the owner's questions and for trust that is earned."""
_MOST: Final = 500
"""Rows of one listing."""


class GateStore:
    """The table ``gates``; every method raises ``StoreUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def file(self, gate: Gate, *, ends: TurnId | None = None) -> None:
        """Keep a new gate; ``ends`` is a turn whose message is owed nothing more with it."""

        def work(db: sqlite3.Connection) -> None:
            _insert(db, gate)
            if ends is not None:
                owe_nothing(db, ends)

        await self._database.write(work)

    async def file_once(self, gate: Gate, *, most_waiting: int, most_of_person: int) -> Gate | None:
        """Keep a new gate, or give the one that already waits for the same; None if too many wait.

        The same is the same payload, of the same person, in the same conversation. Too many are
        counted in that conversation, and of that person wherever he asked.
        """

        def work(db: sqlite3.Connection) -> Gate | None:
            origin = gate.origin
            waiting = _select(
                db,
                "channel_id = ? AND state = ? AND expires_ms > ?",
                (_kept(origin.channel_id), GateState.PENDING.value, gate.filed_ms),
            )
            wanted = (origin.imp, origin.requester, gate.payload_sha256)
            for each in waiting:
                if (each.origin.imp, each.origin.requester, each.payload_sha256) == wanted:
                    return each
            (of_person,) = db.execute(
                "SELECT count(*) FROM gates WHERE state = ? AND requester = ? AND expires_ms > ?",
                (GateState.PENDING.value, origin.requester, gate.filed_ms),
            ).fetchone()
            if len(waiting) >= most_waiting or of_person >= most_of_person:
                return None
            _insert(db, gate)
            return gate

        return await self._database.write(work)

    async def get(self, gate_id: GateId) -> Gate | None:
        """Read one gate."""
        return await self._database.read(lambda db: _find(db, gate_id))

    async def move(self, gate_id: GateId, step: Callable[[Gate], Gate]) -> Gate | None:
        """Make one move; None if there is no such gate.

        Raises:
            GateRefused: what ``step`` raises; nothing is written then.
        """

        def work(db: sqlite3.Connection) -> Gate | None:
            gate = _find(db, gate_id)
            if gate is None:
                return None
            after = step(gate)
            _put(db, after)
            return after

        return await self._database.write(work)

    async def execute(
        self,
        gate_id: GateId,
        effect: Callable[[sqlite3.Connection, Gate], str | None],
        *,
        now_ms: int,
    ) -> Gate | None:
        """Carry out an approved action that lies in this database, and end its gate with it.

        ``effect`` writes, and gives what is told of it; if it raises, nothing is written and the
        gate stays approved.

        Raises:
            GateRefused: the gate is not approved, or was changed.
        """

        def work(db: sqlite3.Connection) -> Gate | None:
            gate = _find(db, gate_id)
            if gate is None:
                return None
            begun = begin(gate)
            ended = finish(begun, now_ms=now_ms, detail=effect(db, begun) or "")
            _put(db, ended)
            return ended

        return await self._database.write(work)

    async def expire_due(self, *, now_ms: int) -> tuple[Gate, ...]:
        """End all that nobody decided in time, and give them."""
        due = ("state = ? AND expires_ms <= ?", (GateState.PENDING.value, now_ms))
        return await self._move_all(*due, partial(expire, now_ms=now_ms))

    async def withdraw(
        self, channel_id: ChannelId, message_id: MessageId | None, *, now_ms: int
    ) -> tuple[Gate, ...]:
        """End all that wait in a conversation, or for one message of it, and give them."""
        return await self._move_all(
            "channel_id = ?1 AND state = ?2 AND (?3 = '' OR message_id = ?3)",
            (channel_id, GateState.PENDING.value, message_id or ""),
            partial(withdraw, now_ms=now_ms),
        )

    async def _move_all(
        self, where: str, values: tuple[str | int, ...], step: Callable[[Gate], Gate]
    ) -> tuple[Gate, ...]:
        def work(db: sqlite3.Connection) -> tuple[Gate, ...]:
            moved = tuple(map(step, _select(db, where, values)))
            for gate in moved:
                _put(db, gate)
            return moved

        return await self._database.write(work)

    async def recover(self, *, now_ms: int) -> tuple[Gate, ...]:
        """Take up what a killed host left: give those that are still to be carried out.

        Those that may not be repeated are ended; they are not among the given.
        """
        live = tuple(state.value for state in _LIVE)
        left = await self._move_all("state IN (?, ?)", live, partial(recover, now_ms=now_ms))
        return tuple(gate for gate in left if gate.state in _LIVE)

    async def prune(self) -> None:
        """Drop gates that ended and of which all is told, but for the latest."""

        def work(db: sqlite3.Connection) -> None:
            ended = tuple(sorted(state.value for state in FINAL))
            db.execute(
                "DELETE FROM gates WHERE state IN (?, ?, ?, ?) AND shown IS state"
                " AND NOT EXISTS (SELECT 1 FROM inbox WHERE turn_id = ? || gate_id"
                " AND inbox.state != 'done') AND filed_ms <"
                " (SELECT filed_ms FROM gates ORDER BY filed_ms DESC LIMIT 1 OFFSET ?)",
                (*ended, TURN, KEPT_ENDED),
            )

        await self._database.write(work)

    async def of_channel(self, channel_id: ChannelId, state: GateState) -> tuple[Gate, ...]:
        """Give the gates of one conversation that are in a state, by time and id."""
        return await self._database.read(
            lambda db: _select(db, "channel_id = ? AND state = ?", (channel_id, state.value))
        )

    async def of_conversation(self, channel_id: ChannelId, *, since_ms: int) -> tuple[Gate, ...]:
        """Give the gates of one conversation that are under way, or ended since a moment."""
        return await self._database.read(
            lambda db: _select(
                db, "channel_id = ? AND (ended_ms IS NULL OR ended_ms >= ?)", (channel_id, since_ms)
            )
        )

    async def all_in(self, state: GateState) -> tuple[Gate, ...]:
        """Give all gates in a state, by time and id; for the owner."""
        return await self._database.read(lambda db: _select(db, "state = ?", (state.value,)))

    async def waiting_in(self) -> tuple[ChannelId | None, ...]:
        """Give the conversations in which a gate waits, however many there are."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT DISTINCT channel_id FROM gates WHERE state = ?", (GateState.PENDING.value,)
            ).fetchall()
        )
        return tuple(ChannelId(row[0]) if row[0] else None for row in rows)

    async def latest(self, limit: int) -> tuple[Gate, ...]:
        """Give the latest gates, whatever became of them, the newest first; for the owner."""

        def work(db: sqlite3.Connection) -> tuple[Gate, ...]:
            rows = db.execute(
                f"SELECT {_COLUMNS} FROM gates ORDER BY filed_ms DESC, gate_id LIMIT ?",  # noqa: S608
                (min(limit, _MOST),),
            )
            return tuple(map(_gate, rows.fetchall()))

        return await self._database.read(work)

    async def past(
        self, imp: ImpName, tool: str, channel_id: ChannelId, *, since_ms: int
    ) -> tuple[Past, ...]:
        """Give how people decided on a tool's gates in one conversation since a moment."""
        rows = await self._database.read(
            lambda db: db.execute(
                "SELECT decided_ms, state FROM gates WHERE channel_id = ? AND imp = ? AND tool = ?"
                " AND decided_ms >= ? AND decided_by IS NOT NULL AND decided_by != ?"
                " ORDER BY decided_ms DESC LIMIT ?",
                (channel_id, imp, tool, since_ms, EARNED, _MOST),
            ).fetchall()
        )
        denied = GateState.DENIED.value
        return tuple(Past(decided_ms=int(at), approved=state != denied) for at, state in rows)

    # What people are shown of them.

    async def unshown(self) -> tuple[tuple[Gate, GateState | None], ...]:
        """Give the gates whose cards do not show what they are, and what the cards show."""
        rows = await self._database.read(
            lambda db: db.execute(
                f"SELECT {_COLUMNS}, shown FROM gates WHERE shown IS NOT state"  # noqa: S608
                " ORDER BY filed_ms, gate_id LIMIT ?",
                (_MOST,),
            ).fetchall()
        )
        return tuple((_gate(row[:-1]), GateState(row[-1]) if row[-1] else None) for row in rows)

    async def show(self, gate_id: GateId, state: GateState) -> None:
        """Note what the cards of a gate show now."""
        await self._database.write(
            lambda db: db.execute(
                "UPDATE gates SET shown = ? WHERE gate_id = ?", (state.value, gate_id)
            )
        )


def _select(db: sqlite3.Connection, where: str, values: tuple[str | int, ...]) -> tuple[Gate, ...]:
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM gates WHERE {where}"  # noqa: S608  (our own words)
        " ORDER BY filed_ms, gate_id LIMIT ?",
        (*values, _MOST),
    )
    return tuple(map(_gate, rows.fetchall()))


def _find(db: sqlite3.Connection, gate_id: GateId) -> Gate | None:
    row = db.execute(f"SELECT {_COLUMNS} FROM gates WHERE gate_id = ?", (gate_id,)).fetchone()  # noqa: S608
    return None if row is None else _gate(row)


def _put(db: sqlite3.Connection, gate: Gate) -> None:
    """Write what can change; the frozen part has no way back into the table.

    With its end, its conversation is owed a word.
    """
    (before,) = db.execute("SELECT state FROM gates WHERE gate_id = ?", (gate.gate_id,)).fetchone()
    db.execute(
        "UPDATE gates SET state = ?, decided_by = ?, decided_ms = ?, ended_ms = ?,"
        " result_code = ?, detail = ? WHERE gate_id = ?",
        (
            gate.state.value,
            gate.decided_by,
            gate.decided_ms,
            gate.ended_ms,
            gate.result_code,
            storable(gate.detail),
            gate.gate_id,
        ),
    )
    if not gate.owes_a_word or GateState(before) in FINAL:
        return
    if gate.of_shell:
        insert_task(db, follow_up(gate))
    else:
        owe(db, turn_id_of(gate.gate_id), gate.origin)


def _insert(db: sqlite3.Connection, gate: Gate) -> None:
    values = _values(gate)
    db.execute(
        f"INSERT INTO gates ({_COLUMNS}) VALUES ({marks(values)})",  # noqa: S608  (our own words)
        values,
    )


def _values(gate: Gate) -> tuple[str | int | None, ...]:
    origin = gate.origin
    return (
        gate.gate_id,
        origin.imp,
        _kept(origin.channel_id),
        int(origin.is_dm),
        origin.requester,
        origin.run_id,
        origin.turn_id,
        gate.tool,
        gate.payload,
        gate.payload_sha256,
        gate.effect.value,
        gate.intent,
        gate.rationale,
        gate.filed_ms,
        gate.expires_ms,
        gate.state.value,
        gate.decided_by,
        gate.decided_ms,
        gate.ended_ms,
        gate.result_code,
        origin.parent_channel_id,
        origin.guild_id,
        origin.message_id,
        gate.detail,
        origin.in_private_thread,
    )


def _gate(row: sqlite3.Row | tuple[object, ...]) -> Gate:
    (gate_id, imp, channel_id, is_dm, requester, run_id, turn_id, *rest) = row
    (tool, payload, sha256, effect, intent, rationale, filed_ms, expires_ms, *rest) = rest
    (state, decided_by, decided_ms, ended_ms, result_code, *rest) = rest
    (parent, guild, message_id, detail, in_private_thread) = rest
    return Gate(
        gate_id=GateId(str(gate_id)),
        origin=GateOrigin(
            imp=ImpName(str(imp)),
            channel_id=ChannelId(str(channel_id)) if channel_id else None,
            is_dm=bool(is_dm),
            requester=UserId(str(requester)),
            run_id=RunId(str(run_id)),
            turn_id=TurnId(str(turn_id)),
            parent_channel_id=None if parent is None else ChannelId(str(parent)),
            in_private_thread=bool(in_private_thread),
            guild_id=None if guild is None else GuildId(str(guild)),
            message_id=None if message_id is None else MessageId(str(message_id)),
        ),
        tool=str(tool),
        payload=str(payload),
        payload_sha256=str(sha256),
        effect=EffectKind(str(effect)),
        intent=str(intent),
        rationale=str(rationale),
        filed_ms=_number(filed_ms),
        expires_ms=_number(expires_ms),
        state=GateState(str(state)),
        decided_by=None if decided_by is None else UserId(str(decided_by)),
        decided_ms=None if decided_ms is None else _number(decided_ms),
        ended_ms=None if ended_ms is None else _number(ended_ms),
        result_code=str(result_code),
        detail=str(detail),
    )


def _kept(channel_id: ChannelId | None) -> str:
    """Write a conversation, or that there is none."""
    return channel_id or ""


def _number(value: object) -> int:
    return int(str(value))
