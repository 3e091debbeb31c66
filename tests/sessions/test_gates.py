"""What can become of a gate, and that nothing else can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.request import (
    ChannelId,
    GuildId,
    ImpName,
    MessageId,
    Place,
    RunId,
    RunScope,
    TurnId,
    UserId,
)
from sessions.continuations import scope_of
from sessions.gates import (
    DETAIL_CHARS,
    EARNED,
    FINAL,
    INTERRUPTED,
    MOVES,
    SHELL,
    Decider,
    EffectKind,
    Gate,
    GateErrorCode,
    GateId,
    GateMove,
    GateOrigin,
    GateRefused,
    GateRules,
    GateState,
    Tier,
    approve,
    approve_by_trust,
    begin,
    deny,
    expire,
    file_gate,
    finish,
    gate_of_turn,
    may_decide,
    moved,
    open_gates,
    recover,
    turn_id_of,
    withdraw,
)

ADA, BO, CY = UserId("discord:1"), UserId("discord:2"), UserId("discord:3")
OWNER = Decider(user_id=ADA, tier=Tier.OWNER)
RULES = GateRules()
NOW = 1_796_000_000_000
DAY = 24 * 3600 * 1000


def filed(number: int = 1, *, effect: EffectKind = EffectKind.RECORDED, **origin: object) -> Gate:
    where = GateOrigin(
        imp=ImpName("ember"),
        channel_id=ChannelId("discord:100"),
        is_dm=False,
        requester=BO,
        run_id=RunId("r"),
        turn_id=TurnId("discord:message:1"),
    )
    return file_gate(
        GateId(f"g-{number}"),
        replace(where, **origin),  # type: ignore[arg-type]  # names are checked by replace
        tool="write",
        arguments={"path": "/workspace/a", "content": "x"},
        effect=effect,
        intent="Write a file.",
        rationale="Bo asked.",
        now_ms=NOW,
        rules=RULES,
    )


def approved(gate: Gate) -> Gate:
    return approve(gate, OWNER, RULES, shown_sha256=gate.payload_sha256, now_ms=NOW + 1)


@pytest.mark.parametrize(("state", "move"), list(product(GateState, GateMove)))
def test_there_are_no_moves_but_those_of_the_table(state: GateState, move: GateMove) -> None:
    """An illegal move raises, and the gate is as it was."""
    gate = replace(filed(), state=state)
    if (state, move) in MOVES:
        assert moved(gate, move).state is MOVES[state, move]
        return
    with pytest.raises(GateRefused) as refused:
        moved(gate, move)
    assert refused.value.state is state
    assert state.value in refused.value.safe_message


def test_nothing_leaves_an_end() -> None:
    """Decided once, executed once."""
    assert not [state for state, _ in MOVES if state in FINAL]


def test_the_way_of_an_approved_action() -> None:
    """Pending, approved, executing, executed; who and when are kept."""
    gate = approved(filed())
    assert (gate.state, gate.decided_by, gate.decided_ms) == (GateState.APPROVED, ADA, NOW + 1)
    assert gate.ended_ms is None, "what was approved has not ended yet"
    denied = deny(filed(), OWNER, RULES, now_ms=NOW + 1)
    assert (denied.state, denied.ended_ms) == (GateState.DENIED, NOW + 1)
    ended = finish(begin(gate), now_ms=NOW + 2)
    assert (ended.state, ended.ended_ms, ended.result_code) == (GateState.EXECUTED, NOW + 2, "")
    failed = finish(begin(gate), now_ms=NOW + 2, failure="disk_full")
    assert (failed.state, failed.result_code) == (GateState.FAILED, "disk_full")


def test_each_gate_is_decided_once() -> None:
    """The second click is told what it had become."""
    gate = approved(filed())
    attempts: tuple[Callable[[], Gate], ...] = (
        lambda: approved(gate),
        lambda: deny(gate, OWNER, RULES, now_ms=NOW),
        lambda: withdraw(gate, now_ms=NOW),
    )
    for decide in attempts:
        with pytest.raises(GateRefused) as refused:
            decide()
        assert refused.value.code is GateErrorCode.ALREADY_DECIDED


def test_what_is_approved_is_what_was_shown_and_filed() -> None:
    """The payload is frozen: neither the card nor the table can be exchanged under a click."""
    gate = filed()
    with pytest.raises(GateRefused) as refused:
        approve(gate, OWNER, RULES, shown_sha256="0" * 64, now_ms=NOW)
    assert refused.value.code is GateErrorCode.ALTERED
    changed = replace(gate, payload=gate.payload.replace("a", "b"))
    with pytest.raises(GateRefused):
        approve(changed, OWNER, RULES, shown_sha256=gate.payload_sha256, now_ms=NOW)
    after = replace(approved(gate), payload='{"path":"/workspace/b"}')
    with pytest.raises(GateRefused) as refused:
        begin(after)
    assert refused.value.code is GateErrorCode.ALTERED
    other_tool = replace(approved(gate), tool="bash")
    with pytest.raises(GateRefused):
        begin(other_tool)


def test_the_form_of_the_payload_is_one() -> None:
    """Equal arguments, equal hash, in whatever order a model gave them."""
    one, two = (
        file_gate(
            GateId("g"),
            filed().origin,
            tool="write",
            arguments=arguments,
            effect=EffectKind.RECORDED,
            intent="",
            rationale="",
            now_ms=0,
            rules=RULES,
        )
        for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    )
    assert one == two


@pytest.mark.parametrize(
    ("tier", "own", "is_dm", "rules", "may"),
    [
        (Tier.OWNER, False, False, RULES, True),
        (Tier.OWNER, True, False, RULES, True),
        (Tier.OWNER, True, False, GateRules(owners_decide_their_own=False), False),
        (Tier.ADMIN, False, False, RULES, False),
        (Tier.ADMIN, False, False, GateRules(admins_decide=True), True),
        (Tier.ADMIN, True, False, GateRules(admins_decide=True), False),
        (Tier.ADMIN, False, True, GateRules(admins_decide=True), False),
        (Tier.MEMBER, False, False, GateRules(admins_decide=True), False),
        (Tier.MEMBER, True, False, RULES, False),
    ],
)
def test_who_may_decide(*, tier: Tier, own: bool, is_dm: bool, rules: GateRules, may: bool) -> None:
    """The one who asked is not the one who approves, unless he is an owner (setting)."""
    decider = Decider(user_id=BO if own else CY, tier=tier)
    gate = filed(is_dm=is_dm)
    assert may_decide(gate, decider, rules) is may
    if not may:
        with pytest.raises(GateRefused) as refused:
            approve(gate, decider, rules, shown_sha256=gate.payload_sha256, now_ms=NOW)
        assert refused.value.code is GateErrorCode.NOT_YOURS
        with pytest.raises(GateRefused):
            deny(gate, decider, rules, now_ms=NOW)


def test_an_expired_gate_cannot_be_approved_any_more() -> None:
    """Default 24 hours, and the clock decides even before the sweep."""
    gate = filed()
    assert gate.expires_ms == NOW + DAY
    assert expire(gate, now_ms=NOW + DAY - 1) is gate
    assert expire(gate, now_ms=NOW + DAY).state is GateState.EXPIRED
    with pytest.raises(GateRefused) as refused:
        approve(gate, OWNER, RULES, shown_sha256=gate.payload_sha256, now_ms=NOW + DAY)
    assert refused.value.code is GateErrorCode.TOO_LATE


def test_an_approval_in_time_does_not_expire() -> None:
    """From the decision on it is the host's work."""
    gate = approved(filed())
    assert expire(gate, now_ms=NOW + 10 * DAY) is gate
    assert begin(gate).state is GateState.EXECUTING


