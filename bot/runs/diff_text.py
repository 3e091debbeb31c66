"""What differs between two turns or two plans, told to people: at most 60 wide. Pure.

Without content: names of blocks, ids of records, sizes and reasons only.
"""

from __future__ import annotations

from typing import Final

from bot.runs.forms import WIDTH, fit, grouped, short
from sessions.review.differences import BlockDifference, Change, Difference
from sessions.review.plan_difference import Moved, PlanDifference

_PLAN_LINES: Final = 40
"""Of a plan's difference; /runs has a message's room, and a file tells no more than --json."""


def diff_text(difference: Difference) -> str:
    """Tell what changed from one turn to the next."""
    run, number = difference.after
    lines = [f"Run {run}", f"Turn {number} {_against(difference)}", ""]
    lines += [_diff_line(block) for block in difference.blocks]
    lines += ["", *plan_lines(difference.plan)] if difference.plan else []
    lines.append("")
    if difference.before is None:
        lines.append("Nothing to compare with: it is the first turn here.")
    elif difference.stable_system:
        lines.append("System prompt: the same, byte for byte.")
    else:
        lines.append("System prompt: changed, so the cache begins anew.")
    return "\n".join(lines)


def plan_lines(difference: PlanDifference) -> list[str]:
    """Tell which records came in and went out, each with its reason."""
    if difference.is_empty:
        return ["Plan: the same records."]
    lines = [
        *(_moved("+", each) for each in difference.came_in),
        *(_moved("-", each) for each in difference.went_out),
        *(_moved("~", each) for each in difference.changed),
    ]
    more = len(lines) - _PLAN_LINES
    told = "1 record differs" if len(lines) == 1 else f"{len(lines)} records differ"
    lines = [f"Plan: {told}", *lines[:_PLAN_LINES]]
    lines += [f"  and {more} more"] if more > 0 else []
    moved = (each for each in difference.left_out if each.before != each.after)
    lines += (
        fit(f"    {each.block:<9} {len(each.record_ids)} out: {each.before} → {each.after}", WIDTH)
        for each in moved
    )
    for name, before, after in difference.identities:
        told = f"{name.replace('_', ' ')}: {_value(before)} → {_value(after)}"
        lines.append(fit(f"  {told}", WIDTH))
    return lines


def _moved(sign: str, moved: Moved) -> str:
    head = f"  {sign} {moved.block:<9} {moved.record_id}"
    return f"{fit(head, WIDTH - len(moved.reason) - 2)}  {moved.reason}"


def _value(value: str) -> str:
    return short(value) if len(value) == 64 else value or "none"  # noqa: PLR2004  (a hash)


def _against(difference: Difference) -> str:
    if difference.before is None:
        return "against nothing"
    run, number = difference.before
    return f"against turn {number}" + ("" if run == difference.after[0] else f" of {run}")


_SIGNS: Final = {Change.SAME: "=", Change.ADDED: "+", Change.REMOVED: "-", Change.CHANGED: "~"}


def _diff_line(block: BlockDifference) -> str:
    head = f"{_SIGNS[block.change]} {block.kind:<16}"
    match block.change:
        case Change.SAME:
            return f"{head}{grouped(block.chars_after or 0):>7}  same"
        case Change.ADDED:
            return f"{head}{grouped(block.chars_after or 0):>7}  new"
        case Change.REMOVED:
            return f"{head}{grouped(block.chars_before or 0):>7}  gone"
        case Change.CHANGED:
            before, after = block.chars_before or 0, block.chars_after or 0
            sizes = f"{grouped(before):>7} → {grouped(after)}"
            return f"{head}{sizes}, from character {block.first_difference}"
