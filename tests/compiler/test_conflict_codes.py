"""TR's conflict codes: all of them, and each with a rule that gives it."""

from __future__ import annotations

import re
from pathlib import Path

from compiler.conflict_codes import ConflictCode

ROOT = Path(__file__).resolve().parents[2]
OF_TR = """
PREFERENCE_STALE_PROFILE CURRENT_USER_CORRECTION AUTHORITATIVE_DATE_DIVERGENCE
SUMMARY_SOURCE_DIVERGENCE DUPLICATE_EQUIVALENT SUPERSEDED_PLAN UNCERTAIN_RETRIEVAL
UNTRUSTED_EMBEDDED_INSTRUCTION TENANT_BINDING_MISMATCH TOMBSTONED_RECORD_SELECTED
"""


def test_they_are_those_of_tr() -> None:
    """TR "Contradiction policy": names and values are the same stable words."""
    assert sorted(ConflictCode) == sorted(OF_TR.split())
    assert all(code.name == code.value for code in ConflictCode)


def test_none_is_only_a_name() -> None:
    """Each is given somewhere in the code that decides."""
    given = {
        name
        for package in ("compiler", "sessions")
        for path in (ROOT / package).rglob("*.py")
        for name in re.findall(r"ConflictCode\.([A-Z_]+)", path.read_text("utf-8"))
    }
    assert given == set(ConflictCode)
