"""How findings are told."""

from __future__ import annotations

import json

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from bot.doctor.results import (
    Check,
    Report,
    Verdict,
    fail,
    ok,
    render_json,
    render_table,
    render_text,
    warn,
)

FINDINGS = (
    ok("Python", "3.11.7"),
    warn("Disk", "0.3 GB free", "Make room soon."),
    fail("Settings", "2 problems\n• one [bold]\n• two", "Mend them."),
)


def test_a_table_for_the_terminal() -> None:
    console = Console(width=60, record=True, highlight=False)
    console.print(render_table(Report(checks=FINDINGS)))
    told = "\n".join(line.rstrip() for line in console.export_text().splitlines())
    assert told == snapshot("""\
✓  Python    3.11.7
!  Disk      0.3 GB free
             → Make room soon.
✗  Settings  2 problems
             • one [bold]
             • two
             → Mend them.

One thing needs mending.\
""")


def test_lines_for_discord() -> None:
    assert render_text(Report(checks=FINDINGS)) == snapshot("""\
✓ Python: 3.11.7
! Disk: 0.3 GB free
   → Make room soon.
✗ Settings: 2 problems
• one [bold]
• two
   → Mend them.

One thing needs mending.\
""")


def test_json_for_programs() -> None:
    document = json.loads(render_json(Report(checks=FINDINGS)))
    assert document["healthy"] is False
    assert document["checks"][1] == {
        "name": "Disk",
        "verdict": "warn",
        "summary": "0.3 GB free",
        "advice": "Make room soon.",
    }


@pytest.mark.parametrize(
    ("checks", "code", "conclusion"),
    [
        (FINDINGS[:1], 0, "All well."),
        (FINDINGS[:2], 0, "All well, with one remark."),
        (FINDINGS, 1, "One thing needs mending."),
        ((*FINDINGS, FINDINGS[2]), 1, "2 things need mending."),
        ((FINDINGS[1], FINDINGS[1]), 0, "All well, with 2 remarks."),
    ],
)
def test_exit_code_and_conclusion(checks: tuple[Check, ...], code: int, conclusion: str) -> None:
    report = Report(checks=checks)
    assert (report.exit_code, report.conclusion) == (code, conclusion)


def test_every_failure_has_its_remedy_and_a_success_none() -> None:
    """Issue "Set up": every check with its remedy."""
    for verdict in (Verdict.WARN, Verdict.FAIL):
        with pytest.raises(ValueError, match="Disk"):
            Check(name="Disk", verdict=verdict, summary="full")
    with pytest.raises(ValueError, match="Disk"):
        Check(name="Disk", verdict=Verdict.OK, summary="fine", advice="Make room.")
