"""One conversation while it is warm: those who wait, one worker, and one run after another.

The worker is the only one that acts. Everybody else leaves a wish (a message, a warm-up, an end)
and wakes it. It looks at the wishes in a fixed order, so nothing depends on who came first by a
hair::

    leave       the host is closing, or nothing is left to do
    end run     reset, stopped, rollover; evicted only while no message waits
    answer      the next message of those that wait: start or resume a run, then one turn
    drop pi     the process died while idle; the run stays and can be resumed
    warm up     start a run ahead of its first message
    (idle)      nothing for ``idle_seconds``: end the run

A run ends, those who wait stay: they are answered by the next run. The session leaves the
registry in the same step in which it finds nothing more to do, so no message falls in between.
Which message is next, and what is joined to it, is for ``sessions.waiting`` to say; who gets which
outcome, for ``sessions.tickets``; how a run starts and ends, for ``sessions.run_holder``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from enum import Enum, auto

import structlog
from structlog.contextvars import bind_contextvars, unbind_contextvars

from compiler.errors import SafeError
from compiler.request import ImpName, RunId, RunScope, TurnId, UserId
from sessions.errors import SessionErrorCode
from sessions.faults import fault_facts
from sessions.inbound import OutcomeKind
from sessions.outcomes import cut_off, failure, over_limit
from sessions.parts import SessionParts
from sessions.run import EndReason, Run
from sessions.run_holder import RunHolder
from sessions.slots import WarmSlots
from sessions.summing_up import SummingUp
from sessions.take import TurnTaker
from sessions.ticket import Ticket
from sessions.tickets import Tickets
from sessions.turn import Halted, HaltReason
from sessions.turn_account import Taken
from sessions.view import Interruption, SessionState, SessionView
from sessions.waiting import TurnAtHand, Waiting

_log = structlog.get_logger(__name__)


class _Step(Enum):
    LEAVE = auto()
    END_RUN = auto()
    ANSWER = auto()
    DROP_PI = auto()
    WARM_UP = auto()


class Session:
    """The session of one conversation. ``serve`` is its worker; all else returns at once."""

    def __init__(
        self,
        parts: SessionParts,
        slots: WarmSlots,
        *,
        imp: ImpName,
        scope: RunScope,
        on_end: Callable[[Session], None],
    ) -> None:
        """Take the collaborators.

        Args:
            parts: what all sessions share.
            slots: the places for warm sessions.
            imp: the imp of the conversation.
            scope: where it is; names a channel.
            on_end: called in the step in which the session takes its last look at the inbox.
        """
        if scope.channel_id is None:
            raise ValueError("a session needs a channel")
        self.imp = imp
        self.channel_id = scope.channel_id
        self.parent_channel_id = scope.parent_channel_id
        self.guild_id = scope.guild_id
        self._parts = parts
        self._slots = slots
        self._scope = scope
        self._on_end = on_end
        self._taker = TurnTaker(parts)
        self._summing_up = SummingUp(parts, self._taker)
        self._waiting = Waiting(limit=parts.limits.inbox_size, talk=parts.talk)
        self.tickets = Tickets(self._waiting, talk=parts.talk, inbox=parts.inbox, clock=parts.clock)
        """Those of its messages that wait or are being answered."""
        self._news = asyncio.Event()
        self._holder = RunHolder(
            parts,
            slots,
            imp=imp,
            place=self,
            on_death=self._news.set,
            on_ending=lambda: self._enter(SessionState.ENDING),
        )
        self._state = SessionState.STARTING
        self._end: EndReason | None = None
        self._warm_wanted = False
        self._closing = False
        self._since_ns = parts.clock.monotonic_ns()

    # What others wish for.

    def offer(self, ticket: Ticket) -> bool:
        """Let a message wait for its turn; False when there is no room for it."""
        if not self.tickets.has_room:
            return False
        self.tickets.add(ticket)
        if self._state is SessionState.IDLE:
            self._slots.mark_busy(self)
        self._news.set()
        if ticket.steers is not None:
            self._taker.nudge()
        return True

    def warm_up(self) -> None:
        """Start a run ahead of the first message."""
        self._warm_wanted = True
        self._news.set()

    def interrupt(self, user_id: UserId | None, *, everyones: bool, drop: bool) -> Interruption:
        """Cut off a person's running turn, or anybody's, and drop what waits of them if wanted."""
        stopped = self.tickets.runs(user_id, everyones=everyones)
        if stopped:
            self._cut_off_current(drop=drop)
        dropped = self.tickets.drop(user_id, everyones=everyones) if drop else 0
        return Interruption(stopped=stopped, dropped=dropped, kept=len(self._waiting))

    def stop_turn(self, turn_id: TurnId, *, drop: bool) -> Interruption:
        """Cut off one turn if it runs, and drop or keep what its author has waiting behind it."""
        current = self.tickets.current
        if current is None or not current.concerns(turn_id) or current.ticket.done:
            return Interruption(kept=len(self._waiting))
        self._cut_off_current(drop=drop)
        done = self.interrupt(current.inbound.scope.user_id, everyones=False, drop=drop)
        return replace(done, stopped=True)

    def _cut_off_current(self, *, drop: bool) -> None:
        """Cut off the turn at hand; what was to steer it is dropped, or waits for its own."""
        if self.tickets.current is not None:
            self.tickets.current.drops_steers = drop
        self.halt(HaltReason.STOPPED)

    def forget(self, turn_id: TurnId) -> None:
        """Cut off the turn of a deleted message, and let no later turn know of it."""
        if self.tickets.forget(turn_id):
            self.halt(HaltReason.STOPPED)
        if self._run is not None or self.busy:
            self.end(EndReason.RESET)

    def outdate(self, turn_id: TurnId, holders: Collection[RunId]) -> None:
        """End the run after its turn, if it may hold an edited message as it was.

        It does if it is among ``holders`` or has that message at hand; so may one that is still
        being found.
        """
        run, at_hand = self._run, self.tickets.has_at_hand(turn_id)
        if at_hand or (holders and (run is None or run.run_id in holders)):
            self.end(EndReason.RESET)

    def end(self, reason: EndReason) -> None:
        """End the run: stopped at once, otherwise after the running turn."""
        if reason is EndReason.EVICTED and self._end is not None:
            return
        self._end = reason
        if reason is EndReason.STOPPED:
            self.tickets.refuse_all(SessionErrorCode.STOPPED)
            self._cut_off_current(drop=True)
        self._news.set()

    def close(self) -> None:
        """Refuse what waits and leave after the running turn, ready to be resumed."""
        self._closing = True
        self.tickets.refuse_all(SessionErrorCode.HOST_CLOSING)
        self._news.set()

    def halt(self, reason: HaltReason) -> None:
        """Cut off the start or the turn that is running."""
        if self.busy:
            self._taker.halt(reason)
            self._holder.halt(reason)

    @property
    def busy(self) -> bool:
        """Whether a start or a turn is running."""
        return self._state in (SessionState.STARTING, SessionState.BUSY)

    @property
    def ends_soon(self) -> bool:
        """Whether a session that is told to end waits for nothing but its own records."""
        current = self.tickets.current
        return not self.busy or (current is not None and current.ticket.done)

    async def run_ended(self) -> None:
        """Wait until no run is open, at the longest until a halted turn must have ended."""
        limits = self._parts.limits
        longest = limits.abort_seconds + 4 * limits.shutdown_seconds + limits.store_seconds
        try:
            async with self._parts.clock.timeout(longest):
                await self._holder.ended()
        except TimeoutError:
            _log.warning("session.end_slow", **self.facts())

    def view(self) -> SessionView:
        """Describe the session."""
        run = self._run
        return SessionView(
            imp=self.imp,
            channel_id=self.channel_id,
            is_dm=self._scope.is_dm,
            state=self._state,
            run_id=run.run_id if run else None,
            turns=run.turns if run else 0,
            queued=len(self._waiting),
            quiet_seconds=self._quiet_seconds,
            has_process=run is not None and run.alive,
        )

    @property
    def _quiet_seconds(self) -> float:
        return (self._parts.clock.monotonic_ns() - self._since_ns) / 1e9

    def facts(self) -> dict[str, str]:
        """Name the session in a log line."""
        return {"channel_id": self.channel_id, "imp": self.imp, "run_id": self._holder.run_id or ""}

    @property
    def _run(self) -> Run | None:
        return self._holder.run

    # The worker.

    async def serve(self) -> None:
        """Serve the conversation until it has nothing left to do.

        Only cancellation leaves here; whatever else goes wrong ends this session alone, and each
        ticket gets an outcome.
        """
        bind_contextvars(channel_id=self.channel_id, imp=self.imp)
        unserved = SessionErrorCode.HOST_CLOSING
        try:
            await self._serve()
        except Exception as error:  # noqa: BLE001 - the boundary of one conversation
            _log.error("session.broken", **fault_facts(error))
            unserved = SessionErrorCode.SESSION_BROKEN
        finally:
            self._on_end(self)
            self.tickets.refuse_all(unserved)
            await self._holder.end(EndReason.SHUTDOWN if self._closing else EndReason.FAILED)

    async def _serve(self) -> None:
        while True:
            step = await self._next_step()
            match step:
                case _Step.LEAVE:
                    return
                case _Step.END_RUN:
                    await self._sum_up()
                    await self._holder.end(self._end or EndReason.IDLE)
                    self._end = None
                case _Step.ANSWER:
                    await self._answer(self.tickets.take_next())
                case _Step.DROP_PI:
                    await self._holder.drop_process()
                case _Step.WARM_UP:
                    await self._warm_up()

    async def _next_step(self) -> _Step:
        """Wait for a wish, for the end of a burst, or for the end of an idle run's time."""
        while (step := self._wish()) is None:
            self._news.clear()
            try:
                async with self._parts.clock.timeout(self._patience_seconds()):
                    await self._news.wait()
            except TimeoutError:
                # A wish that came in the very step in which the time was up is served first.
                if (step := self._wish()) is None and not self._waiting:
                    return _Step.END_RUN
        return step

    def _patience_seconds(self) -> float:
        if (ripe_in_seconds := self.tickets.ripe_in_seconds) is not None:
            return ripe_in_seconds
        return max(0.0, self._parts.limits.idle_seconds - self._quiet_seconds)

    def _wish(self) -> _Step | None:
        if self._closing:
            return _Step.LEAVE
        evicted = self._end is EndReason.EVICTED
        if self._end is not None and self._run is not None and not (evicted and self._waiting):
            return _Step.END_RUN
        self._end = None
        if self.tickets.ripe_in_seconds == 0:
            return _Step.ANSWER
        if self._run is not None:
            return _Step.DROP_PI if self._run.lost_its_process else None
        if self._waiting:
            return None
        return _Step.WARM_UP if self._warm_wanted else _Step.LEAVE

    async def _answer(self, turn: TurnAtHand) -> None:
        self._enter(SessionState.BUSY)
        self._slots.mark_busy(self)
        self._holder.begin()
        self._scope = turn.inbound.scope
        turn.ticket.begin()
        bind_contextvars(turn_id=turn.inbound.turn_id)
        try:
            await self._take(turn)
        except asyncio.CancelledError:
            self.tickets.conclude(
                turn, cut_off(turn.inbound, self._holder.run_id, HaltReason.SHUTDOWN)
            )
            raise
        except SafeError as error:
            _log.warning("turn.refused", code=str(error.code), **error.facts)
            self.tickets.conclude(turn, failure(turn.inbound, self._holder.run_id, error))
        except Halted as halted:
            self.tickets.conclude(turn, cut_off(turn.inbound, self._holder.run_id, halted.reason))
        except Exception as error:  # noqa: BLE001 - the boundary of one turn
            _log.error("turn.broken", **fault_facts(error))
            self.tickets.conclude(turn, failure(turn.inbound, self._holder.run_id, error))
            self._end = self._end or EndReason.FAILED
        if not await self._holder.has_process():
            self._end = self._end or EndReason.FAILED
        self.tickets.current = None
        unbind_contextvars("turn_id")
        self._rest()

    async def _take(self, turn: TurnAtHand) -> None:
        if (refused := over_limit(self._parts.allowance, turn.inbound)) is not None:
            self.tickets.conclude(turn, refused)
            return
        run, taken = await self._taken(turn)
        if taken.again:
            # The window is full of this run's turns; a fresh one has room for the message.
            await self._taker.record(run, taken, None)
            await self._holder.end(EndReason.ROLLOVER)
            run, taken = await self._taken(turn)
        self.tickets.take_back(turn, taken.not_steered)
        if turn.others and (turn.gone or taken.outcome.kind is OutcomeKind.OVERFLOW):
            await self._taker.record(run, taken, None)
            await self.tickets.part(turn, taken.outcome)
            self._end = self._end or taken.ends_run
            return
        unheard = self.tickets.unheard(turn, taken.outcome, taken.steered)
        self.tickets.conclude(turn, taken.outcome)
        await self._taker.record(run, taken, self._holder.claim(run, self._scope))
        await self.tickets.let_wait_again(unheard)
        if taken.ends_run is not None:
            self._end = self._end or taken.ends_run
        elif await self._taker.is_full(run):
            self._end = self._end or EndReason.ROLLOVER

    async def _taken(self, turn: TurnAtHand) -> tuple[Run, Taken]:
        """Take a turn in the run at hand, or in a fresh one while its process comes up."""
        run = await self._holder.begun(turn.inbound.scope)
        return run, await self._taker.take(
            run,
            turn.inbound,
            ready=self._holder.came_up,
            steers=self.tickets.next_steer,
            draft=turn.ticket.draft,
        )

    def _rest(self) -> None:
        self._enter(SessionState.IDLE)
        if not self._waiting:
            self._slots.mark_idle(self)

    async def _warm_up(self) -> None:
        self._warm_wanted = False
        self._holder.begin()
        self._enter(SessionState.STARTING)
        try:
            await self._holder.ready(self._scope)
        except (SafeError, Halted) as error:
            code = error.code if isinstance(error, SafeError) else error.reason
            _log.warning("session.warm_up_failed", code=str(code))
        self._rest()

    async def _sum_up(self) -> None:
        """Have an idle conversation summed up before it ends, where the owner wants that."""
        run = self._run
        if self._end is None and run is not None and run.alive and self._summing_up.wanted:
            self._enter(SessionState.BUSY)
            await self._summing_up.sum_up(run, self._scope)

    def _enter(self, state: SessionState) -> None:
        self._state = state
        self._since_ns = self._parts.clock.monotonic_ns()
