"""A tool call as the engine hands it on, and what the host says to it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from compiler.request import ImpName, RunId, RunScope, RunSurface, TurnId
from sessions.turn_marks import TurnMarks

BAD_ARGUMENTS: Final = "The arguments do not fit this tool."
FAILED: Final = "That did not work. Nothing was changed."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of the model's.

    Where the engine carries it out itself (``builtin``), the answer says only whether it may.
    """

    name: str
    arguments: str
    """JSON, as the model wrote it."""
    builtin: bool = False
    call_id: str = ""
    """The model's own name for the call; a label, unique in its turn at best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What the model reads; ``ok`` is false where nothing was done, or may not be."""

    ok: bool
    text: str
    ends_turn: bool = False
    """Whether the turn is over with it, without another word of the model's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTurn:
    """The turn that a call belongs to, as the host knows it: the one source of its scope."""

    imp: ImpName
    scope: RunScope
    run_id: RunId
    turn_id: TurnId
    offered: frozenset[str]
    """The tools that the model was shown. No other is carried out, whatever it asks for."""
    surface: RunSurface = RunSurface.DISCORD_SESSION
    workspace_stays: bool = True
    """Whether a call that waits would find the workspace that it was meant for."""
    marks: TurnMarks = field(default_factory=TurnMarks, compare=False)
    """What tools leave for the turn's end."""


def encode_answer(call: ToolCall, answer: ToolAnswer) -> str:
    """Write an answer for the engine's extension."""
    told: dict[str, object] = {"ok": answer.ok, "text": answer.text}
    if call.builtin:
        told = {"verdict": "allow" if answer.ok else "block", "text": answer.text}
    elif answer.ends_turn:
        told["end"] = True
    return json.dumps(told, separators=(",", ":"))