@pytest.mark.parametrize(
    ("effect", "state"),
    [
        (EffectKind.REPEATABLE, GateState.EXECUTING),
        (EffectKind.ONCE, GateState.FAILED),
        (EffectKind.RECORDED, GateState.FAILED),
    ],
)
def test_what_a_killed_host_leaves(effect: EffectKind, state: GateState) -> None:
    """Nothing is carried out twice; what nobody knows is said to be unknown."""
    left = begin(approved(filed(effect=effect)))
    after = recover(left, now_ms=NOW + 5)
    assert after.state is state
    assert after.result_code == ("" if state is GateState.EXECUTING else INTERRUPTED)
    assert recover(after, now_ms=NOW + 6) == after


@given(st.permutations(range(6)))
def test_the_briefing_shows_this_conversations_open_gates_in_order(order: list[int]) -> None:
    """CC "Briefing": by filing time and id; a direct message's is never visible in a group."""
    here = ChannelId("discord:100")
    gates = [
        replace(filed(1), filed_ms=NOW + 5),
        replace(filed(2), filed_ms=NOW),
        replace(filed(3), filed_ms=NOW),
        filed(4, channel_id=ChannelId("discord:200"), is_dm=True),
        approved(filed(5)),
        replace(filed(6), expires_ms=NOW + 1),
    ]
    shown = open_gates([gates[n] for n in order], here, now_ms=NOW + 1)
    assert [gate.gate_id for gate in shown] == ["g-2", "g-3", "g-1"]


