"""What follows the end of a gate: a turn in its conversation, and the word that it gives.

What is owed stands in the inbox, written with the gate's end, and is done once there is something
in the outbox. So a host killed at any moment leaves to the next one just what it did not come to:
a turn that had not begun is taken then; of one that had begun the conversation is told in fixed
words and nothing runs again (P06). Where the imp does not talk any more, the owner is told.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import discord
import structlog

from bot import ingress
from bot.errors import sentence_for, with_run
from bot.gates import texts
from bot.gates.answers import outcome_of
from bot.gates.cards import GateCards
from bot.gates.parts import GateParts
from bot.gates.rounds import Rounds
from bot.logs import describe
from bot.memory.desk import MemoryDesk
from bot.missed import Channel
from bot.place import place_facts, role_now, rules_of
from bot.sending import FAILURES, describe_failure, is_passing
from bot.wake import Wake, decide
from compiler.errors import SafeError
from compiler.request import RunId, RunScope
from sessions.continuations import continuation, scope_of
from sessions.errors import SessionErrorCode
from sessions.gates import Gate, GateState, gate_of_turn, turn_id_of
from sessions.house.keeper import RuleKeeper
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.registry import Registry
from sessions.store.inbox import InboxStore, OwedTurn
from sessions.ticket import Ticket

INTERRUPTED: Final = "I was interrupted before I could go on from there."
UNTOLD: Final = "gate-untold"
LINE: Final = "gate-line"
RETRY_SECONDS: Final = 5.0
FIND_SECONDS: Final = 60.0
_PLACES: Final = (
    discord.TextChannel,
    discord.VoiceChannel,
    discord.StageChannel,
    discord.Thread,
    discord.DMChannel,
)
_log = structlog.get_logger(__name__)


class Continuations:
    """Pays what conversations are owed for their gates."""

    def __init__(
        self,
        parts: GateParts,
        *,
        inbox: InboxStore,
        registry: Registry,
        rules: RuleKeeper,
        memories: MemoryDesk,
        cards: GateCards,
    ) -> None:
        self._parts = parts
        self._inbox = inbox
        self._registry = registry
        self._rules = rules
        self._memories = memories
        self._cards = cards
        self.rounds = Rounds(self._look, unread="continuations.unread")
        """Pay what is owed."""
        self._in_hand: set[str] = set()
        self._begun: set[str] = set()
        """Turns that were handed to a session: whatever becomes of their words, they are had."""

    async def _look(self) -> None:
        found = await self._inbox.owed_for_gates()
        still_owed = {owed.turn_id for owed in found}
        self._in_hand &= still_owed
        self._begun &= still_owed
        for owed in () if self._registry.closing else found:
            if owed.turn_id not in self._in_hand:
                self._in_hand.add(owed.turn_id)
                self._parts.tasks.create_task(self._pay(owed), name=f"continue:{owed.turn_id}")

    async def _pay(self, owed: OwedTurn) -> None:
        try:
            await self._paid(owed)
        except FAILURES as failure:
            _log.warning(
                "continuation.waits", turn_id=owed.turn_id, failure=describe_failure(failure)
            )
            await asyncio.sleep(RETRY_SECONDS)
        except SafeError as error:
            _log.warning("continuation.waits", turn_id=owed.turn_id, code=str(error.code))
            await asyncio.sleep(RETRY_SECONDS)
        except Exception as error:  # noqa: BLE001  (one of them must not end the others)
            _log.error("continuation.failed", turn_id=owed.turn_id, **describe(error))
            return  # it stays in hand: the same would go wrong again until the next start
        if owed.turn_id not in self._begun:
            self._in_hand.discard(owed.turn_id)

    async def _paid(self, owed: OwedTurn) -> None:
        gate_id = gate_of_turn(owed.turn_id)
        gate = None if gate_id is None else await self._parts.desk.store.get(gate_id)
        if gate is None:
            await self._inbox.finish(owed.turn_id)
            return
        channel = await self._find(gate)
        scope = None if channel is None else await self._scope(gate, channel)
        if channel is None or scope is None:
            await self._cards.tell_owners(f"{UNTOLD}:{gate.gate_id}", texts.nobody_here(gate))
            await self._inbox.finish(owed.turn_id)
            return
        ticket = None
        async with self._parts.threshold.inward.lane(channel.id):
            await self._parts.cross(channel)
            if owed.run_id is None and gate.tool != texts.POST_ANSWER:
                ticket = await self._submit(gate, scope)
                if ticket is None:
                    return
        if gate.tool == texts.POST_ANSWER:
            await self._let_out(gate, channel, scope)
        elif ticket is None:
            await self._say(gate, channel, with_run(INTERRUPTED, owed.run_id))
        else:
            await self._answer(gate, channel, ticket)

    async def _submit(self, gate: Gate, scope: RunScope) -> Ticket | None:
        """Queue the turn behind what came before it; None while there is no room."""
        if not self._registry.has_room(gate.origin.imp, scope):
            return None
        kept = await self._rules.rules(scope)
        self._begun.add(turn_id_of(gate.gate_id))
        return self._registry.submit(
            continuation(gate, scope, house_rules=kept.in_prompt, received_ns=time.monotonic_ns())
        )

    async def _answer(self, gate: Gate, channel: Channel, ticket: Ticket) -> None:
        async with self._parts.delivery.typing(channel):
            outcome = await ticket.outcome()
        if outcome.error_code == SessionErrorCode.HOST_CLOSING and self._registry.closing:
            return  # nobody began it: the next start does
        silent = outcome.kind is OutcomeKind.SILENT
        if silent and (outcome.chose_silence or outcome.said or not gate.origin.is_dm):
            await self._parts.delivery.drop(outcome.turn_id)
            return
        if outcome.kind is not OutcomeKind.REPLIED:
            more = "" if silent else sentence_for(outcome)
            await self._say(gate, channel, more, run_id=outcome.run_id)
            return
        await self._deliver(gate, channel, ticket.inbound.scope, outcome)
        _log.info("continuation.delivered", turn_id=outcome.turn_id, run_id=outcome.run_id)

    async def _deliver(
        self,
        gate: Gate,
        channel: Channel,
        scope: RunScope,
        outcome: TurnOutcome,
        *,
        approved: bool = False,
    ) -> None:
        target = channel.get_partial_message(_message_of(gate))
        async with self._parts.threshold.outward.lane(channel.id):
            notes = await self._memories.written_in(outcome.turn_id)
            await self._parts.delivery.deliver(target, scope, outcome, approved=approved)
            await self._memories.show(target, notes)

    async def _let_out(self, gate: Gate, channel: Channel, scope: RunScope) -> None:
        """Post an answer that was kept back, or say that it stays so."""
        if gate.state is GateState.EXECUTED:
            await self._deliver(gate, channel, scope, outcome_of(gate), approved=True)
            await self._inbox.finish(turn_id_of(gate.gate_id))
            return
        target = channel.get_partial_message(_message_of(gate))
        async with self._parts.threshold.outward.lane(channel.id):
            await self._parts.delivery.notice(
                target,
                texts.NOT_LET_THROUGH,
                key=f"{LINE}-{gate.gate_id}",
                ends=turn_id_of(gate.gate_id),
            )

    async def _say(
        self, gate: Gate, channel: Channel, more: str = "", *, run_id: RunId | None = None
    ) -> None:
        """Say in fixed words how a gate ended; nothing more is owed with it."""
        target = channel.get_partial_message(_message_of(gate))
        text = "\n".join(filter(None, (texts.told_in_conversation(gate), more)))
        async with self._parts.threshold.outward.lane(channel.id):
            await self._parts.delivery.notice(
                target,
                text,
                key=f"{LINE}-{gate.gate_id}",
                ends=turn_id_of(gate.gate_id),
                run_id=run_id,
            )

    async def _find(self, gate: Gate) -> Channel | None:
        """Find the conversation; None if it is gone or closed for good."""
        if gate.origin.channel_id is None:
            return None
        number = ingress.snowflake(gate.origin.channel_id)
        found: object = self._parts.bot.get_channel(number)
        if found is None:
            try:
                async with asyncio.timeout(FIND_SECONDS):
                    found = await self._parts.bot.fetch_channel(number)
            except discord.InvalidData:
                return None
            except FAILURES as failure:
                if is_passing(failure):
                    raise
                return None
        return found if isinstance(found, _PLACES) else None

    async def _scope(self, gate: Gate, channel: Channel) -> RunScope | None:
        """Say where and for whom the turn is; None if a message of his is not answered there now.

        His tier is of this moment, not of the one in which he asked.
        """
        bot, origin = self._parts.bot, gate.origin
        settings = bot.live.current
        user_id = ingress.snowflake(origin.requester)
        member = await _member(channel, user_id)
        guild = getattr(channel, "guild", None)
        guild_id = None if guild is None else guild.id
        facts = place_facts(channel.id, channel, guild_id=guild_id, user_id=user_id, user=member)
        here = bot.live.channel(facts.channel_id, facts.parent_id, is_dm=guild_id is None)
        if here.imp != origin.imp:
            return None
        if decide(facts, rules_of(settings, here, paired=bot.paired)) is not Wake.ANSWER:
            return None
        role = role_now(user_id, member, settings)
        return scope_of(gate, provider=ingress.PROVIDER, role=role)


async def _member(channel: Channel, user_id: int) -> discord.Member | None:
    """Ask for the person as a member of the server, with the roles of now."""
    guild = getattr(channel, "guild", None)
    if not isinstance(guild, discord.Guild):
        return None
    try:
        async with asyncio.timeout(FIND_SECONDS):
            return await guild.fetch_member(user_id)
    except FAILURES as failure:
        if is_passing(failure):
            raise
        return None  # who left the server has no roles in it


def _message_of(gate: Gate) -> int:
    """Give the message that is answered; 0 stands for none."""
    message_id = gate.origin.message_id
    return 0 if message_id is None else ingress.snowflake(message_id)
