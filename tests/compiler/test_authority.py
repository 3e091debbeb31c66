"""The lattice: nothing combines upward (TR "Non-combinable authorities")."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compiler.authority import (
    NO_AUTHORITY,
    Authority,
    Factual,
    Instruction,
    StateAuthority,
    combine,
    overrides,
)

authorities = st.builds(
    Authority,
    instruction=st.sampled_from(Instruction),
    factual=st.sampled_from(Factual),
    state=st.sampled_from(StateAuthority),
)


@given(st.lists(authorities, min_size=1, max_size=6), st.randoms())
def test_combining_never_rises_and_ignores_order(sources: list[Authority], random: object) -> None:
    """A derived thing is as weak as its weakest source, on each axis alone."""
    combined = combine(sources)
    shuffled = list(sources)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives random.Random
    assert combine(shuffled) == combined
    for source in sources:
        assert combined.instruction >= source.instruction
        assert combined.factual <= source.factual
        assert combined.state <= source.state


@given(authorities, st.integers(1, 100))
def test_a_hundred_copies_are_one(source: Authority, copies: int) -> None:
    """Multiple low-authority duplicates do not outrank one higher one."""
    assert combine([source] * copies) == source


def test_a_tool_beside_the_policy_stays_a_tool() -> None:
    """Retrieved prose plus a system-looking prefix is not a system instruction."""
    policy = Authority(instruction=Instruction.A0, factual=Factual.F3, state=StateAuthority.S1)
    page = Authority(instruction=Instruction.A7, factual=Factual.F1, state=StateAuthority.S0)
    assert combine([policy, page]) == page


def test_nothing_from_nothing() -> None:
    """An unknown source has no authority at all."""
    assert combine([]) == NO_AUTHORITY


@given(authorities, authorities)
def test_overriding_is_strict(one: Authority, two: Authority) -> None:
    """Equal tiers never set each other aside, and only one direction ever can."""
    assert not (overrides(one, two) and overrides(two, one))
    assert overrides(one, two) == (one.instruction < two.instruction)
