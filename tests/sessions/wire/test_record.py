"""A record of a call is complete whatever was sent, and writes without a word of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.request import TurnId
from sessions.traces.events import TraceMark, decode_event, encode_event
from sessions.wire.ledger import ExpectedTurn, Finding, WireLedger, WireProblem
from sessions.wire.record import CallEnd, unobserved_event, wire_event
from sessions.wire.usage import WireUsage
from support.compiler_factories import RUN
from support.wire_records import AT, record_of

TURN = ExpectedTurn(
    turn_id=TurnId("discord:message:1"), mark=TraceMark(seq=4, sha256="a" * 64), text="Hi."
)
UNREAD = Finding(
    turn=None, reading=None, system=None, input=None, problems=(WireProblem.UNREADABLE,)
)


def test_an_unreadable_call_has_its_hash_and_nothing_else() -> None:
    event = wire_event(RUN, record_of(UNREAD))
    assert (event.items, event.prefix_sha256, event.usage, event.turn) == (0, None, None, None)
    assert (event.body_sha256, event.problems) == ("b" * 64, ("unreadable",))


def test_a_call_of_a_turn_names_its_line_places_and_figures() -> None:
    """The event reads back as it was written, and holds no text."""
    ledger = WireLedger("openai-completions", "Be Ember.")
    ledger.begin(TURN)
    finding = ledger.inspect(
        b'{"model":"m","messages":[{"role":"system","content":"Be Ember."},'
        b'{"role":"user","content":"Hi."}],"tools":[{"name":"recall"}]}'
    )
    usage = WireUsage(input_tokens=9, cached_tokens=5, cache_write_tokens=1, output_tokens=2)
    event = wire_event(RUN, record_of(finding, usage))
    line = encode_event(event)
    assert decode_event(line) == event
    assert b"Ember" not in line
    assert b"recall" not in line
    assert event.turn is not None
    assert (event.turn.seq, event.turn_id, event.tools) == (4, TURN.turn_id, 1)
    assert event.system is not None
    assert event.input is not None
    assert (event.system.item, event.input.item, event.items) == (0, 1, 2)
    assert event.usage is not None
    assert (event.usage.cached_tokens, event.usage.is_estimate) == (5, False)


@pytest.mark.parametrize("end", list(CallEnd))
def test_every_end_can_be_written(end: CallEnd) -> None:
    event = wire_event(RUN, replace(record_of(UNREAD), end=end, refusal="limit_user"))
    assert (event.end, event.refusal) == (end.value, "limit_user")


def test_an_unobserved_process_is_an_event() -> None:
    event = unobserved_event(RUN, at=AT, provider="google")
    assert decode_event(encode_event(event)) == event
