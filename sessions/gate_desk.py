"""Gates at work: filed, decided, carried out, and told to those who wait for them.

    file     a proposal becomes a gate; trust that was earned approves it at once
    decide   a person's click or command, judged by who he is at this moment
    run      expires what nobody decided, and carries out what was approved, in the order of filing
             and one at a time in each conversation

What was approved may have been approved by another process (the shell), so the store is looked
into now and then; whatever this process does itself is taken up at once. An action is carried out
by the name of its tool. The end of a gate is written before anybody hears of it, and what its
conversation is owed is written with it (``store.gates``); listeners only look there sooner.

Spec: CC "Briefing"; issue "Gateway of actions".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import structlog

from compiler.canonical_json import JsonValue
from compiler.errors import SafeError
from compiler.request import Briefing, ChannelId, MessageId, OpenGate, ResolvedGate
from sessions.clock import DAY_MS, Clock, timestamp, unix_ms
from sessions.earned import is_earned
from sessions.faults import fault_facts
from sessions.gate_execution import Action, Execution
from sessions.gate_filing import PlainFiler, Proposal
from sessions.gates import (
    Decider,
    EffectKind,
    Gate,
    GateErrorCode,
    GateId,
    GateOrigin,
    GateRules,
    GateState,
    approve,
    approve_by_trust,
    deny,
    file_gate,
    gate_of_turn,
    open_gates,
)
from sessions.limits import GateSettings
from sessions.store.gates import GateStore
from sessions.tools.table import deed_of

POLL_SECONDS: Final = 2.0
"""How long an approval that the shell gave may wait to be noticed."""
RETRY_SECONDS: Final = 1.0
"""Between attempts at writing down how an action ended; until then nobody hears of it."""
AT_ONCE: Final = 4
"""Actions that are carried out at a time."""
_log = structlog.get_logger(__name__)


class Choice(StrEnum):
    """What a person decides; the word stands in buttons and commands."""

    APPROVE = "approve"
    DENY = "deny"


class GateUnknown(SafeError):
    """There is no such gate, or none that the person may know of: the answer is the same."""

    def __init__(self) -> None:
        super().__init__(GateErrorCode.UNKNOWN, "I know of no such gate.")


def rules_of(settings: GateSettings) -> GateRules:
    """Give the owner's settings as the pure machine takes them."""
    return GateRules(
        expiry_seconds=settings.expiry_hours * 3600,
        admins_decide=settings.admins_decide,
        owners_decide_their_own=settings.owners_decide_their_own,
    )


