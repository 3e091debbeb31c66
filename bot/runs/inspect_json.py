"""The same views for programs: JSON whose keys are the fields' names, and stay.

Pure, and without content but for ``Prompts``, which are content.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sessions.review.differences import Difference
from sessions.review.prompts import Prompts
from sessions.review.views import RunView
from sessions.store.runs import RunRow
from sessions.traces.proof import VerifyReport


def list_document(rows: Sequence[RunRow]) -> dict[str, Any]:
    """Give a list of runs."""
    return {"runs": [asdict(row) for row in rows]}


def run_document(view: RunView, report: VerifyReport) -> dict[str, Any]:
    """Give a run with its turns and the verdict on its trace."""
    return {
        **asdict(view),
        "usage": asdict(view.usage),
        "verified": report.ok,
        "trace": verify_document(report),
    }


def prompts_document(prompts: Sequence[Prompts]) -> dict[str, Any]:
    """Give exact prompts; every one of them was checked against its hash."""
    return {"verified": True, "prompts": [asdict(item) for item in prompts]}


def diff_document(difference: Difference) -> dict[str, Any]:
    """Give what changed between two turns."""
    names = ("run_id", "turn")
    before = difference.before
    return {
        "before": None if before is None else dict(zip(names, before, strict=True)),
        "after": dict(zip(names, difference.after, strict=True)),
        "stable_system": difference.stable_system,
        "blocks": [asdict(block) for block in difference.blocks],
        "plan": None if difference.plan is None else asdict(difference.plan),
    }


def verify_document(report: VerifyReport) -> dict[str, Any]:
    """Give the verdict on a trace."""
    return {**asdict(report), "ok": report.ok}


def dump(document: dict[str, Any]) -> str:
    """Write a document; other scripts stay readable."""
    return json.dumps(document, indent=2, ensure_ascii=False)
