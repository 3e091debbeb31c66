"""Whether a trace is as it was written, told to people: at most 60 wide, without content. Pure."""

from __future__ import annotations

from typing import Final

from bot.runs.forms import short
from sessions.traces.proof import Flaw, VerifyReport

FLAWS: Final = {
    Flaw.UNREADABLE_LINE: "the line cannot be read",
    Flaw.BROKEN_CHAIN: "does not follow the line before it",
    Flaw.WRONG_NUMBER: "has another number",
    Flaw.WRONG_RUN: "is of another run",
    Flaw.TORN_END: "the last line is torn; it was never delivered",
    Flaw.CUT_OFF: "lines are missing at the end, or were replaced",
    Flaw.BLOCK_HASH: "a block does not match its hash",
    Flaw.BLOCK_SIZE: "a block does not have its size",
    Flaw.BLOCK_ORDER: "blocks are out of order",
    Flaw.SYSTEM_HASH: "the system prompt does not match its hash",
    Flaw.INPUT_HASH: "the input does not match its hash",
    Flaw.BOUNDARY: "a cache boundary does not match",
    Flaw.BUDGET: "the budget does not add up",
    Flaw.UNKNOWN_START: "extends a start that is not there",
    Flaw.CACHE_CHANGED: "has another cache plan than its start",
    Flaw.PLAN: "the plan is not that of its blocks and omissions",
    Flaw.RECEIPT: "the receipt is not that of its plan",
    Flaw.WIRE_TURN: "a model call is of no turn that is here",
    Flaw.WIRE_TEXT: "a model call names another text than its turn",
    Flaw.TOOL_ARGUMENTS: "the arguments of a tool call do not match their hash",
    Flaw.TOOL_CALL: "an answer is of no tool call that is here",
    Flaw.PICTURE: "a picture that was shown is missing or altered",
    Flaw.SYSTEM_FILE: "system.md is not the system prompt of the trace",
}


def verdict_line(report: VerifyReport) -> str:
    """Tell in a few words whether a trace is as it was written."""
    if report.ok:
        return f"verified, {report.events} lines, head {short(_head_hash(report))}"
    problems = "one problem" if len(report.problems) == 1 else f"{len(report.problems)} problems"
    return f"DOES NOT VERIFY, {problems}"


def verify_text(report: VerifyReport) -> str:
    """Tell the verdict, and each flaw with its line."""
    lines = [
        f"Run {report.run_id}",
        f"Lines {report.events}, of them compilations {report.compilations}",
        f"Head {_head_hash(report) or '-'}",
    ]
    if report.pruned_at:
        lines[1] = f"Lines {report.events}, pruned on {report.pruned_at[:10]}"
        if report.ok:
            return "\n".join([*lines, "✓ Pruned; its chain was whole, and ends at that head."])
    for problem in report.problems:
        place = f"line {problem.line}" if problem.line else "file"
        detail = f" ({problem.detail})" if problem.detail else ""
        lines.append(f"✗ {place}: {FLAWS[problem.flaw]}{detail}")
    lines.append(
        "✓ Everything is as it was written." if report.ok else "The trace does not verify."
    )
    return "\n".join(lines)


def _head_hash(report: VerifyReport) -> str | None:
    return report.head.sha256 if report.head else None
