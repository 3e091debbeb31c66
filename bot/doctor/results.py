"""What doctor found, as values, and the forms in which it is told. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    """It works, or is not needed, but should be known."""
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding. ``advice`` says what to do; it is empty exactly when nothing is to be done."""

    name: str
    verdict: Verdict
    summary: str
    advice: str = ""

    def __post_init__(self) -> None:
        """Let nobody be told of a failure without its remedy."""
        if (self.verdict is Verdict.OK) is bool(self.advice):
            raise ValueError(self.name)


def ok(name: str, summary: str) -> Check:
    """A check that passed."""
    return Check(name=name, verdict=Verdict.OK, summary=summary)


def warn(name: str, summary: str, advice: str) -> Check:
    """A check that passed with a remark."""
    return Check(name=name, verdict=Verdict.WARN, summary=summary, advice=advice)


def fail(name: str, summary: str, advice: str) -> Check:
    """A check that failed."""
    return Check(name=name, verdict=Verdict.FAIL, summary=summary, advice=advice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings, in the order in which a person mends them."""

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing failed."""
        return all(check.verdict is not Verdict.FAIL for check in self.checks)

    @property
    def exit_code(self) -> int:
        """0 when healthy, else 1."""
        return 0 if self.healthy else 1

    @property
    def conclusion(self) -> str:
        """One closing sentence."""
        counts = {
            verdict: sum(check.verdict is verdict for check in self.checks) for verdict in Verdict
        }
        if counts[Verdict.FAIL]:
            things = _count(counts[Verdict.FAIL], "thing needs", "things need")
            return f"{things.capitalize()} mending."
        if counts[Verdict.WARN]:
            return f"All well, with {_count(counts[Verdict.WARN], 'remark', 'remarks')}."
        return "All well."


_MARKS = {
    Verdict.OK: ("✓", "green"),
    Verdict.WARN: ("!", "yellow"),
    Verdict.FAIL: ("✗", "bold red"),
}


def render_table(report: Report) -> RenderableType:
    """Give the report as a table for a terminal."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(width=1)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for check in report.checks:
        mark, style = _MARKS[check.verdict]
        # Text objects: a summary may hold brackets, which rich would take for markup.
        finding = Text(check.summary)
        if check.advice:
            finding.append(f"\n→ {check.advice}", style="italic")
        table.add_row(Text(mark, style=style), Text(check.name), finding)
    return Group(table, Text(""), Text(report.conclusion, style="bold"))


def render_text(report: Report) -> str:
    """Give the report as plain lines that fit a phone, for Discord."""
    return "\n".join([*_lines(report.checks), "", report.conclusion])


def _lines(checks: Iterable[Check]) -> Iterable[str]:
    for check in checks:
        mark, _ = _MARKS[check.verdict]
        yield f"{mark} {check.name}: {check.summary}"
        if check.advice:
            yield f"   → {check.advice}"


def render_json(report: Report) -> str:
    """Give the report for programs; the keys are stable."""
    document = {
        "healthy": report.healthy,
        "exit_code": report.exit_code,
        "conclusion": report.conclusion,
        "checks": [{**asdict(check), "verdict": check.verdict.value} for check in report.checks],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _count(number: int, one: str, many: str) -> str:
    return f"one {one}" if number == 1 else f"{number} {many}"