class GateDesk:
    """Takes proposals (a ``GateFiler``) and decisions, and sees to what follows."""

    def __init__(
        self,
        store: GateStore,
        *,
        clock: Clock,
        settings: Callable[[], GateSettings],
        actions: Mapping[str, Action] | None = None,
    ) -> None:
        self.store = store
        self._clock = clock
        self._settings = settings
        self._execution = Execution(store, clock=clock, actions=actions or {})
        self._filer = PlainFiler(store, clock=clock, rules=lambda: rules_of(settings()))
        self._listeners: list[Callable[[], None]] = []
        self._news = asyncio.Event()
        self._closing = False
        self._in_hand: dict[GateId, ChannelId | None] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._left: list[Gate] = []
        """What an earlier host was carrying out and may be repeated."""
        self._open_in: set[ChannelId | None] = set()
        """Conversations in which a gate may wait; in all others no turn asks the store."""
        self._filed = self._being_filed = 0
        """Count what was filed, and what is being written: whether something was while a turn read
        that nothing waits."""

    @property
    def closing(self) -> bool:
        """Whether nothing more is begun."""
        return self._closing

    def provide(self, tool: str, action: Action) -> None:
        """Say how the gates of a tool are carried out."""
        self._execution.actions[tool] = action

    def listen(self, listener: Callable[[], None]) -> None:
        """Have ``listener`` called when something may have changed; it must return at once."""
        self._listeners.append(listener)

    async def load(self) -> None:
        """Take up what an earlier host left, before anything is filed or decided.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        await self.store.prune()
        left = await self.store.recover(now_ms=self._now_ms())
        self._left = [gate for gate in left if gate.state is GateState.EXECUTING]
        self._open_in = set(await self.store.waiting_in())
        if left:
            _log.info("gates.taken_up", count=len(left))

    # Proposals and decisions.

    async def file(self, proposal: Proposal) -> Gate | None:
        """See ``GateFiler``; a gate that trust approved is ``approved`` already."""
        with self._filing(proposal.origin):
            gate = await self._filer.file(proposal)
            if gate is not None and gate.state is GateState.PENDING and await self._earned(gate):
                gate = await self.store.move(
                    gate.gate_id, lambda one: approve_by_trust(one, now_ms=self._now_ms())
                )
        if gate is not None:
            _log.info("gate.filed", gate_id=gate.gate_id, tool=gate.tool, state=gate.state.value)
        return gate

    async def file_answer(
        self,
        gate_id: GateId,
        origin: GateOrigin,
        *,
        tool: str,
        arguments: JsonValue,
        effect: EffectKind,
        intent: str,
    ) -> Gate:
        """Let the answer of a turn wait; with it the turn's message is owed nothing more.

        Each answer waits, however many do, and no trust lets one through.

        Raises:
            StoreUnavailable: it could not be written down.
        """
        gate = file_gate(
            gate_id,
            origin,
            tool=tool,
            arguments=arguments,
            effect=effect,
            intent=intent,
            rationale="",
            now_ms=self._now_ms(),
            rules=rules_of(self._settings()),
        )
        with self._filing(origin):
            await self.store.file(gate, ends=origin.turn_id)
        return gate

    @contextmanager
    def _filing(self, origin: GateOrigin) -> Iterator[None]:
        """Note that a gate may wait from here on; until it is written nobody can read it."""
        self._open_in.add(origin.channel_id)
        self._filed += 1
        self._being_filed += 1
        try:
            yield
        finally:
            self._being_filed -= 1
            self.wake()

    async def decide(
        self, gate_id: GateId, decider: Decider, choice: Choice, *, shown_sha256: str | None = None
    ) -> Gate:
        """Approve or deny; ``shown_sha256`` is what the decider was shown, if not the whole.

        Raises:
            GateUnknown: there is no such gate.
            GateRefused: it is not his to decide, or something else has become of it.
            StoreUnavailable: nothing was decided.
        """
        rules, now_ms = rules_of(self._settings()), self._now_ms()

        def step(gate: Gate) -> Gate:
            if choice is Choice.DENY:
                return deny(gate, decider, rules, now_ms=now_ms)
            shown = shown_sha256 or gate.payload_sha256
            return approve(gate, decider, rules, shown_sha256=shown, now_ms=now_ms)

        gate = await self.store.move(gate_id, step)
        if gate is None:
            raise GateUnknown
        self.wake()
        return gate

    async def withdraw(
        self, channel_id: ChannelId, message_id: MessageId | None = None
    ) -> tuple[Gate, ...]:
        """End what waits in a conversation, or what waits for one message of it, with no word.

        Raises:
            StoreUnavailable: nothing was ended.
        """
        if channel_id not in self._open_in:
            return ()
        ended = await self.store.withdraw(channel_id, message_id, now_ms=self._now_ms())
        self.wake()
        return ended

    async def get(self, gate_id: GateId) -> Gate:
        """Give a gate.

        Raises:
            GateUnknown: there is no such gate.
        """
        gate = await self.store.get(gate_id)
        if gate is None:
            raise GateUnknown
        return gate

    async def briefing(
        self, channel_id: ChannelId | None, continuation: ResolvedGate | None = None
    ) -> Briefing:
        """Give what a turn of a conversation is told of gates: of this conversation alone.

        Raises:
            StoreUnavailable: it cannot be read; no turn is compiled as if there were none.
        """
        if channel_id is None or channel_id not in self._open_in:
            return Briefing(continuation=continuation)
        filed, quiet = self._filed, not self._being_filed
        found = await self.store.of_channel(channel_id, GateState.PENDING)
        waiting = open_gates(found, channel_id, now_ms=self._now_ms())
        if not waiting and quiet and filed == self._filed:
            self._open_in.discard(channel_id)
        return Briefing(continuation=continuation, open_gates=tuple(map(_told, waiting)))

    # What follows.

    def wake(self) -> None:
        """Look into the store now."""
        self._news.set()

    async def run(self) -> None:
        """Expire and carry out, until closed."""
        async with asyncio.TaskGroup() as tasks:
            while not self._closing:
                self._news.clear()
                try:
                    await self._round(tasks)
                except SafeError as error:
                    _log.warning("gates.not_looked_at", code=str(error.code))
                except Exception as error:  # noqa: BLE001 - one look must not end all others
                    _log.error("gates.not_looked_at", **fault_facts(error))
                for listener in self._listeners:
                    listener()
                try:
                    async with self._clock.timeout(POLL_SECONDS):
                        await self._news.wait()
                except TimeoutError:
                    continue
            await self._idle.wait()

    async def close(self, *, seconds: float) -> None:
        """Begin nothing more, and wait so long for what is being carried out."""
        self._closing = True
        self.wake()
        try:
            async with self._clock.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("gates.cut_off", count=len(self._in_hand))

    async def _round(self, tasks: asyncio.TaskGroup) -> None:
        for gate in await self.store.expire_due(now_ms=self._now_ms()):
            _log.info("gate.expired", gate_id=gate.gate_id)
        left, self._left = self._left, []
        for gate in (*left, *await self.store.all_in(GateState.APPROVED)):
            channel_id = gate.origin.channel_id
            if gate.gate_id in self._in_hand:
                continue
            if len(self._in_hand) >= AT_ONCE or channel_id in self._in_hand.values():
                if gate.state is GateState.EXECUTING:
                    self._left.append(gate)
                continue
            self._in_hand[gate.gate_id] = channel_id
            self._idle.clear()
            tasks.create_task(self._take(gate), name=f"gate:{gate.gate_id}")

    async def _take(self, gate: Gate) -> None:
        try:
            ended = await self._execution.carry_out(gate)
            _log.info("gate.ended", gate_id=gate.gate_id, state=ended.value)
        except SafeError as error:  # it is what it was, and the next look takes it up
            _log.warning("gate.not_carried_out", gate_id=gate.gate_id, code=str(error.code))
            await asyncio.sleep(RETRY_SECONDS)
            if gate.state is GateState.EXECUTING:
                self._left.append(gate)
        except Exception as error:  # noqa: BLE001 - the boundary of one gate
            _log.error("gate.broken", gate_id=gate.gate_id, **fault_facts(error))
            await asyncio.sleep(RETRY_SECONDS)
        finally:
            del self._in_hand[gate.gate_id]
            if not self._in_hand:
                self._idle.set()
            self.wake()

    async def _earned(self, gate: Gate) -> bool:
        settings, deed = self._settings(), deed_of(gate.tool)
        origin = gate.origin
        if settings.earned_after < 1 or (deed is not None and deed.always_gated):
            return False
        if origin.channel_id is None or gate.of_shell or gate_of_turn(origin.turn_id) is not None:
            return False  # nobody spoke: what follows from a gate could go on for ever by itself
        since_ms = self._now_ms() - round(settings.earned_window_days * DAY_MS)
        past = await self.store.past(origin.imp, gate.tool, origin.channel_id, since_ms=since_ms)
        return is_earned(past, approvals=settings.earned_after, since_ms=since_ms)

    def _now_ms(self) -> int:
        return unix_ms(self._clock)


def _told(gate: Gate) -> OpenGate:
    return OpenGate(gate_id=gate.gate_id, filed_at=at(gate.filed_ms), intent=gate.intent)


def at(milliseconds: int) -> str:
    """Write a gate's time as tables and prompts do."""
    return timestamp(datetime.fromtimestamp(milliseconds / 1000, UTC))
