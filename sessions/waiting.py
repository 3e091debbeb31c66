"""The messages of one conversation that wait for their turns, and which turn is next.

Pure but for the tickets it holds: time comes in as an argument, and nobody is woken from here.

**Order.** The next turn is that of the oldest message (``order = "arrival"``). With ``"fair"`` the
senders alternate: of those who wait, the one who was served longest ago comes next, with his oldest
message; what it overtakes is named in its trace.

**Bursts.** Where ``debounce_seconds`` is set, a person's messages in a row, each within that time
of the one before, become one turn: that of the last, with the words of all. It begins when the time
has passed after the last one, or at once when nothing more can join: somebody else's message stands
behind it, or enough have come. Messages under different house rules, of different standing, or
parts of a long one are never joined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from compiler.request import HistoryMessage, MessagePart, PartKind, TurnId, UserId
from sessions.inbound import InboundMessage, JoinedMessage
from sessions.limits import TalkSettings
from sessions.store.history import ordinal, storable
from sessions.ticket import Ticket

FAIR: Final = "fair"
MAX_JOINED: Final = 10
"""A turn is made of so many messages at most: a burst without end must not wait for ever."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Entry:
    ticket: Ticket
    arrived_ns: int
    alone: bool = False
    """Not to be joined: together with others it was too long."""

    @property
    def user_id(self) -> UserId | None:
        return self.ticket.inbound.scope.user_id

    @property
    def ordinal(self) -> int:
        message_id = self.ticket.inbound.message.message_id
        return 0 if message_id is None else ordinal(message_id)


class TurnAtHand:
    """A turn that is being taken: whose it is, what it says, and who else gets its outcome."""

    def __init__(self, ticket: Ticket, inbound: InboundMessage, others: list[Ticket]) -> None:
        self.ticket = ticket
        self.inbound = inbound
        """The message of ``ticket``, with what was joined to it."""
        self.others = others
        """Messages that were joined to it, and those that steer it."""
        self.gone: set[TurnId] = set()
        """Of the messages deleted while it runs."""
        self.drops_steers = False
        """Whether what pi has not taken up is dropped, because somebody said stop."""

    def concerns(self, turn_id: TurnId) -> bool:
        """Tell whether the message of a turn is a part of this one."""
        return any(each.inbound.turn_id == turn_id for each in (self.ticket, *self.others))

    def is_gone(self, ticket: Ticket) -> bool:
        """Tell whether a message was deleted while the turn ran."""
        return ticket.inbound.turn_id in self.gone


