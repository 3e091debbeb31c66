"""Carrying out what was approved: by the name of its tool, exactly once, and to a recorded end.

What lies in our own database is written in the transaction that ends the gate. All else is begun
in one transaction and ended in another; between the two a killed host leaves a gate executing,
and ``gates.recover`` says how it goes on.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import structlog

from compiler.errors import SafeError
from sessions.clock import Clock, unix_ms
from sessions.errors import StoreUnavailable
from sessions.faults import fault_facts
from sessions.gates import (
    EffectKind,
    Gate,
    GateErrorCode,
    GateMove,
    GateRefused,
    GateState,
    begin,
    finish,
    moved,
)
from sessions.store.gates import GateStore

RETRY_SECONDS: Final = 1.0
"""Between attempts at writing down how an action ended; until then nobody hears of it."""
_log = structlog.get_logger(__name__)


class ActionErrorCode(StrEnum):
    """How an approved action ended badly; the action may name a cause of its own."""

    NO_ACTION = "no_action"
    TIMEOUT = "action_timeout"
    BROKEN = "action_broken"


class ActionFailed(SafeError):
    """An action did not work; ``detail`` is told where it was asked for."""

    def __init__(self, code: StrEnum, detail: str = "") -> None:
        super().__init__(code, detail or "It did not work.")
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """How the gates of one tool are carried out; one of the two is given."""

    execute: Callable[[Gate], Awaitable[str]] | None = None
    """Does it and gives what its conversation is told."""
    write: Callable[[sqlite3.Connection, Gate], str | None] | None = None
    """Does it inside the transaction that ends the gate (``EffectKind.RECORDED``)."""
    seconds: float = 180.0
    """Longest duration of ``execute``."""


class Execution:
    """Carries out one gate at a time, as often as it is asked; ``actions`` are by tool."""

    def __init__(self, store: GateStore, *, clock: Clock, actions: Mapping[str, Action]) -> None:
        self._store = store
        self._clock = clock
        self.actions = dict(actions)

    async def carry_out(self, gate: Gate) -> GateState:
        """Do it and write down its end.

        Raises:
            SafeError: nothing was done, and the gate is what it was.
        """
        action = self.actions.get(gate.tool)
        if not gate.intact:
            return await self._fail(gate, GateErrorCode.ALTERED)
        if action is not None and action.write is not None and gate.effect is EffectKind.RECORDED:
            return await self._record(gate, action.write)
        if action is None or action.execute is None:
            return await self._fail(gate, ActionErrorCode.NO_ACTION)
        if gate.state is GateState.APPROVED:
            begun = await self._store.move(gate.gate_id, begin)
            if begun is None:  # it was erased meanwhile, and with it what was approved
                return GateState.FAILED
            gate = begun
        failure, detail = "", ""
        try:
            async with asyncio.timeout(action.seconds):
                detail = await action.execute(gate)
        except TimeoutError:
            failure = ActionErrorCode.TIMEOUT
        except ActionFailed as error:
            failure, detail = str(error.code), error.detail
        except SafeError as error:
            failure, detail = str(error.code), error.safe_message
        except Exception as error:  # noqa: BLE001 - an action's fault is its gate's end
            _log.error("gate.action_broken", gate_id=gate.gate_id, **fault_facts(error))
            failure = ActionErrorCode.BROKEN
        return await self._finish(gate, failure=failure, detail=detail)

    async def _record(
        self, gate: Gate, write: Callable[[sqlite3.Connection, Gate], str | None]
    ) -> GateState:
        try:
            ended = await self._store.execute(gate.gate_id, write, now_ms=self._now_ms())
        except (GateRefused, StoreUnavailable):
            raise
        except SafeError as error:
            return await self._fail(gate, str(error.code))
        except Exception as error:  # noqa: BLE001 - an action's fault is its gate's end
            _log.error("gate.action_broken", gate_id=gate.gate_id, **fault_facts(error))
            return await self._fail(gate, ActionErrorCode.BROKEN)
        return GateState.FAILED if ended is None else ended.state

    async def _fail(self, gate: Gate, failure: str) -> GateState:
        """End what could not even be begun."""

        def step(one: Gate) -> Gate:
            begun = moved(one, GateMove.BEGIN) if one.state is GateState.APPROVED else one
            return finish(begun, now_ms=self._now_ms(), failure=failure)

        ended = await self._store.move(gate.gate_id, step)
        return GateState.FAILED if ended is None else ended.state

    async def _finish(self, gate: Gate, *, failure: str, detail: str) -> GateState:
        """Write down what was done, again and again until it stands: it must not be done twice."""
        while True:
            try:
                ended = await self._store.move(
                    gate.gate_id,
                    lambda one: finish(one, now_ms=self._now_ms(), failure=failure, detail=detail),
                )
            except StoreUnavailable as error:
                _log.error("gate.end_unrecorded", gate_id=gate.gate_id, **error.facts)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            return GateState.FAILED if ended is None else ended.state

    def _now_ms(self) -> int:
        return unix_ms(self._clock)
