"""Parcels and their parts: written before they are sent, and settled once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from compiler.request import ChannelId, MessageId, RunId
from sessions.store import outbox
from sessions.store.database import Database, open_database
from sessions.store.history import HistoryStore
from sessions.store.inbox import InboxStore, accept
from sessions.store.outbox import OutboxStore, Parcel, Piece, PieceState
from sessions.store.runs import RunStore
from sessions.workspace_files import WorkspaceFile
from support.session_world import BOUND_SECONDS, ManualClock, inbound, seen

PARCEL = Parcel(
    key="turn:1",
    channel_id=ChannelId("discord:100"),
    reply_to=MessageId("discord:1"),
    turn_id=inbound(1).turn_id,
    run_id=RunId("r"),
    contents=("one", "two"),
    nonces=("n1", "n2"),
    file_text="whole",
)


@dataclass(frozen=True, slots=True)
class Desk:
    """The store over its database."""

    database: Database
    outbox: OutboxStore

    async def texts(self) -> list[tuple[str, str | None]]:
        return await self.database.read(
            lambda db: db.execute("SELECT content, file_text FROM outbox ORDER BY part").fetchall()
        )


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = ManualClock()
    async with open_database(
        tmp_path / "inglenook.db", clock=clock, patience_seconds=BOUND_SECONDS
    ) as database:
        yield Desk(database, OutboxStore(database, clock=clock))


async def test_a_parcel_is_written_whole_and_ends_what_is_owed(desk: Desk) -> None:
    """P06: in one transaction the parts stand and the message is owed nothing more."""
    await desk.database.write(lambda db: accept(db, inbound(1)))
    pieces = await desk.outbox.open(PARCEL)
    assert [(each.content, each.nonce, each.file_text) for each in pieces] == [
        ("one", "n1", "whole"),
        ("two", "n2", None),
    ]
    assert await InboxStore(desk.database).owed() == ()
    assert await desk.outbox.pending() == pieces


async def test_a_parcel_opened_again_is_as_it_stands(desk: Desk) -> None:
    """P06: what was delivered is not delivered again, whatever the second text says."""
    first, _ = await desk.outbox.open(PARCEL)
    await desk.outbox.sent(first, MessageId("discord:7"), None)
    again = await desk.outbox.open(replace(PARCEL, contents=("other", "words")))
    assert [each.state for each in again] == [PieceState.SENT, PieceState.PENDING]
    assert [each.content for each in again] == ["", "two"]


async def test_a_sent_part_leaves_no_text_and_leads_to_its_turn(desk: Desk) -> None:
    """Privacy: texts stay only while they are on their way."""
    first, second = await desk.outbox.open(PARCEL)
    await desk.outbox.sent(first, MessageId("discord:7"), None)
    await desk.outbox.sent(second, MessageId("discord:8"), None)
    assert await desk.texts() == [("", None), ("", None)]
    found = await RunStore(desk.database).turn_of_reply(MessageId("discord:7"))
    assert found == ("r", PARCEL.turn_id)
    known = await desk.outbox.known_messages(PARCEL.channel_id)
    assert known == {"discord:7", "discord:8"}


async def test_an_answer_to_a_deleted_message_is_no_history(desk: Desk) -> None:
    """P13 (c): what may repeat it is forgotten with it, also what is posted only then."""
    history = HistoryStore(desk.database)
    await history.append(seen(1, "CANARY-13"))
    first, second = await desk.outbox.open(PARCEL)
    answer = seen(7, "You said CANARY-13.")
    answer = replace(answer, entry=replace(answer.entry, is_imp=True))
    await desk.outbox.sent(first, MessageId("discord:7"), answer)
    assert await history.delete(MessageId("discord:1"))
    assert not await history.delete(MessageId("discord:1"))
    await desk.outbox.sent(
        second,
        MessageId("discord:8"),
        replace(answer, entry=replace(answer.entry, message_id=MessageId("discord:8"))),
    )
    assert await history.recent(PARCEL.channel_id, 50) == ()
    assert await history.get(MessageId("discord:8")) is None


async def test_a_card_is_found_and_kept_while_it_changes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card is edited to its gate's end, however much was posted since."""
    monkeypatch.setattr(outbox, "KEPT_SETTLED", 0)
    insert = (
        "INSERT INTO gates (gate_id, imp, channel_id, is_dm, requester, run_id, turn_id, tool,"
        " payload, payload_sha256, effect, intent, rationale, filed_ms, expires_ms, state,"
        " result_code, shown) VALUES (?, 'ember', 'c', 0, 'u', 'r', 't', 'x', '{}', 'h', 'once',"
        " 'i', '', 1, 2, ?, '', ?)"
    )
    for row in (("g-1", "pending", "pending"), ("g-2", "denied", "denied")):
        await desk.database.write(lambda db, row=row: db.execute(insert, row))  # type: ignore[misc]
    for number, key in enumerate(("gate-card:g-1:7:h", "gate-card:g-2:7:h", "other", "last")):
        parcel = replace(PARCEL, key=key, turn_id=None, contents=("one",), nonces=(key,))
        (piece,) = await desk.outbox.open(parcel)
        await desk.outbox.sent(piece, MessageId(f"discord:{number}"), None)
    await desk.outbox.prune()
    assert await desk.outbox.placed("gate-card:g-1:") == (("discord:100", "discord:0"),)
    assert await desk.outbox.placed("gate-card:g-2:") == ()
    assert await desk.outbox.placed("other") == ()


