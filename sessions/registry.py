"""One warm session for each conversation: who is served where, and the end of all of them.

A conversation is an imp in a channel; a thread is a channel of its own. Finding the session of a
message, queueing it and finding who has to leave take the same time however many sessions there
are and however long they have talked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from types import TracebackType
from typing import Self

import structlog

from compiler.request import (
    ChannelId,
    GuildId,
    HistoryMessage,
    ImpName,
    MessageId,
    RunId,
    RunScope,
    TurnId,
)
from sessions.clock import timestamp
from sessions.errors import SessionErrorCode
from sessions.inbound import InboundMessage
from sessions.leftovers import settle_leftovers
from sessions.outcomes import rejection
from sessions.parts import SessionParts
from sessions.run import EndReason
from sessions.session import Session
from sessions.slots import WarmSlots
from sessions.store.runs import InterruptedTurn
from sessions.ticket import Ticket
from sessions.turn import HaltReason
from sessions.view import Interruption, SessionView

_log = structlog.get_logger(__name__)
Conversation = tuple[ImpName, ChannelId]


class Registry:
    """All sessions of the host.

    An async context manager: entering settles what a killed host left open, leaving drains.
    Each session is a task of the registry's own group; one that goes wrong ends alone.
    """

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._sessions: dict[Conversation, Session] = {}
        self._workers: dict[Session, asyncio.Task[None]] = {}
        self._tasks = asyncio.TaskGroup()
        self._slots = WarmSlots(parts.limits.max_warm, _evict)
        self._closing = False
        self._empty = asyncio.Event()
        self._empty.set()
        self.interrupted: tuple[InterruptedTurn, ...] = ()
        """Turns that the last host was killed in; the edge may say so where they were asked."""

    async def __aenter__(self) -> Self:
        self.interrupted = await settle_leftovers(self._parts)
        if self._parts.memory is not None:
            await self._parts.memory.start(self)
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.close()
        finally:
            await self._tasks.__aexit__(exc_type, exc, traceback)

    def submit(self, inbound: InboundMessage) -> Ticket:
        """Queue a message for its conversation; never blocks.

        The ticket's outcome comes exactly once. A full inbox or a closing host gives REJECTED at
        once.

        Raises:
            ValueError: the scope names no conversation.
        """
        ticket = Ticket(inbound)
        if self._closing:
            ticket.settle(rejection(inbound, SessionErrorCode.HOST_CLOSING))
            return ticket
        session = self._session_of(inbound.imp, inbound.scope)
        if not session.offer(ticket):
            ticket.settle(rejection(inbound, SessionErrorCode.INBOX_FULL))
        return ticket

    def has_room(self, imp: ImpName, scope: RunScope) -> bool:
        """Tell whether a message would be accepted now."""
        session = self._sessions.get(_conversation(imp, scope))
        return not self._closing and (session is None or session.tickets.has_room)

    @property
    def closing(self) -> bool:
        """Whether the host takes no more messages."""
        return self._closing

    def waiting_of(self, imp: ImpName, scope: RunScope) -> int:
        """Count the messages of the scope's person that wait in its conversation."""
        session = self._sessions.get(_conversation(imp, scope))
        return 0 if session is None else session.tickets.waiting_of(scope.user_id)

    def interrupt(
        self, imp: ImpName, scope: RunScope, *, everyones: bool, drop: bool
    ) -> Interruption:
        """Cut off the running turn of a conversation, and drop or keep what waits behind it.

        Without ``everyones`` only what the scope's own person asked for counts; who is nobody
        known stops nothing. The session and what it knows stay.
        """
        session = self._sessions.get(_conversation(imp, scope))
        if session is None:
            return Interruption()
        return session.interrupt(scope.user_id, everyones=everyones, drop=drop)

    def concerns(self, imp: ImpName, scope: RunScope, *, everyones: bool) -> bool:
        """Tell whether there is something of a person's, or of anybody's, that could be stopped."""
        session = self._sessions.get(_conversation(imp, scope))
        return session is not None and session.tickets.concerns(scope.user_id, everyones=everyones)

    def stop_turn(self, turn_id: TurnId, channel_id: ChannelId, *, drop: bool) -> Interruption:
        """Cut off one turn if it runs still, as its own author would."""
        for session in self._of_channel(channel_id):
            done = session.stop_turn(turn_id, drop=drop)
            if done.stopped:
                return done
        return Interruption()

    def forget(self, turn_id: TurnId, channel_id: ChannelId) -> None:
        """Let go of a deleted message: cut off its turn, and end the runs that may hold it."""
        for session in self._of_channel(channel_id):
            session.forget(turn_id)

    def unquote(self, gone: HistoryMessage, channel_id: ChannelId) -> None:
        """Let the messages that wait in a channel quote no longer what was deleted there."""
        for session in self._of_channel(channel_id):
            session.tickets.unquote(gone)

    async def outdate(self, message_id: MessageId, turn_id: TurnId, channel_id: ChannelId) -> None:
        """Let go of what a message said before it was edited: end the runs that may hold it.

        A running turn goes on; the next one is told what was said as it stands by then.

        Raises:
            StoreUnavailable: nobody can tell which those are, or they cannot be ended now.
        """
        holders = await self._parts.history.holders(message_id, channel_id)
        for session in self._of_channel(channel_id):
            session.outdate(turn_id, holders)
        await self.forget_kept(channel_id, among=holders)

    async def forget_kept(
        self, channel_id: ChannelId, *, among: Collection[RunId] | None = None
    ) -> None:
        """End the runs of a channel that an earlier host left and nobody has taken up yet.

        ``among`` names those that are meant; None means all.

        Raises:
            StoreUnavailable: they cannot be ended now.
        """
        taken_up = {session.view().run_id for session in self._of_channel(channel_id)}
        for row in await self._parts.warm.of_channel(channel_id):
            if row.run_id not in taken_up and (among is None or row.run_id in among):
                await self._parts.runs.end_run(
                    row.run_id,
                    ended_at=timestamp(self._parts.clock.utc_now()),
                    reason=EndReason.RESET,
                )

    def warm(self, imp: ImpName, scope: RunScope) -> None:
        """Start a session ahead of its first message, if there is none and a place is free.

        Nobody has to leave for it: typing is not yet a message.
        """
        key = _conversation(imp, scope)
        if not self._closing and key not in self._sessions and self._slots.has_free:
            self._session_of(imp, scope).warm_up()

    def withdraw(self, turn_id: TurnId, channel_id: ChannelId) -> bool:
        """Take a message back that still waits, because it was deleted; True if it did."""
        return any(session.tickets.withdraw(turn_id) for session in self._of_channel(channel_id))

    def waits(self, turn_id: TurnId, channel_id: ChannelId) -> bool:
        """Tell whether a message still waits for its turn."""
        return any(session.tickets.waits(turn_id) for session in self._of_channel(channel_id))

    def amend(self, inbound: InboundMessage) -> bool:
        """Give a message that still waits its new words; True if it did."""
        place = inbound.scope.channel_id
        there = () if place is None else self._of_channel(place)
        return any(session.tickets.amend(inbound) for session in there)

    def views(self) -> tuple[SessionView, ...]:
        """Describe all sessions, in the order of their beginning."""
        return tuple(session.view() for session in self._sessions.values())

    async def reset(self, channel_id: ChannelId) -> bool:
        """End the sessions of a channel after their running turn; the next message starts afresh.

        Waits until those have ended whose turns are over. Messages that wait are answered by the
        fresh session.

        Returns:
            Whether there was a session.
        """
        return await self._end_all(channel_id, EndReason.RESET)

    async def stop(self, channel_id: ChannelId) -> bool:
        """Stop what runs and waits in a channel, and end its sessions.

        The running turn is cut off, those that wait are refused; each of them is told.

        Returns:
            Whether there was a session.
        """
        return await self._end_all(channel_id, EndReason.STOPPED)

    def end_in_channel(self, channel_id: ChannelId) -> int:
        """Stop what runs and waits in a channel that is gone, and in its threads.

        Returns:
            How many sessions end.
        """
        return _stop(
            session
            for session in self._sessions.values()
            if channel_id in (session.channel_id, session.parent_channel_id)
        )

    def end_in_server(self, guild_id: GuildId) -> int:
        """Do the same in a whole server."""
        return _stop(each for each in self._sessions.values() if each.guild_id == guild_id)

    async def close(self) -> None:
        """Take no more messages, let running turns finish, and end all sessions.

        Turns get ``drain_seconds``, then are cut off with an honest outcome. Sessions that pi has
        settled turns of may be resumed by the next host.
        """
        self._closing = True
        for session in tuple(self._sessions.values()):
            session.close()
        limits = self._parts.limits
        if await self._emptied(seconds=limits.drain_seconds):
            return
        _log.warning("registry.drain_over", sessions=len(self._sessions))
        for session in tuple(self._sessions.values()):
            session.halt(HaltReason.SHUTDOWN)
        # An abort, then the steps of ending a process, each of which is bounded on its own.
        if await self._emptied(seconds=limits.abort_seconds + 4 * limits.shutdown_seconds):
            return
        for session, worker in tuple(self._workers.items()):
            _log.error("session.abandoned", **session.facts())
            worker.cancel()

    async def _emptied(self, *, seconds: float) -> bool:
        try:
            async with self._parts.clock.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    async def _end_all(self, channel_id: ChannelId, reason: EndReason) -> bool:
        found = self._of_channel(channel_id)
        for session in found:
            session.end(reason)
        for session in found:
            if reason is EndReason.STOPPED or session.ends_soon:
                await session.run_ended()
        return bool(found)

    def _of_channel(self, channel_id: ChannelId) -> list[Session]:
        return [
            session for (_, channel), session in self._sessions.items() if channel == channel_id
        ]

    def _session_of(self, imp: ImpName, scope: RunScope) -> Session:
        key = _conversation(imp, scope)
        session = self._sessions.get(key)
        if session is None:
            session = Session(self._parts, self._slots, imp=imp, scope=scope, on_end=self._forget)
            self._sessions[key] = session
            self._empty.clear()
            worker = self._tasks.create_task(session.serve(), name=f"session:{imp}:{key[1]}")
            self._workers[session] = worker
            worker.add_done_callback(lambda _: self._gone(session))
        return session

    def _forget(self, session: Session) -> None:
        """Called by a session in the very step in which it stops taking messages."""
        key = (session.imp, session.channel_id)
        if self._sessions.get(key) is session:
            del self._sessions[key]

    def _gone(self, session: Session) -> None:
        self._forget(session)
        del self._workers[session]
        if not self._workers:
            self._empty.set()


def _stop(sessions: Iterable[Session]) -> int:
    found = tuple(sessions)
    for session in found:
        session.end(EndReason.STOPPED)
    return len(found)


def _conversation(imp: ImpName, scope: RunScope) -> Conversation:
    if scope.channel_id is None:
        raise ValueError("a conversation needs a channel")
    return imp, scope.channel_id


def _evict(holder: object) -> None:
    if isinstance(holder, Session):
        holder.end(EndReason.EVICTED)
