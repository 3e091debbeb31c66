"""What is left of a run whose trace was pruned: where its chain ended, from its row (pure)."""

from __future__ import annotations

from sessions.store.retention import MISSING
from sessions.store.runs import RunRow
from sessions.traces.events import TraceMark
from sessions.traces.proof import Flaw, TraceProblem, VerifyReport


def pruned_report(row: RunRow | None) -> VerifyReport | None:
    """Tell what is left of a pruned trace; None while the trace is there."""
    if row is None or row.pruned_at is None:
        return None
    missing = TraceProblem(line=0, flaw=Flaw.CUT_OFF, detail="it was gone before it was pruned")
    return VerifyReport(
        run_id=row.run_id,
        events=row.trace_events,
        compilations=0,
        head=head_of(row),
        problems=(missing,) if row.pruned_chain == MISSING else (),
        pruned_at=row.pruned_at,
    )


def pruned_sentence(report: VerifyReport) -> str:
    """Say why a run cannot be opened, and what can be asked of it."""
    return (
        f"The trace of this run was pruned on {report.pruned_at[:10]} and is not here any more "
        f"(its chain ended at line {report.events}). In the shell, runs verify {report.run_id} "
        "tells what is left."
    )


def head_of(row: RunRow | None) -> TraceMark | None:
    """Give the last line of a run's trace, as its row knows it."""
    if row is None or row.trace_head_sha256 is None or row.trace_events == 0:
        return None
    return TraceMark(seq=row.trace_events - 1, sha256=row.trace_head_sha256)