async def test_a_failed_part_gives_up_those_behind_it(desk: Desk) -> None:
    """Outbound: what was sent stays sent; the rest is over and keeps no text."""
    first, second = await desk.outbox.open(PARCEL)
    await desk.outbox.sent(first, MessageId("discord:7"), None)
    await desk.outbox.failed(second, "403/50013")
    assert await desk.outbox.pending() == ()
    assert await desk.texts() == [("", None), ("", None)]
    states = [each.state for each in await desk.outbox.open(PARCEL)]
    assert states == [PieceState.SENT, PieceState.FAILED]


async def test_a_withdrawn_message_gets_nothing_more(desk: Desk) -> None:
    """P13: what was still to be posted for it is dropped, and nothing is owed."""
    await desk.database.write(lambda db: accept(db, inbound(1)))
    await desk.outbox.open(replace(PARCEL, turn_id=None))
    await desk.outbox.drop(inbound(1).turn_id)
    assert await InboxStore(desk.database).owed() == ()


async def test_nothing_to_say_ends_the_debt_too(desk: Desk) -> None:
    """A parcel without parts is a last word."""
    await desk.database.write(lambda db: accept(db, inbound(1)))
    assert await desk.outbox.open(replace(PARCEL, contents=(), nonces=(), file_text=None)) == ()
    assert await InboxStore(desk.database).owed() == ()


async def test_files_are_kept_until_their_message_is_settled(desk: Desk) -> None:
    """P06: what goes with a message goes with it after a restart too, and is kept no longer."""
    file = WorkspaceFile(name="plan.md", content=b"the plan\xff\0")
    endings: dict[str, Callable[[Piece], Awaitable[None]]] = {
        "sent": lambda piece: desk.outbox.sent(piece, MessageId("discord:9"), None),
        "failed": lambda piece: desk.outbox.failed(piece, "403/50007"),
        "dropped": lambda piece: desk.outbox.drop(piece.turn_id or inbound(1).turn_id),
    }
    for key, end in endings.items():
        first, second = await desk.outbox.open(replace(PARCEL, key=key, files=(file, file)))
        assert (first.files, second.files) == ((file, file), ())
        assert [each.files for each in await desk.outbox.pending()] == [(file, file), ()]
        await end(first)
        left = await desk.database.read(
            lambda db: db.execute("SELECT count(*) FROM outbox_files").fetchone()[0]
        )
        assert left == 0, key
        await desk.outbox.drop(inbound(1).turn_id)


async def test_a_message_on_the_way_to_an_answer_settles_nothing(desk: Desk) -> None:
    """The turn goes on, so a host killed now owes its message an answer still."""
    await desk.database.write(lambda db: accept(db, inbound(1)))
    await desk.outbox.open(replace(PARCEL, key="say:1", settles=False))
    assert [each.turn_id for each in await InboxStore(desk.database).owed()] == [PARCEL.turn_id]
    await desk.outbox.open(PARCEL)
    assert await InboxStore(desk.database).owed() == ()
