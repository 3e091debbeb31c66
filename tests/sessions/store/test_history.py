"""What was said in each conversation: once, in order, and forgotten when deleted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.request import ChannelId, MessageId, Place, RunScope, TurnId
from sessions.store.database import Database, open_database
from sessions.store.history import HistoryStore, ordinal, storable
from sessions.store.inbox import accept, join
from sessions.store.runs import RunStore
from support.run_rows import run_row, turn_row
from support.session_world import BOUND_SECONDS, ManualClock, inbound, seen

HEARTH = ChannelId("discord:100")


@pytest.fixture
def history(database: Database) -> HistoryStore:
    return HistoryStore(database)


async def texts(history: HistoryStore, limit: int = 50, **more: MessageId) -> list[str]:
    return [each.text for each in await history.recent(HEARTH, limit, **more)]


async def test_a_thread_begins_with_the_message_it_was_made_of(history: HistoryStore) -> None:
    """openclaw#27187: the starter stands above the thread, under the id that the thread has."""
    above = replace(
        seen(100, "starter"), scope=replace(seen(1, "").scope, channel_id=ChannelId("discord:9"))
    )
    await history.append(above)
    for number in (101, 102, 103):
        await history.append(seen(number, f"{number}"))
    assert await texts(history) == ["starter", "101", "102", "103"]
    assert await texts(history, 2) == ["starter", "103"]
    assert await texts(history, 0) == []
    assert await texts(history, before=MessageId("discord:100")) == []
    await history.delete(MessageId("discord:100"))
    assert await texts(history) == ["101", "102", "103"]


async def test_a_message_is_written_once(history: HistoryStore) -> None:
    """P04: the second arrival of an id is told from the first, whatever it carries."""
    assert await history.append(seen(100, "first"))
    assert not await history.append(seen(100, "changed"))
    assert await history.append(seen(101, "first"))
    assert await texts(history) == ["first", "first"]


async def test_entries_read_back_as_written(history: HistoryStore) -> None:
    """Every field, the imp's own messages included."""
    message = seen(1, "Said by me.")
    mine = replace(message, entry=replace(message.entry, is_imp=True, author_id=None))
    await history.append(mine)
    assert await history.recent(HEARTH, 5) == (mine.entry,)


async def test_order_is_the_platforms(history: HistoryStore) -> None:
    """P25: by id, not by arrival; ids of different lengths compare as numbers."""
    for number in (1000, 9, 99):
        await history.append(seen(number, str(number)))
    assert await texts(history) == ["9", "99", "1000"]


async def test_recent_keeps_the_newest(history: HistoryStore) -> None:
    """A limit drops the oldest."""
    for number in range(1, 6):
        await history.append(seen(number, str(number)))
    assert await texts(history, 2) == ["4", "5"]
    assert await texts(history, 0) == []


async def test_before_leaves_out_the_message_and_all_after(history: HistoryStore) -> None:
    """The snapshot at wake stays the same however late it is read."""
    for number in range(1, 6):
        await history.append(seen(number, str(number)))
    assert await texts(history, before=MessageId("discord:3")) == ["1", "2"]
    assert await texts(history, before=MessageId("discord:0")) == []


async def test_channels_are_kept_apart(history: HistoryStore) -> None:
    """No message of another conversation, threads included."""
    await history.append(seen(1, "here"))
    await history.append(seen(2, "elsewhere", channel=200))
    assert await texts(history) == ["here"]


async def test_an_edit_replaces_the_text(history: HistoryStore) -> None:
    """P13 d: later history has the new text; unknown messages are left alone."""
    await history.append(seen(1, "old"))
    assert await history.edit(MessageId("discord:1"), "new")
    assert not await history.edit(MessageId("discord:2"), "new")
    assert await texts(history) == ["new"]


async def test_a_deleted_message_is_gone_and_stays_gone(history: HistoryStore) -> None:
    """P13 c: its text is not kept, and neither a late copy nor a late edit brings it back."""
    await history.append(seen(1, "secret"))
    assert await history.delete(MessageId("discord:1"))
    assert not await history.delete(MessageId("discord:1"))
    assert not await history.append(seen(1, "secret"))
    assert not await history.edit(MessageId("discord:1"), "secret")
    assert await texts(history) == []
    stored = await history.get(MessageId("discord:1"))
    assert stored is not None
    assert (stored.deleted, stored.entry.text, stored.channel_id) == (True, "", HEARTH)


async def test_a_deleted_text_leaves_the_file(tmp_path: Path) -> None:
    """Not only the row: its bytes are overwritten."""
    file = tmp_path / "inglenook.db"
    async with open_database(file, clock=ManualClock(), patience_seconds=BOUND_SECONDS) as database:
        history = HistoryStore(database)
        await history.append(seen(1, "CANARY-DELETED"))
        await history.delete(MessageId("discord:1"))
    assert b"CANARY-DELETED" not in file.read_bytes()