def test_the_origin_is_the_turns_scope() -> None:
    """Ids of the platform; where they name nobody, whoever sits at the machine asked."""
    scope = RunScope(
        provider="discord",
        place=Place.THREAD,
        channel_id=ChannelId("discord:7"),
        parent_channel_id=ChannelId("discord:6"),
        guild_id=GuildId("discord:5"),
        user_id=BO,
        message_id=MessageId("discord:9"),
    )
    ids = {"run_id": RunId("r"), "turn_id": TurnId("t")}
    origin = GateOrigin.of(ImpName("ember"), scope, **ids)  # type: ignore[arg-type]
    assert (origin.channel_id, origin.parent_channel_id, origin.guild_id) == (
        scope.channel_id,
        scope.parent_channel_id,
        scope.guild_id,
    )
    assert (origin.requester, origin.message_id, origin.is_dm) == (BO, scope.message_id, False)
    nowhere = RunScope(provider="discord", place=Place.NONE)
    shell = GateOrigin.of(ImpName("ember"), nowhere, **ids)  # type: ignore[arg-type]
    assert (shell.channel_id, shell.requester, shell.is_dm) == (None, SHELL, False)
    assert replace(filed(), origin=shell).of_shell
    assert not replace(filed(), origin=origin).of_shell


def test_earned_trust_approves_what_is_pending_and_intact() -> None:
    """It stands for nobody, and goes no other way than the table's."""
    gate = approve_by_trust(filed(), now_ms=NOW)
    assert (gate.state, gate.decided_by) == (GateState.APPROVED, EARNED)
    with pytest.raises(GateRefused):
        approve_by_trust(gate, now_ms=NOW)
    with pytest.raises(GateRefused) as refused:
        approve_by_trust(replace(filed(), payload="{}"), now_ms=NOW)
    assert refused.value.code == GateErrorCode.ALTERED


def test_an_end_is_told_but_for_a_withdrawn_one() -> None:
    """Whose request was taken back is told nothing; of a result its beginning is kept."""
    done = finish(begin(approved(filed())), now_ms=NOW, detail="x" * (DETAIL_CHARS + 1))
    assert len(done.detail) == DETAIL_CHARS
    ends = [
        done,
        finish(begin(approved(filed())), now_ms=NOW, failure="timeout"),
        deny(filed(), OWNER, RULES, now_ms=NOW),
        expire(filed(), now_ms=NOW + DAY),
    ]
    assert all(gate.owes_a_word for gate in ends)
    going = [filed(), approved(filed()), begin(approved(filed())), withdraw(filed(), now_ms=NOW)]
    assert not any(gate.owes_a_word for gate in going)


def test_a_gates_turn_has_its_own_id() -> None:
    """One for each gate, told from those of messages."""
    assert gate_of_turn(turn_id_of(GateId("g-1"))) == GateId("g-1")
    assert gate_of_turn(TurnId("discord:message:1")) is None


@pytest.mark.parametrize("place", list(Place))
def test_what_follows_a_gate_happens_where_it_was_asked_for(place: Place) -> None:
    """What it leads to is kept for the same people: a private thread's stays in the thread."""
    here = ChannelId("discord:7") if place is not Place.NONE else None
    scope = RunScope(
        provider="discord",
        place=place,
        channel_id=here,
        parent_channel_id=ChannelId("discord:6") if place.is_thread else None,
        user_id=BO,
    )
    ids = {"run_id": RunId("r"), "turn_id": TurnId("t")}
    gate = replace(filed(), origin=GateOrigin.of(ImpName("ember"), scope, **ids))  # type: ignore[arg-type]
    assert scope_of(gate, provider="discord", role=scope.role) == scope
