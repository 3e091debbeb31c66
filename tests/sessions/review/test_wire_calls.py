"""What a call held, block by block, and what verify makes of a changed account."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiler.budget import ContextBudgets
from compiler.compile import compile_start, compile_turn
from compiler.request import TurnId
from sessions.review.wire_calls import view_wire
from sessions.trace import TraceWriter
from sessions.traces.events import TraceEvent, UnobservedEvent
from sessions.traces.forms import TracedMark, TracedPlace
from sessions.traces.proof import Flaw, verify
from sessions.traces.reader import read_trace
from sessions.traces.writing import Occasion, compiled_event
from sessions.wire.ledger import ExpectedTurn, WireLedger
from sessions.wire.record import unobserved_event, wire_event
from sessions.wire.usage import WireUsage
from support.compiler_factories import PURPOSE, RUN, message, snapshot, start_request, turn_request
from support.wire_records import AT, record_of

SOURCES = snapshot(purpose=PURPOSE)
BUDGETS = ContextBudgets()
START = compile_start(start_request(), SOURCES, BUDGETS)
TURN = compile_turn(turn_request(message("Hi \u2028.")), SOURCES, BUDGETS, START.system)
TURN_ID = TurnId("discord:message:9001")
VOICE = "A voice.\n\n"
USAGE = WireUsage(input_tokens=9, cached_tokens=5, cache_write_tokens=1, output_tokens=2)


class Recorded:
    """A trace with a start, a turn and its call."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RUN / "context.jsonl"
        self.body = ""

    async def write(self, **changes: object) -> None:
        trace = await TraceWriter.create(self.path.parent, RUN)
        start = await trace.append(compiled_event(START, Occasion(at=AT)))
        occasion = Occasion(at=AT, turn_id=TURN_ID, extends=start)
        mark = await trace.append(compiled_event(TURN, occasion))
        assert TURN.input_prompt is not None
        ledger = WireLedger("anthropic-messages", START.system.prompt, inputs=trace.inputs)
        ledger.begin(ExpectedTurn(turn_id=TURN_ID, mark=mark, text=TURN.input_prompt))
        finding = ledger.inspect(request_of(VOICE + START.system.prompt, TURN.input_prompt))
        event = wire_event(RUN, record_of(finding, USAGE, api="anthropic-messages"))
        await trace.append(event.model_copy(update=changes))
        trace.close()


def request_of(system: str, text: str) -> bytes:
    document = {
        "model": "m",
        "system": [{"type": "text", "text": system}],
        "messages": [{"role": "user", "content": text}],
    }
    return json.dumps(document).encode()


async def test_every_block_has_its_place(tmp_path: Path) -> None:
    """Issue "The wire": which compiled blocks a call holds, and where."""
    recorded = Recorded(tmp_path)
    await recorded.write()
    assert verify(recorded.path).problems == ()
    wire = view_wire(read_trace(recorded.path))
    (call,) = wire.calls
    assert (wire.observed, call.problems) == (True, ())
    texts = [VOICE + START.system.prompt, TURN.input_prompt or ""]
    compiled = [*START.blocks, *TURN.blocks]
    assert [block.kind for block in call.blocks] == [block.kind for block in compiled]
    for held, block in zip(call.blocks, compiled, strict=True):
        assert texts[held.item][held.at_chars :][: held.chars] == block.content
        assert held.sha256 == block.sha256
    assert wire.of_turn(TURN_ID) == (call,)
    assert wire.of_turn("other") == ()
    assert (call.input_tokens, call.cached_tokens, call.output_tokens) == (9, 5, 2)


PLACE = TracedPlace(item=0, at_chars=0, chars=1, sha256="c" * 64)


@pytest.mark.parametrize(
    ("changes", "flaw"),
    [
        ({"system": PLACE}, Flaw.WIRE_TEXT),
        ({"input": PLACE}, Flaw.WIRE_TEXT),
        ({"turn": TracedMark(seq=1, sha256="d" * 64), "input": None}, Flaw.WIRE_TURN),
        ({"turn_id": "discord:message:9002"}, Flaw.WIRE_TURN),
    ],
)
async def test_an_account_that_fits_no_turn_is_a_flaw(
    tmp_path: Path, changes: dict[str, object], flaw: Flaw
) -> None:
    """``verify``: a call is of a turn of this trace, and names that turn's own texts."""
    recorded = Recorded(tmp_path)
    await recorded.write(**changes)
    assert [problem.flaw for problem in verify(recorded.path).problems] == [flaw]


async def test_a_call_without_a_turn_is_shown_as_one(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    problems = ("no-turn",)
    await recorded.write(turn=None, turn_id=None, input=None, problems=problems)
    assert verify(recorded.path).problems == ()
    (call,) = view_wire(read_trace(recorded.path)).of_turn(None)
    assert call.problems == problems


async def test_an_unobserved_process_is_told_of(tmp_path: Path) -> None:
    trace = await TraceWriter.create(tmp_path / RUN, RUN)
    event: TraceEvent = unobserved_event(RUN, at=AT, provider="google")
    await trace.append(event)
    trace.close()
    found = read_trace(tmp_path / RUN / "context.jsonl")
    assert isinstance(found[0].event, UnobservedEvent)
    assert view_wire(found).observed is False
