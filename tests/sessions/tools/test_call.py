"""The form in which the engine's extension is answered."""

from __future__ import annotations

import json

import pytest

from sessions.tools.call import ToolAnswer, ToolCall, encode_answer

OWN = ToolCall(name="recall", arguments="{}")
BUILTIN = ToolCall(name="bash", arguments="{}", builtin=True)


@pytest.mark.parametrize(
    ("call", "answer", "told"),
    [
        (OWN, ToolAnswer(ok=True, text="a"), {"ok": True, "text": "a"}),
        (OWN, ToolAnswer(ok=False, text="a"), {"ok": False, "text": "a"}),
        (
            OWN,
            ToolAnswer(ok=True, text="a", ends_turn=True),
            {"ok": True, "text": "a", "end": True},
        ),
        (BUILTIN, ToolAnswer(ok=True, text=""), {"verdict": "allow", "text": ""}),
        (BUILTIN, ToolAnswer(ok=False, text="no"), {"verdict": "block", "text": "no"}),
    ],
)
def test_an_answer_fits_its_call(
    call: ToolCall, answer: ToolAnswer, told: dict[str, object]
) -> None:
    """An answer to one kind of call never reads as the consent to the other."""
    assert json.loads(encode_answer(call, answer)) == told
