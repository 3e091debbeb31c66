"""What an owner reads of tool calls."""

from __future__ import annotations

from dataclasses import replace

from inline_snapshot import snapshot

from bot.runs.tool_text import tool_lines, unlisted_lines
from sessions.review.tool_calls import ToolView, UnlistedView

CALL = ToolView(
    turn_id="turn",
    tool="bash",
    verdict="allow",
    rule=2,
    gate_id=None,
    arguments_chars=20,
    arguments_sha256="a" * 64,
    failed=False,
    result_chars=1234,
    result_sha256="b" * 64,
)


def test_each_call_is_a_line_without_its_words() -> None:
    """``/runs show`` in short; a name that is none of ours is not repeated."""
    calls = (
        CALL,
        replace(CALL, tool="read", failed=True, result_chars=7),
        replace(CALL, failed=None, result_sha256=None),
        replace(CALL, tool="write", verdict="gate", gate_id="g-7k2f9qxe"),
        replace(CALL, tool="ls", verdict="deny", rule=None),
        replace(CALL, tool="CANARY", verdict="deny", rule=None),
    )
    assert list(tool_lines(calls)) == snapshot(
        [
            "  tool bash  allow (rule 2)  1,234 characters  bbbbbbbbbbbb",
            "  tool read  allow (rule 2)  failed, 7 characters  bbbbbbbbbbbb",
            "  tool bash  allow (rule 2)  cut off",
            "  tool write  gate (rule 2)  waits as g-7k2f9qxe",
            "  tool ls  deny (no rule)  not done",
            "  tool (unknown)  deny (no rule)  not done",
        ]
    )


def test_calls_that_nobody_looked_at_are_told_by_their_number() -> None:
    """A flood of calls is one line, of any size."""
    flood = (UnlistedView(turn_id="turn", calls=12_000),)
    assert list(unlisted_lines(flood)) == snapshot(
        ["  tool calls refused unjudged or cut off: 12,000"]
    )
