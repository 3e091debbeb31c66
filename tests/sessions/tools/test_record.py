"""The account of tool calls in the trace: the model's words exactly, results by size and hash."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from compiler.hashing import sha256_text
from compiler.request import RunId, TurnId
from sessions.gates import GateId
from sessions.gateway import Ruling
from sessions.grants import Verdict
from sessions.pi.protocol import ToolResultEnd, parse_record
from sessions.review.tool_calls import view_tools
from sessions.tools.call import ToolAnswer, ToolCall
from sessions.tools.record import (
    LABEL_CHARS,
    Told,
    ToolRecord,
    told_by_host,
    told_event,
    told_events,
    told_of,
    tool_event,
)
from sessions.traces.events import ToolEvent, TraceMark, decode_event, encode_event

AT = datetime(2026, 11, 30, tzinfo=UTC)
RUN, TURN = RunId("run"), TurnId("turn")


def event(
    name: str, call_id: str, ruling: Ruling, arguments: str = "{}", *, seq: int = 0
) -> ToolEvent:
    call = ToolCall(name=name, arguments=arguments, builtin=True, call_id=call_id)
    made = tool_event(call, ruling, run_id=RUN, turn_id=TURN, judged_us=7, at=AT)
    return made.model_copy(update={"seq": seq})


def record(number: int, call_id: str, told: Told | None = None) -> ToolRecord:
    return ToolRecord(call_id=call_id, mark=TraceMark(seq=number, sha256="0" * 64), told=told)


def told(call_id: str, text: str, *, failed: bool = False) -> Told:
    return Told(call_id=call_id, failed=failed, chars=len(text), sha256=sha256_text(text))


def test_a_result_of_pi_s_is_measured_and_not_kept() -> None:
    """Its text is in the next model call; here are size and hash."""
    content = [{"type": "text", "text": "te\u2028a"}, {"type": "image", "data": "x"}]
    message = {"role": "toolResult", "toolCallId": "c1", "content": content, "isError": True}
    line = json.dumps({"type": "message_end", "message": message}, separators=(",", ":"))
    read = parse_record(line.encode())
    assert isinstance(read, ToolResultEnd)
    assert told_of(read.message) == Told(
        call_id="c1", failed=True, chars=4, sha256=sha256_text("te\u2028a")
    )
    half = line.replace("te\\u2028a", "\\ud83d")
    mended = parse_record(half.encode())
    assert isinstance(mended, ToolResultEnd)
    assert mended.message.text == "\ufffd"


def test_a_call_is_written_with_the_host_s_word() -> None:
    """The model's own words exactly, and which rule said what."""
    waits = event("bash", "c1", Ruling(verdict=Verdict.GATE, rule=0, gate_id=GateId("g-1")))
    done = event("read", "c2", Ruling(verdict=Verdict.ALLOW, rule=2), '{"path": "a\u2028"}')
    unjudged = event("ls", "", Ruling(verdict=Verdict.DENY))
    assert (waits.verdict, waits.rule, waits.gate_id) == ("gate", 0, "g-1")
    assert done.arguments == '{"path": "a\u2028"}'
    assert (unjudged.rule, unjudged.failed, unjudged.result_sha256) == (None, None, None)
    for each in (waits, done, unjudged):
        assert decode_event(encode_event(each)) == each


def test_the_host_s_answer_is_known_before_the_engine_has_it() -> None:
    """Of its own tools and of refusals; what the engine carries out, nobody knows yet."""
    own = ToolCall(name="reply", arguments="{}", call_id="c1")
    builtin = ToolCall(name="bash", arguments="{}", builtin=True, call_id="c2")
    assert told_by_host(own, ToolAnswer(ok=True, text="tea")) == told("c1", "tea")
    assert told_by_host(builtin, ToolAnswer(ok=False, text="no")) == told("c2", "no", failed=True)
    assert told_by_host(builtin, ToolAnswer(ok=True, text="")) is None
    half = told_by_host(own, ToolAnswer(ok=True, text="\ud83d"))
    assert half == told("c1", "\\ud83d")


def test_results_belong_to_calls_by_the_call_s_id() -> None:
    """What no line says yet gets one; what the model heard nothing of has none."""
    heard, unnamed = told("c2", "tea"), told("", "not theirs")
    other = told("c4", "too late", failed=True)
    records = (
        record(1, "c1"),
        record(2, "c2"),
        record(3, ""),
        record(4, "c4", told("c4", "done")),
        record(5, "c5", told("c5", "said")),
    )
    second, fourth = told_events(
        records,
        (unnamed, heard, other, told("c5", "said")),
        run_id=RUN,
        turn_id=TURN,
        at=AT,
    )
    assert (second.call.seq, second.failed, second.result_chars) == (2, False, 3)
    assert second.result_sha256 == heard.sha256
    assert (fourth.call.seq, fourth.failed, fourth.result_sha256) == (4, True, other.sha256)
    assert decode_event(encode_event(second)) == second


def test_what_cannot_be_written_is_made_writable() -> None:
    """Half a surrogate pair and endless names break no trace; the hash is of what stands there."""
    ruling = Ruling(verdict=Verdict.DENY)
    made = event("x" * 999 + "\ud83d", "\ud83d" * 999, ruling, '"\ud83d"')
    assert len(made.tool) == len(made.call_id) == LABEL_CHARS
    assert made.arguments_sha256 == sha256_text(made.arguments)
    assert decode_event(encode_event(made)) == made


def test_an_owner_s_view_has_no_words_and_counts_rules_from_one() -> None:
    """The last that was told of a call counts: the engine has the last word."""
    call = event("bash", "c", Ruling(verdict=Verdict.ALLOW, rule=0), '{"command":"CANARY"}', seq=4)
    cut_off = event("read", "d", Ruling(verdict=Verdict.ALLOW), seq=5)
    said = [
        told_event(TraceMark(seq=4, sha256="0" * 64), each, run_id=RUN, turn_id=TURN, at=AT)
        for each in (told("c", "done"), told("c", "tea", failed=True))
    ]
    view, unheard = view_tools([call, cut_off, *said])
    assert (view.tool, view.verdict, view.rule, view.failed) == ("bash", "allow", 1, True)
    assert (view.result_chars, view.result_sha256) == (3, sha256_text("tea"))
    assert view.arguments_chars == len('{"command":"CANARY"}')
    assert "CANARY" not in repr(view)
    assert (unheard.failed, unheard.result_chars, unheard.result_sha256) == (None, 0, None)
    assert view_tools([]) == ()


def test_an_older_trace_has_results_in_the_lines_of_calls() -> None:
    """Traces written before ``told`` read as they did."""
    call = event("bash", "c", Ruling(verdict=Verdict.ALLOW, rule=0))
    older = call.model_copy(
        update={"failed": False, "result_chars": 3, "result_sha256": sha256_text("tea")}
    )
    (view,) = view_tools([decode_event(encode_event(older))])
    assert (view.failed, view.result_chars, view.result_sha256) == (False, 3, sha256_text("tea"))