class Waiting:
    """The waiting messages, the oldest first."""

    def __init__(self, *, limit: int, talk: Callable[[], TalkSettings]) -> None:
        self._limit = limit
        self._talk = talk
        self._entries: list[_Entry] = []
        self._served: dict[UserId | None, int] = {}
        """When a sender was served last, by the number of the turn; of those who wait."""
        self._turns = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Ticket]:
        return iter(tuple(each.ticket for each in self._entries))

    @property
    def has_room(self) -> bool:
        """Whether one more message can wait."""
        return len(self._entries) < self._limit

    def add(self, ticket: Ticket, *, now_ns: int) -> None:
        """Let a message wait in the place of its id, whichever came first.

        What has no id, and a part of a long message that is being read, wait behind all.
        """
        entry = _Entry(ticket=ticket, arrived_ns=now_ns)
        if entry.ordinal and ticket.inbound.message.chunk is None:
            self._insert(entry)
        else:
            self._entries.append(entry)

    def put_back(self, ticket: Ticket, *, now_ns: int) -> None:
        """Let a message wait again, in the place of its id; it is not joined any more."""
        ticket.steers = None
        self._insert(_Entry(ticket=ticket, arrived_ns=now_ns, alone=True))

    def _insert(self, entry: _Entry) -> None:
        later = (n for n, each in enumerate(self._entries) if each.ordinal > entry.ordinal)
        self._entries.insert(next(later, len(self._entries)), entry)

    def find(self, turn_id: TurnId) -> Ticket | None:
        """Give the waiting message of a turn."""
        return next((each for each in self if each.inbound.turn_id == turn_id), None)

    def remove(self, ticket: Ticket) -> None:
        """Let a message wait no longer."""
        self._entries = [each for each in self._entries if each.ticket is not ticket]

    def amend(self, inbound: InboundMessage) -> bool:
        """Give a message that waits the words that it was edited to have."""
        ticket = self.find(inbound.turn_id)
        if ticket is None:
            return False
        amend(ticket, inbound)
        return True

    def count_of(self, user_id: UserId | None) -> int:
        """Count the messages of one person that wait."""
        return sum(each.inbound.scope.user_id == user_id for each in self)

    def drain(self) -> Iterator[Ticket]:
        """Take out all of them."""
        while self._entries:
            yield self._entries.pop(0).ticket

    def next_steer(self, turn_id: TurnId) -> Ticket | None:
        """Take out the oldest message that is to steer a turn."""
        ticket = next((each for each in self if each.steers == turn_id), None)
        if ticket is not None:
            self.remove(ticket)
        return ticket

    def ripe_in_seconds(self, *, now_ns: int) -> float | None:
        """Say how long the next turn has to wait for its burst to end; None if nothing waits."""
        if not self._entries:
            return None
        burst = self._burst()
        return max(0, self._ripe_ns(burst) - now_ns) / 1e9

    def take_next(self) -> TurnAtHand:
        """Take out the message of the next turn, others joined to it where they make a burst.

        Raises:
            IndexError: nothing waits.
        """
        burst = self._burst()
        last = burst[-1].ticket
        passed = self._entries[: self._entries.index(burst[0])]
        self._entries = [each for each in self._entries if each not in burst]
        self._note_served(last.inbound.scope.user_id)
        overtaken = (each.ticket.inbound.message.message_id for each in passed)
        inbound = replace(
            joined(tuple(each.ticket.inbound for each in burst)),
            passed=tuple(each for each in overtaken if each is not None),
        )
        return TurnAtHand(last, inbound, [each.ticket for each in burst[:-1]])

    def _burst(self) -> list[_Entry]:
        """Give the messages of the next turn as they wait now."""
        first = self._first()
        burst = [self._entries[first]]
        for entry in self._entries[first + 1 :]:
            if len(burst) == MAX_JOINED or not self._joins(burst[-1], entry):
                break
            burst.append(entry)
        return burst

    def _first(self) -> int:
        if self._talk().order != FAIR:
            return 0
        firsts: dict[UserId | None, int] = {}
        for place, entry in enumerate(self._entries):
            firsts.setdefault(entry.user_id, place)
        return min(firsts.values(), key=lambda place: self._longest_ago(self._entries[place]))

    def _longest_ago(self, entry: _Entry) -> int:
        return self._served.get(entry.user_id, 0)

    def _note_served(self, user_id: UserId | None) -> None:
        self._turns += 1
        waiting = {each.user_id for each in self._entries}
        self._served = {each: at for each, at in self._served.items() if each in waiting}
        self._served[user_id] = self._turns

    def _joins(self, before: _Entry, entry: _Entry) -> bool:
        """Tell whether a message is of the same burst as the one before it."""
        one, other = before.ticket.inbound, entry.ticket.inbound
        return (
            not (before.alone or entry.alone)
            and self._debounce_ns(one) > 0
            and entry.arrived_ns - before.arrived_ns <= self._debounce_ns(one)
            and entry.user_id is not None
            and replace(one.scope, message_id=None) == replace(other.scope, message_id=None)
            and one.house_rules == other.house_rules
            and one.message.chunk is None
            and other.message.chunk is None
            and other.continuation is None
        )

    def _ripe_ns(self, burst: list[_Entry]) -> int:
        """Say when a burst is over, by the monotonic clock."""
        last = burst[-1]
        closed = self._entries[-1] is not last or len(burst) == MAX_JOINED or last.alone
        return 0 if closed else last.arrived_ns + self._debounce_ns(last.ticket.inbound)

    def _debounce_ns(self, inbound: InboundMessage) -> int:
        talk = self._talk()
        wanted = inbound.scope.is_dm or talk.debounce_groups
        alone = inbound.message.chunk is not None or inbound.continuation is not None
        if not wanted or inbound.scope.user_id is None or alone:
            return 0
        return round(talk.debounce_seconds * 1e9)


def amend(ticket: Ticket, inbound: InboundMessage) -> None:
    """Give a message the words that it was edited to have, and nothing else.

    Whose it is, and the rules that it is answered under, were found out when it came.
    """
    earlier, text = ticket.inbound, _text_sha256(inbound)
    revisions = earlier.revisions_sha256 or (_text_sha256(earlier),)
    if revisions[-1] != text:
        revisions = (*revisions, text)
    now = inbound.message
    ticket.inbound = replace(
        earlier,
        message=replace(earlier.message, text=now.text, parts=now.parts, mentions=now.mentions),
        pictures=inbound.pictures,
        revisions_sha256=revisions if len(revisions) > 1 else (),
    )


def unquote(ticket: Ticket, gone: HistoryMessage) -> None:
    """Let a message quote no longer what was deleted; the words of its own author stay."""
    message = ticket.inbound.message
    parts = tuple(part for part in message.parts if not _quotes(part, gone))
    if parts != message.parts:
        ticket.inbound = replace(ticket.inbound, message=replace(message, parts=parts))


def _quotes(part: MessagePart, said: HistoryMessage) -> bool:
    """Tell whether a part repeats a message, or its beginning: quotes are bounded."""
    whose = said.author_id is None or part.author_id == said.author_id
    words = storable(part.text)
    return part.kind is PartKind.QUOTE and whose and bool(words) and said.text.startswith(words)


def joined(messages: tuple[InboundMessage, ...]) -> InboundMessage:
    """Make one turn's input of messages in a row: the last, with the words and parts of all."""
    last = messages[-1]
    if len(messages) == 1:
        return last
    said = [each.message for each in messages]
    return replace(
        last,
        received_ns=messages[0].received_ns,
        pictures=tuple(shown for each in messages for shown in each.pictures),
        message=replace(
            last.message,
            text="\n".join(each.text for each in said if each.text),
            parts=tuple(part for each in said for part in each.parts),
            mentions=tuple(dict.fromkeys(mark for each in said for mark in each.mentions)),
        ),
        revisions_sha256=(),
        joined=tuple(
            JoinedMessage(
                turn_id=each.turn_id,
                message_id=each.message.message_id,
                texts_sha256=each.revisions_sha256 or (_text_sha256(each),),
            )
            for each in messages
        ),
    )


def _text_sha256(inbound: InboundMessage) -> str:
    text = inbound.message.text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()
