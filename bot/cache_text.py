"""How the cache is told to people and to programs: figures, hashes' places and codes; pure.

At most 60 columns, as in ``runs.forms``.
"""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Any, Final

from sessions.review.cache_report import (
    BreakCause,
    CacheBreak,
    CacheFigures,
    CacheReport,
    SessionCache,
)

WIDTH: Final = 60
_NOTHING: Final = "No model call was observed yet. Write to the imp, then look again."
_LEGEND: Final = (
    "HIT: cached tokens in the provider's figures.\n"
    "EXPECTED: what repeats the call before, byte for byte."
)
_REMARKS: Final = {
    BreakCause.REWRITTEN: "the engine sent other bytes",
    BreakCause.COMPACTION: "the engine shortened the conversation",
    BreakCause.RESTART: "a new process; the provider had it no longer",
    BreakCause.PROVIDER: "same bytes; the provider had it no longer",
}


def cache_text(report: CacheReport) -> str:
    """Tell the report: imps, sessions, breaks."""
    if not any(session.figures.calls or not session.observed for session in report.sessions):
        return _NOTHING
    parts = [_imps(report), _sessions(report), _LEGEND]
    if report.breaks:
        parts.append("\n".join(["BREAKS", *map(_break, report.breaks)]))
    else:
        parts.append("No breaks: every call went on where the one before it ended.")
    return "\n\n".join(parts)


def cache_document(report: CacheReport) -> dict[str, Any]:
    """Give the report to programs; shares are between 0 and 1, null without a call."""
    return {
        "imps": [{**asdict(each), **_shares(each.figures)} for each in report.imps],
        "sessions": [{**asdict(each), **_shares(each.figures)} for each in report.sessions],
    }


def _shares(figures: CacheFigures) -> dict[str, float | None]:
    return {"hit_share": figures.hit_share, "expected_share": figures.expected_share}


def _imps(report: CacheReport) -> str:
    lines = [f"{'IMP':<24} {'CALLS':>5} {'TOKENS IN':>10} {'HIT':>6} {'EXPECTED':>9}"]
    lines += [_row(each.imp, each.figures) for each in report.imps]
    return "\n".join(lines)


def _sessions(report: CacheReport) -> str:
    lines = [f"{'SESSION':<24} {'CALLS':>5} {'TOKENS IN':>10} {'HIT':>6} {'EXPECTED':>9}"]
    for each in report.sessions:
        lines.append(_row(each.run_id, each.figures))
        lines += [f"  {remark}" for remark in _session_remarks(each)]
    return "\n".join(lines)


def _session_remarks(session: SessionCache) -> list[str]:
    remarks = []
    if session.turns:
        shares = " ".join(_of_turn(turn.figures) for turn in session.turns)
        told = f"by turn, hit/expected in %: {shares}"
        remarks += textwrap.wrap(told, WIDTH - 2, subsequent_indent="  ")
    if not session.observed:
        remarks.append("not observed: the engine asks this provider by itself")
    if session.unmeasured:
        calls = "1 call" if session.unmeasured == 1 else f"{session.unmeasured} calls"
        remarks.append(f"{calls} without figures")
    return remarks


def _row(name: str, figures: CacheFigures) -> str:
    hit, expected = _percent(figures.hit_share), _percent(figures.expected_share)
    return f"{name:<24} {figures.calls:>5} {figures.input_tokens:>10,} {hit:>6} {expected:>9}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _of_turn(figures: CacheFigures) -> str:
    hit, expected = figures.hit_share or 0, figures.expected_share or 0
    return f"{100 * hit:.0f}/{100 * expected:.0f}"


def _break(found: CacheBreak) -> str:
    """Tell one break in two or three lines."""
    lines = [f"  {found.cause.value}, {found.at[:16].replace('T', ' ')}", f"    {found.run_id}"]
    if found.block:
        lines.append(f"    block {found.block}, from byte {found.at_byte:,}")
    elif found.at_byte is not None:
        lines.append(f"    request, from byte {found.at_byte:,}")
    if found.cause in _REMARKS:
        lines.append(f"    {_REMARKS[found.cause]}")
    if found.detail:
        lines.append(f"    the session before ended: {found.detail}")
    if found.lost_tokens:
        lines.append(f"    {found.lost_tokens:,} tokens read anew")
    return "\n".join(lines)
