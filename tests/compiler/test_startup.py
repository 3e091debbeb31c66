"""What a session starts from, as pointers in one order (TR tables 8)."""

from __future__ import annotations

import json
from dataclasses import replace

from compiler.compile import CompiledContext
from compiler.request import NoteConflict, SourceSnapshot
from compiler.startup import NAMES, StartupPackage, startup_hash, startup_package
from support.compiler_factories import PURPOSE, compiled_turn, snapshot
from support.compiler_golden import BRIEFING, HISTORY, MEMORY, RULES

FULL = snapshot(
    purpose=PURPOSE,
    memory=replace(MEMORY, conflicts=(NoteConflict(code="X", note_ids=("n1", "n2")),)),
    briefing=BRIEFING,
    history=HISTORY,
    house_rules=RULES,
)


def package(sources: SourceSnapshot = FULL) -> tuple[StartupPackage, CompiledContext]:
    compiled = compiled_turn(sources=sources)
    return startup_package(compiled, sources, ("memory:on", "history:on")), compiled


def test_the_sources_stand_in_their_one_order() -> None:
    made, compiled = package()
    assert tuple(name for name, _ in made.sources) == NAMES
    values = dict(made.sources)
    hashes = dict(compiled.system.block_hashes)
    assert values["identity"] == (hashes["identity"],)  # type: ignore[index]  # a member by value
    assert values["consent"] == ("history:on", "memory:on")
    assert values["continuation"] == ("g1",)
    assert values["open-gates"] == ("g2", "g3")
    assert values["confirmed-preferences"] == ("n1",)
    assert values["memory-pointers"] == ("n1", "n2")
    assert values["conflicts"] == ("X/n1/n2",)
    assert values["history"] == ("discord:8001", "discord:8002", "2")
    assert values["index"] == ()


def test_the_hash_covers_every_source() -> None:
    made, _ = package()
    assert made.sha256 == startup_hash(made.sources)
    for place, (name, values) in enumerate(made.sources):
        changed = (
            *made.sources[:place],
            (name, (*values, "one more")),
            *made.sources[place + 1 :],
        )
        assert startup_hash(changed) != made.sha256


def test_a_package_holds_pointers_and_no_record() -> None:
    """TR: it should not contain every durable record."""
    told = json.dumps(package()[0].sources)
    for text in ("Supper is on Friday.", "Who cooks?", "Orchard only", "Post the menu"):
        assert text not in told


def test_an_empty_session_starts_from_policy_scope_and_identity() -> None:
    made, _ = package(snapshot())
    named = {name for name, values in made.sources if values}
    assert named == {"policy", "scope", "identity", "consent"}
