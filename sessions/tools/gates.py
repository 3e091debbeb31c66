"""``check_gates``: what waits for a person in this very conversation, and what became of it lately.

Which conversation that is, is the turn's own scope; a direct message's gates are never told in a
group, nor one group's in another.
"""

from __future__ import annotations

import json
from typing import Final

from compiler.render import quote
from sessions.clock import DAY_MS, Clock, unix_ms
from sessions.gates import Gate
from sessions.store.gates import GateStore
from sessions.tools.call import ToolAnswer, ToolCall, ToolTurn

BAD_ARGUMENTS: Final = "This tool takes no arguments."
NONE: Final = "Nothing waits for a person here, and nothing was decided in the last day."
_MINUTE_MS: Final = 60 * 1000


class GatesTool:
    """Answers ``check_gates``."""

    def __init__(self, store: GateStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def answer(self, turn: ToolTurn, call: ToolCall) -> ToolAnswer:
        """Tell id, intent, state and age of each."""
        if json.loads(call.arguments) != {}:
            return ToolAnswer(ok=False, text=BAD_ARGUMENTS)
        if turn.scope.channel_id is None:
            return ToolAnswer(ok=True, text=NONE)
        now_ms = unix_ms(self._clock)
        gates = await self._store.of_conversation(turn.scope.channel_id, since_ms=now_ms - DAY_MS)
        return ToolAnswer(ok=True, text="\n".join(_line(each, now_ms) for each in gates) or NONE)


def _line(gate: Gate, now_ms: int) -> str:
    return (
        f'{{"gate":{quote(gate.gate_id)},"intent":{quote(gate.intent)},'
        f'"state":{quote(gate.state.value)},'
        f'"minutes_old":{max(0, now_ms - gate.filed_ms) // _MINUTE_MS}}}'
    )
