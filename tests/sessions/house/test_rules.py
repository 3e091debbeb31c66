"""House rules as values, with their origins."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.directives.values import Policy, State
from compiler.request import ChannelId, HouseRules, Place, RunScope, UserId
from sessions.house.rules import (
    NOTHING_CHANGED,
    Conversation,
    KeptPolicy,
    KeptPremise,
    KeptRules,
    Origin,
    block_chars,
    conversation_of,
    prohibited_tools,
    prompt_form,
    tell_change,
)

ADA = Origin(user_id=UserId("discord:1"), at="2026-11-29T20:00:00.000Z")
BO = Origin(user_id=UserId("discord:2"), at="2026-11-29T21:00:00.000Z")
STATES = st.builds(
    State,
    premise=st.none() | st.text(max_size=5),
    policies=st.dictionaries(st.text(max_size=3), st.sampled_from(Policy), max_size=4).map(
        MappingProxyType
    ),
)


def state(premise: str | None = None, **policies: str) -> State:
    return State(
        premise=premise,
        policies=MappingProxyType({item: Policy(each) for item, each in policies.items()}),
    )


@given(STATES, STATES)
def test_amending_gives_the_new_state_and_keeps_what_stands(before: State, after: State) -> None:
    """Who set an item is who changed it last, not who said it again."""
    kept = KeptRules().amended(before, ADA)
    amended = kept.amended(after, BO)
    assert amended.state == after
    for each in amended.policies:
        stood = before.policies.get(each.item) is each.policy
        assert each.origin == (ADA if stood else BO)
    if amended.premise is not None:
        assert amended.premise.origin == (ADA if after.premise == before.premise else BO)
    assert kept.amended(before, BO) == kept


def test_the_form_in_the_prompt_is_sorted() -> None:
    """DG 5: policies have no order."""
    rules = KeptRules(
        premise=KeptPremise(text="Tea.", origin=ADA),
        policies=(KeptPolicy(item="nuts", policy=Policy.PROHIBIT, origin=ADA),),
    )
    assert rules.in_prompt == HouseRules(premise="Tea.", policies=(("nuts", "prohibit"),))
    assert prompt_form(state(b="use", a="use")).policies == (("a", "use"), ("b", "use"))


def test_no_rules_take_no_room() -> None:
    assert block_chars(State()) == 0
    assert block_chars(state("")) > 0
    assert block_chars(state(tea="use")) < block_chars(state("Tea.", tea="use"))


def test_a_conversation_comes_from_platform_ids() -> None:
    scope = RunScope(
        provider="discord",
        place=Place.THREAD,
        channel_id=ChannelId("discord:2"),
        parent_channel_id=ChannelId("discord:1"),
    )
    assert conversation_of(scope) == Conversation(
        channel_id=ChannelId("discord:2"), parent_id=ChannelId("discord:1")
    )
    with pytest.raises(ValueError, match="conversation"):
        conversation_of(RunScope(provider="discord", place=Place.NONE))


def test_only_prohibitions_close_tools_by_name_or_alias() -> None:
    """Issue "In the conversation": ``use`` never grants, aliases are read as items are."""
    rules = HouseRules(policies=(("notes", "prohibit"), ("recall", "prohibit"), ("web", "use")))
    aliases = {"The  Notes": "remember", "web": "fetch", "tea": "kettle"}
    assert prohibited_tools(rules, aliases) == {"notes", "recall", "remember"}
    assert prohibited_tools(HouseRules(), aliases) == frozenset()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (state(), state(), NOTHING_CHANGED),
        (state(), state("x"), "The premise is set."),
        (state("x"), state("y"), "The premise is changed."),
        (state("x"), state(), "The premise is cleared."),
        (state(), state(tea="use"), "`tea` is in use."),
        (state(tea="use"), state(tea="prohibit"), "`tea` is prohibited."),
        (state(tea="use"), state(cocoa="use"), "`cocoa` is in use. `tea` is no longer a rule."),
        (state("x", a="use", b="use", c="use", d="use"), state(), "5 house rules changed."),
    ],
)
def test_a_change_is_told_in_one_line(before: State, after: State, told: str) -> None:
    assert tell_change(before, after) == told


def test_items_are_told_in_one_short_line_of_code() -> None:
    """A long or many-lined item must not fill the channel."""
    told = tell_change(State(), state(**{"x" * 300 + "\n@everyone": "use"}))
    assert len(told) < 130
    assert "\n" not in told
    assert tell_change(State(), state(**{"\u200b": "use"})) == "`(blank)` is in use."
