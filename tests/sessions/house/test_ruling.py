"""Trust, bounds and the engine's word, joined."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.directives import decision as prompts
from compiler.directives.engine import Engine
from compiler.directives.values import Policy, State
from sessions.house.reading import QUESTIONS, Doubt, read
from sessions.house.rules import block_chars
from sessions.house.ruling import NOT_TRUSTED, ORDINARY, Ruling, RulingKind, changed, judge

TEA = State(policies=MappingProxyType({"tea": Policy.PROHIBIT}))
ROOM = 4_000


def rule(text: str, state: State = TEA, *, trusted: bool = True, limit_chars: int = ROOM) -> Ruling:
    return judge(state, read(text), trusted=trusted, limit_chars=limit_chars)


def test_ordinary_text_stays_ordinary_for_everybody() -> None:
    assert rule("hello") == rule("hello", trusted=False) == ORDINARY
    assert rule("clear premise now", trusted=False) == ORDINARY


def test_an_update_carries_the_state_and_its_line() -> None:
    """DG 4: forward with the new state."""
    found = rule("use docker")
    assert (found.kind, found.text) == (RulingKind.UPDATED, "`docker` is in use.")
    assert found.state is not None
    assert dict(found.state.policies) == {"tea": Policy.PROHIBIT, "docker": Policy.USE}
    assert not found.is_final


def test_a_clash_shows_exactly_the_prompt() -> None:
    """DG 4, 9: the fixed prompt, no state."""
    found = rule("use tea")
    assert (found.kind, found.text) == (RulingKind.CLARIFIED, prompts.use_of_prohibited("tea"))
    assert found.state is None
    assert found.is_final


@pytest.mark.parametrize("text", ["use cocoa", "use tea", "pro\u200bhibit tea", "use ```x"])
def test_who_is_not_trusted_is_refused_whatever_the_directive(text: str) -> None:
    """Issue "In the conversation": a plain refusal by the fixed text, no state change."""
    found = rule(text, trusted=False)
    assert (found.kind, found.text, found.state) == (RulingKind.REFUSED, NOT_TRUSTED, None)


def test_a_doubt_is_asked_in_fixed_words() -> None:
    found = rule("pro\u200bhibit tea")
    assert (found.kind, found.text) == (RulingKind.CLARIFIED, QUESTIONS[Doubt.HIDDEN])
    assert found.code == "hidden_character"


def test_a_directive_that_would_overflow_is_refused() -> None:
    """Issue "In the conversation": a clear answer and no state change; the limit itself fits."""
    whole = rule("use docker").state
    assert whole is not None
    limit = block_chars(whole)
    assert rule("use docker", limit_chars=limit).kind is RulingKind.UPDATED
    found = rule("use docker", limit_chars=limit - 1)
    assert (found.kind, found.code, found.state) == (RulingKind.REFUSED, "state_too_large", None)
    assert f"{limit - 1:,}" in found.text
    assert f"{limit:,}" in found.text


def test_a_lowered_limit_locks_nobody_in() -> None:
    """What makes an over-long state smaller, or leaves it alone, passes."""
    assert rule("remove policy tea", limit_chars=1).kind is RulingKind.UPDATED
    assert rule("prohibit tea", limit_chars=1).kind is RulingKind.UPDATED
    assert rule("use cocoa", limit_chars=1).kind is RulingKind.REFUSED


def test_a_key_is_normalized_once() -> None:
    """D8: "the the x" keeps "the x", and later steps must not take its article off."""
    state = rule("use the the x", State()).state
    assert state is not None
    after = rule("use tea", state).state
    assert after is not None
    assert set(after.policies) == {"the x", "tea"}


@given(st.lists(st.sampled_from(["use a", "prohibit a", "use b instead of a", "set premise x"])))
def test_it_decides_as_the_engine_does(texts: list[str]) -> None:
    """One grammar: the host adds bounds, never another reading."""
    engine, state = Engine(), State()
    for text in texts:
        decision, found = engine.step(text), rule(text, state)
        state = found.state or state
        assert state == engine.current
        if decision.prompt_to_user is not None:
            assert found.text == decision.prompt_to_user


def test_an_import_is_bound_like_a_directive() -> None:
    assert changed(State(), TEA, limit_chars=1).kind is RulingKind.REFUSED
    assert changed(State(), TEA, limit_chars=ROOM).state == TEA
