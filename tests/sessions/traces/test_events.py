"""Every line of a trace reads back as it was written, and no other form is read."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.request import TurnId
from sessions.inbound import OutcomeKind, TurnOutcome, Usage
from sessions.traces.events import (
    TraceEvent,
    TraceMark,
    chain_root,
    decode_event,
    encode_event,
    line_hash,
)
from sessions.traces.writing import (
    Occasion,
    compiled_event,
    ended_event,
    gap_event,
    outcome_event,
    resumed_event,
)
from support.compiler_factories import RUN, compiled_turn

AT = datetime(2026, 11, 29, 23, 16, 35, 123456, tzinfo=UTC)
MARK = TraceMark(seq=0, sha256="a" * 64)
OCCASION = Occasion(
    at=AT, turn_id=TurnId("discord:message:9001"), extends=MARK, compile_us=900, waited_us=12
)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_content_is_one_ascii_line_and_reads_back(text: str) -> None:
    """No reader can take a character of it for a line end."""
    context = compiled_turn()
    block = replace(context.blocks[0], content=text, source=text)
    event = compiled_event(replace(context, blocks=(block,)), OCCASION)
    line = encode_event(event)
    assert line.isascii()
    assert len(line.decode().splitlines()) == 1
    assert decode_event(line) == event


EVENTS: list[TraceEvent] = [
    compiled_event(compiled_turn(), OCCASION),
    resumed_event(RUN, at=AT, extends=MARK, system_sha256="b" * 64, kept_answers=3),
    outcome_event(
        RUN,
        TurnOutcome(
            kind=OutcomeKind.REPLIED,
            run_id=RUN,
            turn_id=TurnId("t"),
            text="Hello",
            usage=Usage(input_tokens=1, cost_usd=0.25, model_calls=1),
        ),
        at=AT,
    ),
    outcome_event(
        RUN,
        TurnOutcome(
            kind=OutcomeKind.CUT_OFF, run_id=RUN, turn_id=TurnId("t"), error_code="pi_exited"
        ),
        at=AT,
        exit_code=-9,
    ),
    ended_event(RUN, at=AT, reason="idle"),
    gap_event(RUN, at=AT, file="context.torn-1", torn=b"{"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event.event))
def test_every_event_reads_back(event: TraceEvent) -> None:
    assert decode_event(encode_event(event)) == event
    head = list(json.loads(encode_event(event)))[:6]
    assert head == ["schema_version", "event", "seq", "prev_sha256", "ts", "run_id"]


@pytest.mark.parametrize(
    "change",
    [
        {"new": 1},
        {"seq": "0"},
        {"seq": -1},
        {"event": "other"},
        {"reason": None},
        {"ts": None},
    ],
)
def test_a_line_of_another_form_is_refused(change: dict[str, object]) -> None:
    fields = json.loads(encode_event(EVENTS[4])) | change
    with pytest.raises(ValueError, match="validation error"):
        decode_event(json.dumps(fields).encode())


def test_hashes_of_runs_and_lines_are_of_different_kinds() -> None:
    """Domain separated: a run id cannot pose as a line."""
    assert chain_root("x") != line_hash(b"x")
    assert len({chain_root("a"), chain_root("b"), line_hash(b"a"), line_hash(b"b")}) == 4
