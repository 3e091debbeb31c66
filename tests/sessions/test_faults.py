"""A fault in the log, without the values at hand."""

from __future__ import annotations

import pytest

from sessions.faults import fault_facts


def test_a_fault_is_named_by_type_and_place() -> None:
    """Privacy: neither the message of the error nor a local value is in it."""
    with pytest.raises(ValueError, match="CANARY") as caught:
        int("CANARY")
    facts = fault_facts(caught.value)
    assert facts["error"] == "ValueError"
    assert facts["at"].startswith("test_faults.py:")
    assert "CANARY" not in repr(facts)
