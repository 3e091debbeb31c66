"""What is owed to a message, over crashes at any point."""

from __future__ import annotations

from compiler.request import MessageId, TurnId
from sessions.store.database import Database
from sessions.store.inbox import InboxStore, accept, handle
from support.session_world import inbound


async def owed(database: Database) -> list[str]:
    return [each.turn_id for each in await InboxStore(database).owed()]


async def record(database: Database, number: int) -> None:
    await database.write(lambda db: accept(db, inbound(number)))


def turn(number: int) -> TurnId:
    return inbound(number).turn_id


async def test_a_message_is_owed_from_its_record_to_its_last_word(database: Database) -> None:
    """P06: waiting and handled ones are owed; done is done, in any order of the notes."""
    await record(database, 1)
    assert await owed(database) == [turn(1)]
    await database.write(lambda db: handle(db, turn(1)))
    assert await owed(database) == [turn(1)]
    await InboxStore(database).finish(turn(1))
    await database.write(lambda db: handle(db, turn(1)))
    assert await owed(database) == []


async def test_a_second_record_changes_nothing(database: Database) -> None:
    """P04: a repeated event does not open what is done."""
    await record(database, 1)
    await InboxStore(database).finish(turn(1))
    await record(database, 1)
    assert await owed(database) == []


async def test_what_is_owed_comes_in_the_order_of_the_messages(database: Database) -> None:
    """P05: by id, not by arrival."""
    for number in (10, 9, 100):
        await record(database, number)
    assert await owed(database) == [turn(9), turn(10), turn(100)]


async def test_messages_of_one_turn_are_done_together_or_wait_again(database: Database) -> None:
    """Issue "Inbound": what is joined is handled with the turn's end; what was parted, or was not
    taken up, is owed a turn of its own again; what is done stays done."""
    for number in (1, 2, 3):
        await record(database, number)
    inbox = InboxStore(database)
    await inbox.finish(turn(3))
    for number in (2, 3):
        await inbox.join(turn(1), inbound(number).message.message_id or MessageId(""))
    assert await owed(database) == [turn(1), turn(1)]
    await inbox.release([inbound(2)])
    assert await owed(database) == [turn(1), turn(2)]
    await inbox.join(turn(1), MessageId("discord:2"))
    await inbox.finish(turn(1))
    assert await owed(database) == []


async def test_a_turn_that_had_begun_is_told_from_one_that_had_not(database: Database) -> None:
    """P06: what had begun is not run again."""
    for number in (1, 2):
        await record(database, number)
    await database.write(
        lambda db: db.execute(
            "INSERT INTO runs (run_id, surface, imp, is_dm, started_at)"
            " VALUES ('r', 's', 'ember', 0, 'now')"
        )
    )
    await database.write(
        lambda db: db.execute(
            "INSERT INTO turns (run_id, turn_id, seq, accepted_at) VALUES ('r', ?, 1, 'now')",
            (turn(1),),
        )
    )
    found = await InboxStore(database).owed()
    assert [each.run_id for each in found] == ["r", None]
