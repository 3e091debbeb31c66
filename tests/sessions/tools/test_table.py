"""The table of tools: fixed bytes, since they are part of every prompt's prefix."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from inline_snapshot import snapshot

from compiler.templates import RUNTIME_POLICY
from sessions.tools.table import MEMORY_TOOLS, fingerprints, manifest


def test_order_and_schemas_are_fixed() -> None:
    """A change here is a new route key and ends warm sessions; it must be meant."""
    assert fingerprints(MEMORY_TOOLS) == snapshot(
        (
            ("remember", "7fe8769b39dbffa0a58b8f340335eddced679979ebf4b0e3b573f3b26d22b7a4"),
            ("recall", "81f9a97de285650223568c05ca0fd8469e3439d874c7e2fcb7c2eabbf6771788"),
            ("forget", "3732c1a0a5409acf6a34f3b7e260123bf421dd47571d2c60efd63fd8aac43079"),
            ("correct", "f1d0df32ba59d5b2129793de943f94ff6486e2869a50d0e02e7e760a058ee789"),
        )
    )


def test_a_fingerprint_covers_all_that_the_model_sees() -> None:
    (first, *_) = MEMORY_TOOLS
    ((_, before),) = fingerprints([first])
    changed = (
        replace(first, description="Keep."),
        replace(first, parameters={"type": "object"}),
        replace(first, name="keep"),
    )
    for each in changed:
        ((_, after),) = fingerprints([each])
        assert after != before


def test_the_policy_names_the_tools_and_no_others() -> None:
    """What the runtime policy promises is what is offered (CC "Runtime policy")."""
    for tool in MEMORY_TOOLS:
        assert re.search(rf"\b{tool.name}\b", RUNTIME_POLICY)
    for absent in ("bash", "read", "edit", "write"):
        assert not re.search(rf"\b{absent}\b tool", RUNTIME_POLICY)


def test_no_schema_lets_the_model_choose_a_scope() -> None:
    """Scope, person, channel and imp are the host's record of the turn, never an argument."""
    for tool in MEMORY_TOOLS:
        names = set(tool.parameters["properties"])
        assert not names & {"scope", "user", "channel", "imp", "guild", "explicit", "pin"}
        assert tool.parameters["additionalProperties"] is False


def test_the_manifest_is_one_line_of_json() -> None:
    text = manifest(MEMORY_TOOLS, timeout_ms=5_000)
    assert "\n" not in text
    read = json.loads(text)
    assert read["timeoutMs"] == 5_000
    assert [each["name"] for each in read["tools"]] == ["remember", "recall", "forget", "correct"]
