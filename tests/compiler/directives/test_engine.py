"""The directive engine against the conformance table and DG 12's invariants."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from compiler import normalize
from compiler.directives.decision import DecisionKind
from compiler.directives.engine import (
    Engine,
    ImportErrorCode,
    StateImportError,
    confirmation,
)
from compiler.directives.grammar import Compound, parse

TABLE = Path(__file__).parent / "data" / "directives-0.5.jsonl"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()
]
KEYWORDS = (
    "set premise",
    "change premise to",
    "use",
    "prohibit",
    "remove policy",
    "clear premise",
    "reset policies",
    "clear state",
)
REPLACEMENTS = ("podman instead of docker", "docker instead of pea nuts")
ITEMS = ("docker", "the docker", "Podman", "pea nuts", "a", "", " ", "x\u200by", "dont", "re-use")


def _step_and_compare(engine: Engine, inputs: list[str], expected: list[dict[str, Any]]) -> None:
    for text, want in zip(inputs, expected, strict=True):
        assert engine.step(text).as_dict() == want


def _run_import(engine: Engine, row: dict[str, Any]) -> None:
    operation = getattr(engine, row["op"])
    if row["expect"]["error"]:
        with pytest.raises(StateImportError):
            operation(row["payload"])
    else:
        assert operation(row["payload"]) is None
    assert engine.state == row["final_state"]
    then = row.get("then", {"inputs": [], "expect": []})
    _step_and_compare(engine, then["inputs"], then["expect"])


def _run_export(engine: Engine, row: dict[str, Any]) -> None:
    for text in row["inputs"]:
        engine.step(text)
    result = getattr(engine, row["op"])()
    assert (json.loads(result) if isinstance(result, str) else result) == row["expect"]["result"]
    assert row["expect"].get("text", result) == result


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_conformance(row: dict[str, Any]) -> None:
    """Every row of the 0.5 table holds exactly."""
    match row["type"]:
        case "normalize":
            assert getattr(normalize, row["fn"])(row["input"]) == row["expect"]
        case "confirmation":
            assert confirmation(row["input"]) == row["expect"]
        case "steps":
            engine = Engine(row["initial_state"])
            _step_and_compare(engine, row["inputs"], row["expect"])
            assert engine.state == row["final_state"]
        case "import":
            _run_import(Engine(row["initial_state"]), row)
        case "export":
            _run_export(Engine(row["initial_state"]), row)
        case other:
            pytest.fail(f"unknown row type {other}")


def test_the_table_is_whole() -> None:
    """A row lost from the table would be a rule no longer held."""
    assert len(ROWS) == 501
    assert len({row["name"] for row in ROWS}) == 501


texts = st.one_of(
    st.text(max_size=60),
    st.builds(
        lambda word, gap, rest: word + gap + rest,
        st.sampled_from(KEYWORDS),
        st.sampled_from([" ", "", "\t", "  ", "\u00a0"]),
        st.one_of(
            st.sampled_from(ITEMS),
            st.builds("{} instead of {}".format, st.sampled_from(ITEMS), st.sampled_from(ITEMS)),
            st.text(max_size=20),
        ),
    ),
)


class DirectiveMachine(RuleBasedStateMachine):
    """DG 12 over random sequences; two engines fed alike stand for determinism."""

    def __init__(self) -> None:
        super().__init__()
        self.engine = Engine()
        self.twin = Engine()

    @rule(text=texts)
    def step(self, text: str) -> None:
        """DG 12.1, 12.2, 12.4, 12.9: what a step may do to the state."""
        before = self.engine.state
        decision = self.engine.step(text)
        assert self.twin.step(text) == decision
        if decision.kind is DecisionKind.UPDATE:
            assert decision.state is not None
            assert decision.prompt_to_user is None
            assert decision.state.as_dict() == self.engine.state
        else:
            assert decision.state is None
            assert self.engine.state == before
            assert (decision.prompt_to_user is None) == (decision.kind is DecisionKind.PASSTHROUGH)

    @rule()
    def round_trip_of_the_value(self) -> None:
        """DG 11: a checkpoint restores what its own import would hold again."""
        restored = Engine()
        restored.import_checkpoint_json(self.engine.export_checkpoint_json())
        again = Engine()
        again.import_checkpoint(restored.export_checkpoint())
        assert set(again.state["policies"].values()) <= {"use", "prohibit"}

    @rule(payload=st.text(max_size=40))
    def refused_import_changes_nothing(self, payload: str) -> None:
        """DG 11: restore is all or nothing."""
        before = self.engine.state
        with pytest.raises(StateImportError):
            self.engine.import_json(payload)
        assert self.engine.state == before

    @invariant()
    def well_formed(self) -> None:
        """DG 5: keys are never empty, values are the two words."""
        state = self.engine.state
        assert all(state["policies"])
        assert set(state["policies"].values()) <= {"use", "prohibit"}
        assert list(state) == ["premise", "policies", "version"]


TestDirectiveMachine = DirectiveMachine.TestCase
TestDirectiveMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def _one_change(before: dict[str, Any], after: dict[str, Any], text: str) -> bool:
    """Whether the states differ by at most what one directive can change."""
    if text in {"clear state", "reset policies"}:
        return True
    old, new = before["policies"], after["policies"]
    removed, added = old.keys() - new.keys(), new.keys() - old.keys()
    changed = {key for key in old.keys() & new.keys() if old[key] != new[key]}
    premise = before["premise"] != after["premise"]
    replaced = len(removed) == 1 and len(added) <= 1 and " instead of " in text
    return not changed and ((replaced and not premise) or len(removed) + len(added) + premise <= 1)


SEEDS = (20_261_129, 20_261_130, 20_261_131, 20_261_132)
"""One conversation each, so that test processes share the work."""
STEPS = 1_000_000 // len(SEEDS)
TWIN_STEPS = 100_000 // len(SEEDS)
"""How many steps a second engine takes too: in all 400 times each text of the pool."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_million_random_steps(seed: int) -> None:
    """DG 12.2, 12.4, 12.9: clarify never mutates, one directive at most, twice the same."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    pool = [
        f"{word}{gap}{item}"
        for word in KEYWORDS
        for gap in (" ", "")
        for item in (
            *ITEMS,
            "podman instead of docker",
            "docker instead of pea nuts",
            "x and use y",
        )
    ]
    pool += [word for word in KEYWORDS for _ in range(4)] + ["hello", "please use docker", "yes"]
    one, two = Engine(), Engine()
    before: dict[str, Any] = dict(one.state)
    for number, text in enumerate(chance.choices(pool, k=STEPS)):
        value = one.current
        decision = one.step(text)
        if number < TWIN_STEPS:
            assert two.step(text) == decision
            assert two.current == one.current
        if decision.kind is not DecisionKind.UPDATE:
            assert one.current is value
        elif one.current is not value:
            after: dict[str, Any] = dict(one.state)
            assert _one_change(before, after, text), text
            before = after


@given(st.text(alphabet="ab", min_size=1, max_size=5))
def test_removing_an_absent_item_is_an_update(item: str) -> None:
    """DG 8.2: removal is idempotent."""
    engine = Engine()
    decision = engine.step(f"remove policy x{item}")
    assert decision.kind is DecisionKind.UPDATE
    assert engine.state == Engine().state


@given(st.text(max_size=200))
def test_llm_style_text_never_mutates(text: str) -> None:
    """DG 12.3, 12.10: text that does not begin with a start changes nothing."""
    engine = Engine({"premise": "p", "policies": {"docker": "use"}, "version": 2})
    before = engine.current
    engine.step("I will " + text)
    assert engine.current is before


@given(
    st.dictionaries(
        st.sampled_from(["docker", "pea nuts", "x-ray"]), st.sampled_from(["use", "prohibit"])
    )
)
def test_export_then_import_is_a_fixed_point(policies: dict[str, str]) -> None:
    """DG 11 for keys that normalization leaves alone (D8 names the exception)."""
    engine = Engine({"premise": "We ship on Friday", "policies": policies, "version": 2})
    text = engine.export_json()
    other = Engine()
    other.import_json(text)
    assert other.export_json() == text


def test_states_handed_out_are_copies() -> None:
    """DG 12.1: a host that changes a mapping does not change the engine."""
    engine = Engine()
    engine.step("use docker")
    engine.state["policies"]["podman"] = "use"
    assert engine.state["policies"] == {"docker": "use"}


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ('{"premise":null,"premise":null,"policies":{},"version":2}', ImportErrorCode.INVALID_JSON),
        ('{"premise":null,"policies":{},"version":2.0}', ImportErrorCode.INVALID_STATE),
        ('{"premise":null,"policies":{},"version":NaN}', ImportErrorCode.INVALID_JSON),
        ('{"premise":null,"policies":{},"version":true}', ImportErrorCode.INVALID_STATE),
        ("[" * 100_000, ImportErrorCode.INVALID_JSON),
        (" " * 2_000_000, ImportErrorCode.INVALID_JSON),
    ],
)
def test_bad_imports_are_refused_whole(payload: str, code: ImportErrorCode) -> None:
    """Duplicate keys, foreign numbers, deep nesting, great length: one clear line, old state."""
    engine = Engine({"premise": "old", "policies": {}, "version": 2})
    with pytest.raises(StateImportError) as caught:
        engine.import_json(payload)
    assert caught.value.code is code
    assert "Nothing changed." in caught.value.safe_message
    assert engine.state["premise"] == "old"


@pytest.mark.parametrize("word", ["a", "\u00e9", "\U0001f375"])
def test_a_state_of_any_size_comes_back(word: str) -> None:
    """DG 11: what was exported can be imported, also past a million characters."""
    engine = Engine()
    engine.step(f"set premise {word * 1_100_000}")
    engine.step(f"use {word * 1_100_000}")
    state = engine.current
    assert len(engine.export_json()) > 2_000_000
    again, restored = Engine(), Engine()
    again.import_json(engine.export_json())
    restored.import_checkpoint_json(engine.export_checkpoint_json())
    assert again.current == restored.current == state


@pytest.mark.parametrize("payload", [b"\xff", None, 5])
def test_import_of_something_else_than_text(payload: object) -> None:
    """A host's mistake is refused like any bad payload."""
    with pytest.raises(StateImportError):
        Engine().import_json(payload)  # type: ignore[arg-type]  # what a careless host may pass


@pytest.mark.parametrize(
    "text",
    ["\ud800", "use \udfff", "set premise \u202eevil", "use " + "a\u0301" * 10_000, "use \x00"],
)
def test_hostile_text_never_crashes(text: str) -> None:
    """Lone surrogates, overrides, combining marks and NULs are ordinary text to the grammar."""
    engine = Engine()
    first = engine.step(text)
    assert first == Engine().step(text)


@pytest.mark.parametrize("chars", [20_000, 200_000])
@pytest.mark.parametrize("body", ["use", "set premise", "uuse ", "use instead of", "clear state"])
def test_long_inputs_are_scanned_once(chars: int, body: str) -> None:
    """No backtracking blow-up: keyword-dense text of any length is parsed."""
    text = "use " + (body * chars)[:chars]
    assert parse(text) is None or parse(text) == Compound() or parse("x" + text) is None
