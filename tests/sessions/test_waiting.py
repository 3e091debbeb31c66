"""Who waits, and whose turn is next."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from compiler.request import (
    ChunkMark,
    HouseRules,
    ImpName,
    MessagePart,
    PartKind,
    Place,
    UserId,
)
from sessions.inbound import InboundMessage
from sessions.limits import TalkSettings
from sessions.ticket import Ticket
from sessions.waiting import FAIR, MAX_JOINED, Waiting, joined, unquote
from support.session_world import inbound, seen

SECOND_NS = 1_000_000_000
FAIRLY = TalkSettings(order=FAIR)
IN_BURSTS = TalkSettings(debounce_seconds=2.0, debounce_groups=True)
_Result = TypeVar("_Result")


def of(user: int, number: int, text: str = "Hello.") -> InboundMessage:
    """Message ``number`` of a person."""
    message = inbound(number, text)
    return replace(message, scope=replace(message.scope, user_id=UserId(f"discord:{user}")))


def waiting(talk: TalkSettings, *messages: InboundMessage, every_ns: int = 0) -> Waiting:
    """Let messages wait that came one after the other."""
    made = Waiting(limit=100, talk=lambda: talk)
    for place, message in enumerate(messages):
        made.add(Ticket(message), now_ns=place * every_ns)
    return made


def number_of(message: InboundMessage) -> int:
    return int(message.turn_id.rpartition(":")[2])


def order_of(made: Waiting) -> list[int]:
    """Take all turns out; give the numbers of their messages."""
    taken = []
    while len(made):
        taken.append(number_of(made.take_next().inbound))
    return taken


def in_loop(work: Coroutine[object, object, _Result]) -> _Result:
    """Run with a loop: tickets are futures."""
    return asyncio.run(work)


async def test_the_oldest_message_is_next() -> None:
    """Issue "Inbound": one conversation's turns run in message-id order."""
    assert order_of(waiting(TalkSettings(), of(1, 1), of(1, 2), of(2, 3))) == [1, 2, 3]


async def test_a_message_that_comes_late_has_the_place_of_its_id() -> None:
    """Issue "Inbound": whatever the order of their events; what has no id comes behind all."""
    nameless = replace(of(1, 9), message=replace(of(1, 9).message, message_id=None))
    made = waiting(TalkSettings(), of(1, 3), nameless, of(2, 1), of(1, 2))
    assert order_of(made) == [1, 2, 3, 9]


async def test_a_part_of_a_long_message_passes_nobody() -> None:
    """Issue "Long messages": it is read on others' time only when their turns are over, though its
    message is older than theirs."""
    part = of(1, 1)
    mark = ChunkMark(index=1, count=2, start=0, end=1, original_chars=2, original_sha256="0" * 64)
    part = replace(part, message=replace(part.message, chunk=mark))
    assert order_of(waiting(TalkSettings(), of(2, 2), of(2, 3), part)) == [2, 3, 1]


async def test_senders_alternate_where_order_is_fair() -> None:
    """Issue "Inbound": ``order = "fair"``; what is overtaken is named, for the trace."""
    made = waiting(FAIRLY, *(of(1, number) for number in range(1, 5)), of(2, 5), of(2, 6))
    assert made.take_next().inbound.passed == ()
    second = made.take_next()
    assert number_of(second.inbound) == 5
    assert second.inbound.passed == ("discord:2", "discord:3", "discord:4")
    assert order_of(made) == [2, 6, 3, 4]


async def test_who_was_just_served_lets_a_newcomer_pass() -> None:
    """Fairness goes over the turn that is running, not only over those who wait."""
    made = waiting(FAIRLY, of(1, 1))
    made.take_next()
    made.add(Ticket(of(1, 2)), now_ns=0)
    made.add(Ticket(of(2, 3)), now_ns=0)
    assert order_of(made) == [3, 2]


@given(users=st.lists(st.integers(1, 4), max_size=20))
def test_fair_turns_keep_each_senders_order_and_lose_nothing(users: list[int]) -> None:
    """Everyone who waits is served within a round of all who wait; ids grow within a sender."""

    async def check() -> None:
        made = waiting(FAIRLY, *(of(user, number) for number, user in enumerate(users, 1)))
        taken = order_of(made)
        assert sorted(taken) == list(range(1, len(users) + 1))
        for user in set(users):
            places = [place for place, number in enumerate(taken) if users[number - 1] == user]
            own = [taken[place] for place in places]
            assert own == sorted(own)
            others = len(set(users))
            assert all(after - before <= others for before, after in pairwise(places))

    in_loop(check())


async def test_a_burst_of_one_author_is_one_turn() -> None:
    """Issue "Inbound": debounce joins a burst; words, parts and hashes of all are kept."""
    quote = MessagePart(kind=PartKind.QUOTE, text="Earlier.")
    second = of(1, 2, "And milk.")
    second = replace(second, message=replace(second.message, parts=(quote,)))
    made = waiting(IN_BURSTS, of(1, 1, "Buy bread."), second, every_ns=SECOND_NS)
    assert made.ripe_in_seconds(now_ns=SECOND_NS) == 2.0
    assert made.ripe_in_seconds(now_ns=3 * SECOND_NS) == 0
    turn = made.take_next()
    assert turn.inbound.message.text == "Buy bread.\nAnd milk."
    assert turn.inbound.message.parts == (quote,)
    assert turn.inbound.turn_id == turn.ticket.inbound.turn_id == "discord:message:2"
    assert [number_of(each.inbound) for each in turn.others] == [1]
    assert [each.message_id for each in turn.inbound.joined] == ["discord:1", "discord:2"]
    texts = ("Buy bread.", "And milk.")
    hashes = [(hashlib.sha256(text.encode()).hexdigest(),) for text in texts]
    assert [each.texts_sha256 for each in turn.inbound.joined] == hashes
    assert turn.concerns(turn.others[0].inbound.turn_id)


