"""Answers that wait: where the owner does not trust a channel and wants to read what goes there.

The model has answered, and the answer is the payload of a gate. The channel is told its size; the
owner gets it whole. Approved, it is written into the outbox in the transaction that ends the gate,
so it is posted once, over any restart.

Spec: issue "Gateway of actions" (``replies = "gate"``).
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Final

import structlog

from bot import ingress
from bot.delivery import Delivery, Target
from bot.gates import texts
from bot.gates.texts import POST_ANSWER
from compiler.request import ImpName, MessageId, RunId, RunScope, TurnId
from config.load import LiveConfig
from sessions.gate_desk import GateDesk
from sessions.gate_execution import Action
from sessions.gate_filing import fresh_gate_id
from sessions.gates import EffectKind, Gate, GateOrigin
from sessions.inbound import OutcomeKind, TurnOutcome
from sessions.store.outbox import OutboxStore
from sessions.visible import is_visible

HELD: Final = "held"
_log = structlog.get_logger(__name__)


class AnswerGates:
    """Keeps answers back (``Holds``), and lets them out."""

    def __init__(
        self, live: LiveConfig, *, desk: GateDesk, outbox: OutboxStore, delivery: Delivery
    ) -> None:
        self._live = live
        self._desk = desk
        self._outbox = outbox
        self._delivery = delivery
        desk.provide(POST_ANSWER, Action(write=self._write))

    def holds_here(self, scope: RunScope) -> bool:
        """See ``Holds``."""
        if scope.channel_id is None or scope.user_id is None or scope.is_dm:
            return False
        here = self._live.channel(scope.channel_id, scope.parent_channel_id, is_dm=False)
        return here.holds_replies

    async def hold(self, target: Target, scope: RunScope, outcome: TurnOutcome) -> bool:
        """See ``Holds``."""
        answered = replace(scope, message_id=MessageId(ingress.prefixed(target.id)))
        gate = await self.keep(answered, outcome)
        if gate is None:
            return False
        told = texts.HELD.format(chars=len(texts.answer_of(gate)))
        await self._delivery.notice(target, told, key=f"{HELD}-{gate.gate_id}")
        return True

    async def keep(self, scope: RunScope, outcome: TurnOutcome) -> Gate | None:
        """File an answer as a gate, where its channel wants that; None where it may be posted.

        Raises:
            SafeError: it could not be filed; it must not be posted.
        """
        if scope.channel_id is None or scope.user_id is None or scope.is_dm:
            return None
        here = self._live.channel(scope.channel_id, scope.parent_channel_id, is_dm=False)
        text = outcome.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not here.holds_replies or not is_visible(text):
            return None
        origin = GateOrigin.of(
            ImpName(here.imp),
            scope,
            run_id=outcome.run_id or RunId(""),
            turn_id=outcome.turn_id,
        )
        gate = await self._desk.file_answer(
            fresh_gate_id(),
            origin,
            tool=POST_ANSWER,
            arguments={"run": origin.run_id, "text": text, "turn": origin.turn_id},
            effect=EffectKind.RECORDED,
            intent=texts.HELD_INTENT.format(chars=len(text)),
        )
        _log.info("answer.held", gate_id=gate.gate_id, run_id=outcome.run_id, chars=len(text))
        return gate

    def _write(self, db: sqlite3.Connection, gate: Gate) -> None:
        origin = gate.origin
        if origin.channel_id is None:
            raise RuntimeError("an answer that waits is a conversation's")
        parcel = self._delivery.parcel(
            outcome_of(gate),
            channel_id=origin.channel_id,
            guild_id=origin.guild_id,
            reply_to=origin.message_id,
        )
        self._outbox.put(db, parcel)


def outcome_of(gate: Gate) -> TurnOutcome:
    """Give the answer that a gate keeps back."""
    return TurnOutcome(
        kind=OutcomeKind.REPLIED,
        run_id=gate.origin.run_id or None,
        turn_id=TurnId(gate.origin.turn_id),
        text=texts.answer_of(gate),
    )
