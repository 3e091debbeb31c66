"""How a recorded turn becomes spans: where each begins and ends, and what it says."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.telemetry.spans import plan_delivery, plan_turn
from compiler.request import ImpName, RunId, TurnId, UserId
from sessions.inbound import OutcomeKind, Usage
from sessions.store.runs import RunRow, TurnRow

RUN = RunRow(
    run_id=RunId("2026-11-29-23-16-35-abcd"),
    surface="discord",
    imp=ImpName("ember"),
    channel_id=None,
    is_dm=True,
    started_at="2026-11-29T23:16:35.123Z",
    ended_at=None,
    end_reason=None,
    system_sha256="a" * 64,
    route_key="route",
    turns=1,
    trace_events=3,
    trace_head_sha256=None,
)
TURN = TurnRow(
    run_id=RUN.run_id,
    turn_id=TurnId("discord:message:9001"),
    seq=1,
    user_id=UserId("discord:1001"),
    accepted_at="2026-11-29T23:16:36.500Z",
    outcome=OutcomeKind.REPLIED,
    error_code="",
    input_sha256="b" * 64,
    reply_sha256="c" * 64,
    wait_us=1_200,
    compile_us=800,
    trace_us=600,
    first_text_us=300_000,
    total_us=900_000,
    usage=Usage(input_tokens=10, output_tokens=5, cache_read_tokens=90, model_calls=1),
)


def test_steps_follow_one_another_within_the_turn() -> None:
    """``accepted_at`` is where the wait ended; the whole counts from the message's arrival."""
    plan = plan_turn(RUN, TURN)
    assert [step.name for step in plan.within] == ["wait", "compile", "trace", "pi"]
    assert plan.start_ns % 1_000_000_000 == 498_800_000
    assert plan.end_ns - plan.start_ns == 900_000_000
    assert plan.within[0].start_ns == plan.start_ns
    assert all(one.end_ns == other.start_ns for one, other in pairwise(plan.within))
    assert plan.within[-1].end_ns == plan.end_ns
    assert plan.error == ""


def test_nobody_is_named_in_it() -> None:
    """Issue: content never; no ids of people, channels or messages either."""
    told = str(plan_turn(RUN, TURN))
    assert "1001" not in told
    assert "9001" not in told
    assert "'inglenook.run_id': '2026-11-29-23-16-35-abcd'" in told
    assert "'gen_ai.usage.input_tokens': 100" in told


def test_what_failed_says_its_code() -> None:
    failed = replace(TURN, outcome=OutcomeKind.FAILED, error_code="pi_exited")
    assert plan_turn(RUN, failed).error == "pi_exited"


def test_a_delivery_ends_no_earlier_than_it_begins() -> None:
    plan = plan_turn(RUN, TURN)
    assert plan_delivery(plan, "2026-11-29T23:16:38.000Z").end_ns % 1_000_000_000 == 0
    assert plan_delivery(plan, "2020-01-01T00:00:00.000Z").end_ns == plan.end_ns


MICROS = st.integers(min_value=0, max_value=10**10)


@given(MICROS, MICROS, MICROS, MICROS)
@settings(max_examples=30, deadline=None)
def test_no_span_ends_before_it_begins(wait: int, compiled: int, traced: int, total: int) -> None:
    """Whatever a clock that jumped made of the figures."""
    turn = replace(TURN, wait_us=wait, compile_us=compiled, trace_us=traced, total_us=total)
    plan = plan_turn(RUN, turn)
    for each in (plan, *plan.within):
        assert each.start_ns <= each.end_ns
        assert plan.start_ns <= each.start_ns
        assert each.end_ns <= plan.end_ns