async def test_a_burst_ends_where_something_else_begins() -> None:
    """Another person's message, other house rules, a long pause, a part of a long message."""
    ruled = replace(of(1, 2), house_rules=HouseRules(premise="Be short."))
    mark = ChunkMark(index=1, count=2, start=0, end=1, original_chars=2, original_sha256="0" * 64)
    chunk = of(1, 2)
    chunk = replace(chunk, message=replace(chunk.message, chunk=mark))
    for other in (of(2, 2), ruled, chunk):
        made = waiting(IN_BURSTS, of(1, 1), other)
        assert made.ripe_in_seconds(now_ns=0) == 0, other
        assert made.take_next().others == []
    late = waiting(IN_BURSTS, of(1, 1), of(1, 2), every_ns=3 * SECOND_NS)
    assert order_of(late) == [1, 2]


async def test_a_burst_without_end_is_cut() -> None:
    """Nobody waits for ever: enough messages are a turn at once."""
    made = waiting(IN_BURSTS, *(of(1, number) for number in range(1, MAX_JOINED + 1)))
    assert made.ripe_in_seconds(now_ns=0) == 0
    assert len(made.take_next().inbound.joined) == MAX_JOINED


async def test_groups_are_left_out_unless_the_owner_wants_them() -> None:
    """Issue "Inbound": off by default in groups."""
    talk = TalkSettings(debounce_seconds=2.0)
    assert waiting(talk, of(1, 1)).ripe_in_seconds(now_ns=0) == 0
    direct = of(1, 1)
    direct = replace(direct, scope=replace(direct.scope, place=Place.DM, guild_id=None))
    assert waiting(talk, direct).ripe_in_seconds(now_ns=0) == 2.0


async def test_edits_and_deletions_count_while_a_burst_waits() -> None:
    """P13 (a), (b): the new words run, a withdrawn message does not."""
    made = waiting(IN_BURSTS, of(1, 1, "OLD"), of(1, 2, "CANARY"), of(1, 3, "end"))
    assert made.amend(of(1, 1, "NEW"))
    gone = made.find(of(1, 2).turn_id)
    assert gone is not None
    made.remove(gone)
    turn = made.take_next()
    assert turn.inbound.message.text == "NEW\nend"
    revisions = [hashlib.sha256(text.encode()).hexdigest() for text in ("OLD", "NEW")]
    assert list(turn.inbound.joined[0].texts_sha256) == revisions


async def test_an_edit_changes_the_words_and_nothing_else() -> None:
    """P13 (a), P03: whose a message is was found out when it came, and stays."""
    rules = HouseRules(premise="Be brief.")
    came = replace(of(1, 1, "OLD"), house_rules=rules, received_ns=5)
    made = waiting(TalkSettings(), came)
    edit = of(1, 1, "NEW")
    edit = replace(edit, scope=replace(edit.scope, user_id=None), imp=ImpName("other"))
    assert made.amend(edit)
    (ticket,) = made
    revised = ticket.inbound.revisions_sha256
    assert ticket.inbound == replace(
        came, message=replace(came.message, text="NEW"), revisions_sha256=revised
    )
    assert len(revised) == 2
    assert not made.amend(of(1, 2, "unknown"))


async def test_a_deleted_message_is_quoted_no_longer() -> None:
    """P13 (c): who answers to it waits still; what he quotes of it goes, and nothing else."""
    gone = replace(seen(7, "CANARY-13 " * 900).entry, author_id=UserId("discord:3"))
    quoted = MessagePart(
        kind=PartKind.QUOTE, text=gone.text[:4000], author_id=gone.author_id, author_label="Cy"
    )
    others = (
        replace(quoted, text="something else"),
        replace(quoted, author_id=UserId("discord:4")),
        replace(quoted, kind=PartKind.FORWARD),
    )
    answer = of(1, 8)
    ticket = Ticket(replace(answer, message=replace(answer.message, parts=(quoted, *others))))
    unquote(ticket, gone)
    assert ticket.inbound.message.parts == others
    assert ticket.inbound.message.text == answer.message.text
    unquote(ticket, replace(gone, text="", author_id=None))
    assert ticket.inbound.message.parts == others


async def test_what_is_put_back_has_its_old_place_and_stays_alone() -> None:
    """Messages that are too long together get turns of their own, before what came since."""
    made = waiting(IN_BURSTS, of(1, 1), of(1, 2))
    turn = made.take_next()
    made.add(Ticket(of(1, 3)), now_ns=0)
    for each in (turn.ticket, *turn.others):
        made.put_back(each, now_ns=0)
    assert order_of(made) == [1, 2, 3]


async def test_one_message_is_as_it_came() -> None:
    """Nothing is said of joining where nothing was joined."""
    only = of(1, 1)
    assert joined((only,)) is only
