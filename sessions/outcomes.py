"""Outcomes of messages that pi never settled: refused, failed before it, or cut off."""

from __future__ import annotations

from dataclasses import replace

import structlog

from compiler.errors import CurrentTurnOverflow, SafeError
from compiler.request import RunId
from sessions.allowance import Allowance, Spender
from sessions.errors import SessionErrorCode, TurnRejected
from sessions.inbound import InboundMessage, OutcomeKind, Overflow, TurnOutcome
from sessions.pi.errors import PiExited
from sessions.turn import HaltReason, TurnMachine

_log = structlog.get_logger(__name__)
INTERNAL_SENTENCE = "Something went wrong on my side. Please try again."


def rejection(inbound: InboundMessage, code: SessionErrorCode) -> TurnOutcome:
    """Say that a message got no turn, and why."""
    refused = TurnRejected(code)
    return TurnOutcome(
        kind=OutcomeKind.REJECTED,
        run_id=None,
        turn_id=inbound.turn_id,
        safe_message=refused.safe_message,
        error_code=str(refused.code),
    )


def over_limit(allowance: Allowance | None, inbound: InboundMessage) -> TurnOutcome | None:
    """Refuse a message whose model call would be refused, before anything starts for it."""
    if allowance is None:
        return None
    refusal = allowance.refusal(Spender.of(inbound.imp, inbound.scope))
    if refusal is None:
        return None
    _log.info("turn.over_limit", code=refusal.code)
    return TurnOutcome(
        kind=OutcomeKind.REJECTED,
        run_id=None,
        turn_id=inbound.turn_id,
        safe_message=refusal.safe_message,
        error_code=refusal.code,
    )


def failure(inbound: InboundMessage, run_id: RunId | None, error: Exception) -> TurnOutcome:
    """Say that a turn failed; what is not a ``SafeError`` shows nothing of itself."""
    code, sentence = str(SessionErrorCode.INTERNAL), INTERNAL_SENTENCE
    kind, overflow = OutcomeKind.FAILED, None
    if isinstance(error, SafeError):
        code, sentence = str(error.code), error.safe_message
    if isinstance(error, CurrentTurnOverflow):
        kind = OutcomeKind.OVERFLOW
        overflow = Overflow(unit=error.unit, size=error.size, limit=error.limit)
    return TurnOutcome(
        kind=kind,
        run_id=run_id,
        turn_id=inbound.turn_id,
        safe_message=sentence,
        error_code=code,
        overflow=overflow,
    )


def cut_off(inbound: InboundMessage, run_id: RunId | None, reason: HaltReason) -> TurnOutcome:
    """Say that a turn was ended from outside before pi had it.

    The turn machine knows the words: it is told of a halt, and then that nothing will come.
    """
    machine = TurnMachine(run_id or RunId(""), inbound.turn_id)
    machine.halt(reason)
    machine.gone(PiExited(None))
    if machine.outcome is None:
        raise RuntimeError("a halted turn has an outcome")
    return replace(machine.outcome, run_id=run_id)
