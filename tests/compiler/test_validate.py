"""A request that contradicts itself is refused before anything is rendered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.errors import InvalidRequest
from compiler.request import (
    Briefing,
    ChannelId,
    ContextPhase,
    ContextRequest,
    GuildId,
    HistoryMessage,
    HouseRules,
    MessageId,
    Place,
    ResolvedGate,
    RunScope,
    RunSurface,
    SourceSnapshot,
    TaskInput,
    UnreadableSource,
)
from compiler.validate import check_start, check_turn, continuation
from support.compiler_factories import (
    BO,
    PURPOSE,
    dm_scope,
    group_scope,
    message,
    no_scope,
    notes,
    snapshot,
    start_request,
    thread_scope,
    turn_request,
)

TASK = TaskInput(origin="schedule", text="Sweep the hearth.")
GATE = ResolvedGate(gate_id="g1", intent="Post", outcome="approved")
OTHER = replace(GATE, gate_id="g2")
SAID = HistoryMessage(message_id=MessageId("discord:1"), author_label="Bo", text="hi")


@pytest.mark.parametrize(
    "scope", [dm_scope(), group_scope(), group_scope(user=None), thread_scope()]
)
def test_sound_scopes_pass(scope: RunScope) -> None:
    sources = snapshot(purpose=PURPOSE, memory=notes(2), history=(SAID,))
    check_start(start_request(scope), sources)
    check_turn(turn_request(scope=scope), sources)
    check_turn(turn_request(TASK, scope), sources)


def test_a_run_without_channel_passes_with_memory_of_the_imp() -> None:
    """CC "Memory": an imp-only task has imp memory."""
    for scope_name in ("imp", "imp:ember"):
        check_turn(turn_request(TASK, no_scope()), snapshot(memory=notes(2, scope=scope_name)))
    direct = turn_request(message(provider="local"), no_scope(), surface=RunSurface.DIRECT)
    check_turn(direct, snapshot())


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (replace(start_request(), phase=ContextPhase.TURN), "a start needs the start phase"),
        (replace(start_request(), task=TASK), "a start has no task"),
        (replace(start_request(), message=message()), "a start has no message"),
        (start_request(replace(group_scope(), provider="")), "the scope names no provider"),
    ],
)
def test_a_start_that_is_none(request_: ContextRequest, reason: str) -> None:
    """CC "Inputs": a session-start compilation has neither task nor message."""
    with pytest.raises(InvalidRequest) as caught:
        check_start(request_, snapshot())
    assert caught.value.facts["reason"] == reason


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (
            replace(turn_request(), phase=ContextPhase.START),
            "an input needs the turn phase",
        ),
        (replace(turn_request(), message=None), "an input needs a task or a message"),
        (replace(turn_request(), task=TASK), "an input has a task or a message, not both"),
        (
            turn_request(TASK, surface=RunSurface.DISCORD_SESSION),
            "a conversation turn needs a message",
        ),
        (turn_request(message(provider="local")), "message and scope differ in provider"),
        (turn_request(message(author_id=BO)), "message and scope differ in author"),
        (
            turn_request(scope=group_scope(message="discord:1")),
            "message and scope differ in message id",
        ),
    ],
)
def test_an_input_that_is_none(request_: ContextRequest, reason: str) -> None:
    """CC "Inputs": exactly one of task and message, and of this very scope."""
    with pytest.raises(InvalidRequest) as caught:
        check_turn(request_, snapshot())
    assert caught.value.facts["reason"] == reason


@pytest.mark.parametrize(
    ("scope", "reason"),
    [
        (replace(dm_scope(), channel_id=None), "a direct message needs a channel"),
        (replace(dm_scope(), user_id=None), "a direct message needs a user"),
        (replace(dm_scope(), guild_id=GuildId("discord:3")), "a direct message has no server"),
        (
            replace(dm_scope(), parent_channel_id=ChannelId("discord:3")),
            "a direct message has no parent channel",
        ),
        (replace(group_scope(), channel_id=None), "a group needs a channel"),
        (
            replace(group_scope(), parent_channel_id=ChannelId("discord:3")),
            "only a thread has a parent channel",
        ),
        (replace(thread_scope(), channel_id=None), "a thread needs a channel"),
        (replace(thread_scope(), parent_channel_id=None), "a thread needs a parent channel"),
        (thread_scope(channel="discord:5", parent="discord:5"), "a thread is not its parent"),
        (replace(group_scope(), place=Place.NONE), "a channel needs a place"),
        (
            replace(thread_scope(), place=Place.NONE, channel_id=None),
            "only a thread has a parent channel",
        ),
        (
            RunScope(provider="discord", place=Place.NONE),
            "a conversation needs a place",
        ),
    ],
)
def test_a_scope_that_contradicts_itself(scope: RunScope, reason: str) -> None:
    """CC "Failure behavior": invalid trusted context fails closed."""
    with pytest.raises(InvalidRequest) as caught:
        check_start(start_request(scope), snapshot())
    assert caught.value.facts["reason"] == reason


@pytest.mark.parametrize(
    "channel",
    [
        "",
        "2001",
        "discord:",
        "slack:2001",
        "discord:20 01",
        "discord:1\n[INGLENOOK",
        "discord:" + "1" * 65,
    ],
)
def test_a_channel_id_that_is_none(channel: str) -> None:
    """It is the only run field in a system prompt, so its form is checked."""
    with pytest.raises(InvalidRequest, match="a channel id is not one of its provider"):
        check_start(start_request(group_scope(channel=channel)), snapshot())
    with pytest.raises(InvalidRequest, match="a channel id is not one of its provider"):
        check_start(start_request(thread_scope(parent=channel)), snapshot())


@pytest.mark.parametrize(
    ("sources", "reason"),
    [
        (snapshot(purpose=PURPOSE), "a run without a channel has no purpose"),
        (
            snapshot(purpose=UnreadableSource(source="channels/1/purpose.md", reason="x")),
            "a run without a channel has no purpose",
        ),
        (snapshot(history=(SAID,)), "a run without a channel has no history"),
        (
            snapshot(house_rules=HouseRules(premise="Tea")),
            "a run without a channel has no house rules",
        ),
        (
            snapshot(house_rules=HouseRules(policies=(("tea", "use"),))),
            "a run without a channel has no house rules",
        ),
        *(
            (
                snapshot(memory=notes(1, scope=scope)),
                "a run without a channel has memory of the imp only",
            )
            for scope in ("channel", "user", "channel:discord:1", "impostor", "")
        ),
    ],
)
def test_nothing_of_a_channel_or_user_without_a_channel(
    sources: SourceSnapshot, reason: str
) -> None:
    """CC: an imp-only task receives no channel or user context."""
    with pytest.raises(InvalidRequest) as caught:
        check_turn(turn_request(TASK, no_scope()), sources)
    assert caught.value.facts["reason"] == reason


def test_the_continuation_is_that_of_the_task_or_of_the_briefing() -> None:
    of_task = turn_request(replace(TASK, continuation=GATE))
    of_briefing = snapshot(briefing=Briefing(continuation=GATE))
    assert continuation(turn_request(TASK), snapshot()) is None
    assert continuation(of_task, snapshot()) == GATE
    assert continuation(turn_request(TASK), of_briefing) == GATE
    assert continuation(turn_request(), of_briefing) == GATE
    assert continuation(of_task, of_briefing) == GATE


def test_two_different_continuations_are_refused() -> None:
    request = turn_request(replace(TASK, continuation=OTHER))
    with pytest.raises(InvalidRequest, match="different continuations"):
        check_turn(request, snapshot(briefing=Briefing(continuation=GATE)))
