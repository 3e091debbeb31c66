"""What is told of the tool calls of a turn: the host's word, sizes and hashes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sessions.grants import Verdict
from sessions.review.tool_calls import ToolView, UnlistedView
from sessions.tools.table import TOOL_NAMES

_HASH_CHARS: Final = 12


def tool_lines(calls: Iterable[ToolView]) -> Iterator[str]:
    """Tell each call in a line."""
    for call in calls:
        # Whatever the engine calls a tool stands in the trace; only names of ours are shown.
        name = call.tool if call.tool in TOOL_NAMES else "(unknown)"
        rule = "no rule" if call.rule is None else f"rule {call.rule}"
        yield f"  tool {name}  {call.verdict} ({rule})  {_became(call)}"


def unlisted_lines(turns: Iterable[UnlistedView]) -> Iterator[str]:
    """Tell how many more calls there were, which nobody looked at."""
    for turn in turns:
        yield f"  tool calls refused unjudged or cut off: {turn.calls:,}"


def _became(call: ToolView) -> str:
    if call.verdict == Verdict.GATE and call.gate_id is not None:
        return f"waits as {call.gate_id}"
    if call.verdict != Verdict.ALLOW:
        return "not done"
    if call.failed is None:
        return "cut off"
    sha256 = (call.result_sha256 or "")[:_HASH_CHARS]
    size = f"{call.result_chars:,} characters  {sha256}"
    return f"failed, {size}" if call.failed else size