async def test_an_unknown_message_is_none(history: HistoryStore) -> None:
    """Asking for what was never seen."""
    assert await history.get(MessageId("discord:1")) is None


async def test_what_stands_of_some_messages_is_read_at_once(history: HistoryStore) -> None:
    """In the order that was asked for, without what is unknown or deleted."""
    for number in (1, 2, 3):
        await history.append(seen(number, f"words {number}"))
    await history.delete(MessageId("discord:2"))
    asked = [MessageId(f"discord:{number}") for number in (3, 2, 1, 9)]
    found = await history.standing(asked)
    assert [(key, each.text) for key, each in found.items()] == [
        ("discord:3", "words 3"),
        ("discord:1", "words 1"),
    ]


async def test_a_place_without_a_channel_is_refused(history: HistoryStore) -> None:
    """A seen message belongs somewhere."""
    message = replace(seen(1, "x"), scope=RunScope(provider="discord", place=Place.NONE))
    with pytest.raises(ValueError, match="conversation"):
        await history.append(message)


@pytest.mark.parametrize(
    "text", ["half \ud83d", "\udc00", "line\u2028end", "nul\x00", "x" * 99_999]
)
async def test_hostile_texts_are_kept(history: HistoryStore, text: str) -> None:
    """Issue "Bad input": nothing is lost but halves of characters."""
    await history.append(seen(1, text, label="A\ud800da"))
    (entry,) = await history.recent(HEARTH, 1)
    assert entry.text == storable(text)
    assert entry.author_label == "A\ufffdda"


@given(st.text(st.characters(exclude_categories=())))
def test_storable_changes_halves_of_characters_only(text: str) -> None:
    """Same length, encodable, and nothing else touched."""
    stored = storable(text)
    stored.encode()
    pairs = zip(text, stored, strict=True)
    assert all(a == b or ("\ud800" <= a <= "\udfff" and b == "\ufffd") for a, b in pairs)


def test_ids_without_a_number_are_refused() -> None:
    """Every platform served has numbers that grow; anything else would break the order."""
    assert ordinal(MessageId("discord:99999999999999999999")) == 2**63 - 1
    with pytest.raises(ValueError, match="invalid literal"):
        ordinal(MessageId("discord:abc"))


@settings(max_examples=20)
@given(order=st.permutations(list(range(1, 9))), repeats=st.lists(st.integers(1, 8), max_size=8))
async def test_any_order_of_arrival_gives_the_same_history(
    order: list[int], repeats: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Replays and reordering after a reconnect change nothing."""
    file = tmp_path_factory.mktemp("store") / "inglenook.db"
    async with open_database(file, clock=ManualClock(), patience_seconds=BOUND_SECONDS) as database:
        history = HistoryStore(database)
        new = [await history.append(seen(number, str(number))) for number in [*order, *repeats]]
        assert sum(new) == 8
        assert await texts(history) == [str(number) for number in range(1, 9)]


async def test_an_edited_message_is_held_by_the_runs_that_were_given_it(
    history: HistoryStore, database: Database
) -> None:
    """P13 (d): as history before a run's turns, in one of them, or steering one; not by a run that
    is over, one of another place, or one whose last turn was before it."""
    runs = RunStore(database)
    for number in (10, 11, 12, 13):
        await history.append(seen(number, f"{number}"))
    of_thirteen = turn_row("live", 2, turn_id=TurnId("discord:message:12"))
    await runs.begin_run(run_row("live"))
    await runs.begin_turn(turn_row("live", 1, turn_id=TurnId("discord:message:11")))
    await runs.begin_turn(of_thirteen)
    for over in (
        run_row("over", ended_at="2026-11-29T11:00:00.000Z"),
        run_row("elsewhere", channel_id=ChannelId("discord:9")),
        run_row("young"),
    ):
        await runs.begin_run(over)
    for name in ("over", "elsewhere"):
        await runs.begin_turn(turn_row(name, 1, turn_id=TurnId("discord:message:13")))

    async def holders(number: int) -> set[str]:
        return set(await history.holders(MessageId(f"discord:{number}"), HEARTH))

    assert [await holders(number) for number in (10, 11, 12, 13)] == [{"live"}] * 3 + [set()]
    await database.write(lambda db: accept(db, inbound(13)))
    assert await holders(13) == set(), "it waits"
    await database.write(lambda db: join(db, of_thirteen.turn_id, [MessageId("discord:13")]))
    assert await holders(13) == {"live"}, "it went into the turn before it"


async def test_a_turn_that_no_message_stands_for_may_hold_anything(
    history: HistoryStore, database: Database
) -> None:
    """P13 (d): a conversation that was woken by the end of a gate was given its history as well."""
    runs = RunStore(database)
    await history.append(seen(10, "10"))
    await runs.begin_run(run_row("woken"))
    await runs.begin_turn(turn_row("woken", 1, turn_id=TurnId("gate:g-1:done")))
    assert await history.holders(MessageId("discord:10"), HEARTH) == {"woken"}
